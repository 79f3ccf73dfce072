"""Finds perturbations: the modules of :mod:`grice.perturb`, and other people's packages.

A package offers perturbations through the entry point group ``grice.perturbations``; each entry
point names a :class:`~grice.perturb.Perturbation`.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from grice import distributions
from grice.errors import InputError, did_you_mean
from grice.perturb.declaration import Perturbation

if TYPE_CHECKING:
    from collections.abc import Iterator

GROUP = "grice.perturbations"


def find_perturbations() -> dict[str, Perturbation]:
    """Return all perturbations by name: built-in first, then installed ones.

    Raises:
        InputError: If an installed one cannot be loaded or takes a name that is taken.
    """
    return dict(_all())


@cache  # looking through all installed packages takes longer than breaking a conversation
def _all() -> dict[str, Perturbation]:
    perturbations = {built_in.name: built_in for built_in in sorted(_built_in())}
    for entry in sorted(metadata.entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            loaded = distributions.load(entry)
        except Exception as error:
            raise InputError(f"perturbation {entry.name!r} cannot be loaded: {error}") from error
        if not isinstance(loaded, Perturbation) or loaded.name in perturbations:
            raise InputError(f"entry point {entry.name!r}: not a Perturbation of a name of its own")
        perturbations[loaded.name] = loaded
    return perturbations


def _built_in() -> Iterator[Perturbation]:
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        declared = importlib.import_module(f"{__package__}.{module.name}")
        yield from (value for value in vars(declared).values() if isinstance(value, Perturbation))


def find_perturbation(name: str) -> Perturbation:
    """Return a perturbation by name."""
    known = find_perturbations()
    if name not in known:
        raise InputError(f"no perturbation {name!r}{did_you_mean(name, known)}")
    return known[name]
