"""Triples of events read from replies: by cues, by patterns, by search in known triples."""
