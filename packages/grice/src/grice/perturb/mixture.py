"""Several perturbations on one conversation, as papers mix them or as a user does."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grice.perturb.declaration import Perturbation, Perturbed
from grice.perturb.registry import find_perturbation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from grice.perturb.declaration import Change, Material
    from grice.records import Conversation


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
