"""Published systems, trained as their papers say, on torch (``pip install "grice[train]"``).

A recipe is a TOML file in ``grice_research/data/recipes``: what is trained, and every
hyper-parameter with the place that states it. What comes out is a model folder with a card.
"""
