"""Benches of tasks, a module each: ``TITLE``, ``PAPER`` and ``measure(context)``.

``measure`` takes the :class:`~grice_research.context.BenchContext` (the data folder, opened models,
rated sets) and yields a :class:`~grice_research.figures.Figure` for each value of ours, of a
trivial baseline and of a published system.
"""
