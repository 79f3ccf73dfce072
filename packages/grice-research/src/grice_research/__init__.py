"""Published tables beside what grice measures, and the recipes of its models.

It adds the commands of :mod:`grice_research.commands` to ``grice``.
"""
