"""Relation schemas, knowledge bases, and the plausibility of triples."""
