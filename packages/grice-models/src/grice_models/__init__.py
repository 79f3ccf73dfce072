"""The models that grice ships, as data: one folder each, in ``models``."""
