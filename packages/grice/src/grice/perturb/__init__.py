"""Breaks conversations on purpose, and says what was broken where."""

from __future__ import annotations

from grice.perturb.declaration import (
    Change,
    Material,
    Perturbation,
    Perturbed,
    perturbation,
)

__all__ = ["Change", "Material", "Perturbation", "Perturbed", "perturbation"]
