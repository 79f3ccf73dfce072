"""Published tables beside what grice measures, and the recipes of its models.

It adds the commands of :mod:`grice_research.commands` to ``grice``. Of grice it uses what modules
declare, and the private names of :mod:`grice_research.surface`.
"""
