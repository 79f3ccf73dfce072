"""Commands by their topic: typed functions, from which the parsers are derived."""
