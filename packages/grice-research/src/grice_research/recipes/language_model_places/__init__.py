"""Recipes of the bundles by which a language model stands in the place of what ships."""
