"""Explanation graphs: read, check, score, repair and draw them.

An explanation graph (Saha et al. 2021, ExplaGraphs) is a small directed graph of commonsense
facts that explains why an argument supports or counters a belief.
"""
