"""How far each number can be trusted: metrics against human ratings, and published tables.

:func:`grice.evaluation.meta.meta_evaluate` correlates metrics with rated sets,
:mod:`grice.evaluation.table` holds scores for every comparison, :mod:`grice.evaluation.bench` holds published tables beside what comes out here.
"""
