"""Perturbations of AMR graphs (DEAM), as plug-ins of ``grice perturb``."""
