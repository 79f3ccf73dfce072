"""Published systems, trained as their papers say, on torch (``pip install "grice[train]"``).

A recipe is a TOML file in ``grice/data/recipes``: what is trained, and every hyper-parameter with
the place that states it. What comes out is a model folder in the run-time format, with a card.
"""
