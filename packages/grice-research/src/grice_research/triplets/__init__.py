"""CIDER's four tasks, answered by heads of grice."""
