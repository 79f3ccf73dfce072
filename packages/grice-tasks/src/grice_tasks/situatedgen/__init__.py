"""Contrasting sentences of place and time: built from questions, scored, generated.

SituatedGen: Incorporating Geographical and Temporal Contexts into Generative Commonsense
Reasoning (Zhang and Wan, NeurIPS 2023).
"""
