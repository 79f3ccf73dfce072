"""Published systems, trained as their papers say, on torch (the extra ``train``).

A recipe is a TOML file in ``grice_research/data/recipes``: what is trained, and every
hyper-parameter with the place that states it. What comes out is a model folder with a card.
"""
