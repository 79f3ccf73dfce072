"""Commonsense tasks: CIDER, ExplaGraphs, SituatedGen, and steering of language models."""
