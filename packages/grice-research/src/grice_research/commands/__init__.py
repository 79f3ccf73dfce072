"""Commands that this distribution adds to ``grice``, a module each."""
