"""Breaks conversations, one after the other, the same way whatever else is in the file."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import msgspec

from grice.errors import InputError, did_you_mean
from grice.perturb.declaration import Material
from grice.perturb.registry import MIXTURES, find_perturbations, mixture

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grice.perturb.declaration import Perturbation, Perturbed
    from grice.records import Conversation

NOTHING = Material()


def named(name: str) -> Perturbation:
    """Return a perturbation, or a mixture, by name."""
    if name in MIXTURES:
        return mixture(MIXTURES[name])
    known = find_perturbations()
    if name not in known:
        guess = did_you_mean(name, [*known, *MIXTURES])
        raise InputError(f"no perturbation or mixture {name!r}{guess}")
    return known[name]


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
