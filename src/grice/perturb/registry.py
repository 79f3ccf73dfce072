"""Finds perturbations: the modules of :mod:`grice.perturb`, and other people's packages.

A package offers perturbations through the entry point group ``grice.perturbations``; each entry
point names a :class:`~grice.perturb.Perturbation`.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from importlib import metadata

import grice.perturb
from grice.errors import InputError, did_you_mean
from grice.perturb.declaration import Perturbation

__all__ = ["find_perturbation", "find_perturbations"]

GROUP = "grice.perturbations"
_MACHINERY = ("declaration", "meaning", "mixture", "negation", "registry", "run", "wording")


def find_perturbations() -> dict[str, Perturbation]:
    """Return all perturbations by name: built-in first, then installed ones.

    Raises:
        InputError: If an installed one cannot be loaded or takes a name that is taken.
    """
    return dict(_found())


@cache  # looking through all installed packages takes longer than breaking a conversation
def _found() -> dict[str, Perturbation]:
    found: dict[str, Perturbation] = {}
    for module in pkgutil.iter_modules(grice.perturb.__path__):
        if not module.name.startswith("_") and module.name not in _MACHINERY:
            for one in vars(importlib.import_module(f"grice.perturb.{module.name}")).values():
                if isinstance(one, Perturbation):
                    found[one.name] = one
    for entry in sorted(metadata.entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            one = entry.load()
        except Exception as error:
            raise InputError(f"perturbation {entry.name!r} cannot be loaded: {error}") from error
        if not isinstance(one, Perturbation) or one.name in found:
            raise InputError(f"entry point {entry.name!r}: not a Perturbation of a name of its own")
        found[one.name] = one
    return found


def find_perturbation(name: str) -> Perturbation:
    """Return a perturbation by name.

    Raises:
        InputError: If there is none of that name.
    """
    found = find_perturbations()
    if name not in found:
        raise InputError(f"no perturbation {name!r}{did_you_mean(name, found)}")
    return found[name]
