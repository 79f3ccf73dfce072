"""Published systems trained here by ``grice train``, and what they get on the papers' tasks."""
