"""Commonsense links anchored in a conversation: read, judged by four tasks, found.

CIDER: Commonsense Inference for Dialogue Explanation and Reasoning (Ghosal et al., SIGDIAL 2021).
"""
