"""Published tables beside what grice measures, and the recipes of its models.

A distribution of its own; ``grice bench`` finds :mod:`grice_research.command` if it is installed.
Of grice it uses what modules declare, and the private names of :mod:`grice_research.surface`.
"""
