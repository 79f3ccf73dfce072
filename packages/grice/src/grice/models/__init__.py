"""Model protocols, the shipped inference engine, and other sources of models."""
