"""Benches of tasks, a module each: ``TITLE``, ``PAPER`` and ``measure(shop)``.

``measure`` takes the :class:`~grice_research.workshop.Workshop` (the data folder, opened models,
rated sets) and yields :class:`~grice_research.rows.Row`: ours, floors and published systems.
"""
