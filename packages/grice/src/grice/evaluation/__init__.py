"""Evaluation of metrics, comparisons and decisions from scores.

:func:`grice.evaluation.meta.meta_evaluate` correlates metrics with human ratings;
:mod:`grice.evaluation.table` holds the scores that every comparison joins on.
"""
