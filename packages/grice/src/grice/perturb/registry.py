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
from typing import TYPE_CHECKING, NamedTuple

from grice import distributions
from grice.errors import InputError, did_you_mean
from grice.perturb.declaration import Perturbation, Perturbed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

    from grice.perturb.declaration import Change, Material
    from grice.records import Conversation


GROUP = "grice.perturbations"


class Mixture(NamedTuple):
    """How many of which perturbations are applied to a conversation.

    Attributes:
        kinds: Perturbations in the order they are applied.
    """

    name: str
    kinds: tuple[str, ...]
    least: int
    most: int
    source: str


MIXTURES = {
    declared.name: declared
    for declared in (
        Mixture(
            "deam",
            ("coreference", "contradiction", "irrelevancy", "decreased-engagement"),
            1,
            4,
            "DEAM (Ghazarian et al. 2022), on the words",
        ),
        Mixture(
            "mesgar",
            ("turn-order", "turn-insertion", "speaker-order", "turn-replacement"),
            1,
            4,
            "Mesgar et al. 2020",
        ),
        Mixture(
            "vakulenko",
            ("turn-order", "speaker-sequence", "half-swap", "section-replacement"),
            1,
            1,
            "Vakulenko et al. 2018",
        ),
        Mixture(
            "dynaeval", ("speaker-order", "turn-replacement"), 1, 1, "DynaEval (Zhang et al. 2021)"
        ),
    )
}
"""The mixtures of the papers, by name."""


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


def mixture(chosen: Mixture) -> Perturbation:
    """Return a mixture as one perturbation."""
    parts = [find_perturbation(kind) for kind in chosen.kinds]

    def apply(conversation: Conversation, draw: Random, material: Material) -> Perturbed | None:
        return some_of(parts, chosen.least, chosen.most, conversation, draw, material)

    level = "semantic" if any(part.level == "semantic" for part in parts) else "text"
    count = "one" if chosen.most == 1 else f"{chosen.least} to {chosen.most}"
    summary = f"{chosen.source}: {count} of {', '.join(chosen.kinds)}."
    return Perturbation(chosen.name, level, chosen.source, summary, apply)


def some_of(
    parts: Sequence[Perturbation],
    least: int,
    most: int,
    conversation: Conversation,
    draw: Random,
    material: Material,
) -> Perturbed | None:
    """Apply ``least`` to ``most`` of several perturbations, in their order.

    How many is drawn first, then which; kinds that find nothing to break are passed over, and
    others are tried in their place.
    """
    wanted = draw.randint(least, min(most, len(parts)))
    order = draw.sample(range(len(parts)), len(parts))
    taken = _apply(conversation, draw, material, [parts[i] for i in sorted(order[:wanted])])
    for i in order[wanted:]:
        if taken is not None:
            break
        taken = _apply(conversation, draw, material, [parts[i]])
    return taken


def _apply(
    conversation: Conversation, draw: Random, material: Material, parts: Sequence[Perturbation]
) -> Perturbed | None:
    broken = conversation
    changes: list[Change] = []
    for part in parts:
        perturbed = part.apply(broken, draw, material)
        if perturbed is not None:
            broken = perturbed.conversation
            changes += perturbed.changes
    return Perturbed(broken, tuple(changes)) if changes else None
