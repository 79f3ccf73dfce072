"""Several perturbations on one conversation, as papers mix them or as a user does."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grice.perturb.declaration import Perturbation, Perturbed
from grice.perturb.registry import find_perturbation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from grice.perturb.declaration import Change, Level, Material
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


_DEAM = ("coreference", "contradiction", "irrelevancy", "decreased-engagement")
MIXTURES = {
    declared.name: declared
    for declared in (
        Mixture("deam", _DEAM, 1, 4, "DEAM (Ghazarian et al. 2022), on the words"),
        Mixture("deam-amr", tuple(f"amr-{kind}" for kind in _DEAM), 1, 4, "DEAM, on AMR"),
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
    """Return a mixture as one perturbation.

    It draws how many kinds, then which; kinds that find nothing to break are passed over, and
    others are tried in their place.
    """
    parts = [find_perturbation(kind) for kind in chosen.kinds]
    levels: set[Level] = {part.level for part in parts}

    def apply(conversation: Conversation, draw: Random, material: Material) -> Perturbed | None:
        material = _remembering(material)
        wanted = draw.randint(chosen.least, min(chosen.most, len(parts)))
        order = draw.sample(range(len(parts)), len(parts))
        taken = _apply(conversation, draw, material, [parts[i] for i in sorted(order[:wanted])])
        for i in order[wanted:]:
            if taken is not None:
                break
            taken = _apply(conversation, draw, material, [parts[i]])
        return taken

    level: Level = "amr" if "amr" in levels else "semantic" if "semantic" in levels else "text"
    count = "one" if chosen.most == 1 else f"{chosen.least} to {chosen.most}"
    summary = f"{chosen.source}: {count} of {', '.join(chosen.kinds)}."
    return Perturbation(chosen.name, level, chosen.source, summary, apply)


def _remembering(material: Material) -> Material:
    """Let the graph of a text that was made from one be that one: no parser reads it again."""
    graphs, sentences = material.graphs, material.sentences
    if graphs is None or sentences is None:
        return material
    made: dict[str, str] = {}

    def sentence_of(graph: str) -> str:
        text = sentences(graph)
        made[text] = graph
        return text

    return material._replace(
        graphs=lambda text: made.get(text) or graphs(text), sentences=sentence_of
    )


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
