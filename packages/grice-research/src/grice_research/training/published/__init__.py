"""Published systems, trained as their papers say, on torch (the extra ``train``).

``grice_research/data/recipes.toml`` says of each system how it is trained: every hyper-parameter
beside the place that states it. The result is a model folder with a card.
"""
