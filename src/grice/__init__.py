"""Scores open-domain dialogue and commonsense text, with the evidence behind each number."""
