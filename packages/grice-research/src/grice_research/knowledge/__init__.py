"""Readers of triples that only tables need."""
