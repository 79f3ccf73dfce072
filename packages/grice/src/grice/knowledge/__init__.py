"""Relation schemas, known triples, and how plausible a triple is."""
