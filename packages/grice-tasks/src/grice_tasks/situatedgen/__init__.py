"""SituatedGen: contrasting sentences of place and time (Zhang and Wan, NeurIPS 2023)."""
