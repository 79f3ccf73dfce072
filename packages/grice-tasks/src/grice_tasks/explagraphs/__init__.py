"""Explanation graphs: checked, scored, drawn, generated (ExplaGraphs, Saha et al. 2021)."""
