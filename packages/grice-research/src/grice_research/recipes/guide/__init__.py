"""Replies that a language model draws, and the guide that ships with them."""
