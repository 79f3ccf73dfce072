"""Metrics and models of papers, as baselines of the recorded tables."""
