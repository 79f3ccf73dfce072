"""Steering of language models by metrics: a guide weighs each next token (NADO).

It is no :class:`grice_tasks.task.Task`: it has no gold answers to score against. Metrics that took
no part score what it writes.
"""
