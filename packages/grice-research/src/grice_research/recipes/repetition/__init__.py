"""Weights of the signs of a repair, which the metric repetition holds."""
