"""How each shipped model was made: ``python -m grice_research.recipes.FOLDER.STEP``."""
