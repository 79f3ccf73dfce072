"""Explanation graphs by any generator of text."""
