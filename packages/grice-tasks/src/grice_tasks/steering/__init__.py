"""Steering of language models by metrics: a guide weighs each next token (NADO)."""
