"""Steering of language models by metrics: a guide adjusts each next token (NADO)."""
