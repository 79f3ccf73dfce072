"""Find perturbations and apply them to conversations, the same way whatever else is in the file.

A package offers perturbations through the entry point group ``grice.perturbations``; each entry
point names a :class:`~grice.perturb.Perturbation`.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice import distributions
from grice.errors import InputError, did_you_mean
from grice.perturb.declaration import Material, Perturbation, Perturbed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grice.perturb.declaration import Change
    from grice.records import Conversation

NOTHING = Material()

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
    name: Mixture(name, tuple(kinds.split()), 1, most, source)
    for name, kinds, most, source in (
        (
            "deam",
            "coreference contradiction irrelevancy decreased-engagement",
            4,
            "DEAM (Ghazarian et al. 2022), on the words",
        ),
        (
            "mesgar",
            "turn-order turn-insertion speaker-order turn-replacement",
            4,
            "Mesgar et al. 2020",
        ),
        (
            "vakulenko",
            "turn-order speaker-sequence half-swap section-replacement",
            1,
            "Vakulenko et al. 2018",
        ),
        ("dynaeval", "speaker-order turn-replacement", 1, "DynaEval (Zhang et al. 2021)"),
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
    for entry in distributions.entry_points(GROUP):
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


def named(name: str) -> Perturbation:
    """Return a perturbation, or a mixture, by name."""
    if name in MIXTURES:
        return mixture(MIXTURES[name])
    known = find_perturbations()
    if name not in known:
        guess = did_you_mean(name, [*known, *MIXTURES])
        raise InputError(f"no perturbation or mixture {name!r}{guess}")
    return known[name]


def mixture(chosen: Mixture) -> Perturbation:
    """Return a mixture as one perturbation."""
    parts = [named(kind) for kind in chosen.kinds]

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


def perturb(
    conversation: Conversation,
    kind: Perturbation | str,
    *,
    seed: int = 0,
    material: Material = NOTHING,
) -> Perturbed | None:
    """Break a conversation.

    The same conversation, kind and seed give the same result, on any machine. What is drawn from
    ``material.others`` depends on those others as well.
    """
    chosen = named(kind) if isinstance(kind, str) else kind
    draw = Random(f"{seed}:{chosen.name}:{conversation.id}")
    perturbed = chosen.apply(conversation, draw, material)
    unchanged = perturbed is not None and perturbed.conversation.turns == conversation.turns
    return None if unchanged else perturbed


def material_for(
    kinds: Sequence[Perturbation],
    others: Sequence[Conversation],
    resources: Mapping[str, object] | None = None,
) -> Material:
    """Return the sources that perturbations draw from."""
    material = Material(others, resources or {})
    prepared = dict.fromkeys(kind.prepare for kind in kinds if kind.prepare is not None)
    if resources and not prepared:
        raise InputError(
            f"{', '.join(resources)}: no resource is read by {', '.join(k.name for k in kinds)}"
        )
    for prepare in prepared:
        material = prepare(material)
    return material


def perturb_all(
    conversations: Sequence[Conversation], kind: Perturbation, *, seed: int, material: Material
) -> Iterator[Conversation]:
    """Yield each conversation that can be broken, broken and with notes of how."""
    for conversation in conversations:
        perturbed = perturb(conversation, kind, seed=seed, material=material)
        if perturbed is not None:
            yield annotated(conversation, kind, perturbed, seed)


def annotated(
    conversation: Conversation, kind: Perturbation, perturbed: Perturbed, seed: int
) -> Conversation:
    """Return a broken conversation with notes in its ``meta``, under an id of its own."""
    notes = {
        "original": conversation.id,
        "perturbation": kind.name,
        "seed": seed,
        "changes": msgspec.to_builtins(perturbed.changes),
    }
    broken = perturbed.conversation
    return msgspec.structs.replace(
        broken, id=f"{broken.id}/{kind.name}", meta={**broken.meta, **notes}
    )
