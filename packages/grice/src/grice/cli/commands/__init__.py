"""One module per command: a typed function ``run``, or several named ``ACTIONS``."""
