"""Breaks conversations, one after the other, the same way whatever else is in the file."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from grice.errors import InputError, did_you_mean
from grice.perturb.declaration import Material
from grice.perturb.mixture import MIXTURES, mixture
from grice.perturb.registry import find_perturbations

if TYPE_CHECKING:
    from grice.perturb.declaration import Perturbation, Perturbed
    from grice.records import Conversation

__all__ = ["named", "perturb"]

NOTHING = Material()


def named(name: str) -> Perturbation:
    """Return a perturbation, or a mixture, by name.

    Raises:
        InputError: If there is none of that name.
    """
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

    Args:
        conversation: What to break.
        kind: A perturbation, or the name of one or of a mixture.
        seed: Another seed, another way of breaking it.
        material: Other conversations, and meaning graphs.

    Returns:
        The broken conversation with notes; None if there is nothing to break.

    Raises:
        InputError: If there is no perturbation of that name.
    """
    chosen = named(kind) if isinstance(kind, str) else kind
    draw = Random(f"{seed}:{chosen.name}:{conversation.id}")
    perturbed = chosen.apply(conversation, draw, material)
    unchanged = perturbed is not None and perturbed.conversation.turns == conversation.turns
    return None if unchanged else perturbed
