"""Contrastive statements by any generator of text."""
