"""How far each number can be trusted: metrics against human ratings, and published tables.

:mod:`grice.evaluation.datasets` reads rated sets, :mod:`grice.evaluation.meta` correlates metrics
with them, :mod:`grice_research.figures` holds published tables beside what comes out here.
"""
