"""Graphs that people wrote, as patterns for new ones.

A template keeps what a graph is like and forgets what it is about: which concepts come from belief,
argument, both or neither, where they stand there, which relations join them. The pattern is filled
with candidates of another belief and argument, much as one explains by analogy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec
import numpy as np

from grice.files import write_bytes, writing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from grice_tasks.explagraphs.candidates import Candidate

    Array: TypeAlias = NDArray[np.float32]
    Facts: TypeAlias = tuple[tuple[int, int, int], ...]

LIKE, LOOKS, PLACE = 1.0, 0.8, 0.5
"""Weights in a slot beside the facts: likeness to the concept that stood there, how much a
phrase looks like a concept, and how far it stands from where that one stood."""
BEAM = 6
STEPS = 127.0


class Slot(msgspec.Struct, frozen=True, array_like=True):
    """The place of one concept.

    Attributes:
        origin: ``both``, ``belief``, ``argument`` or ``outside``.
        start: Where the concept began in its text, as a share of the text's length.
        concept: The concept itself if it came from outside, else empty.
    """

    origin: str
    start: float
    end: float
    concept: str = ""


class Template(msgspec.Struct, frozen=True, array_like=True):
    """One graph without what it is about.

    Attributes:
        facts: Slot of the head, number of the relation in the schema, slot of the tail; each
            fact after the first touches an earlier one.
    """

    stance: str
    slots: tuple[Slot, ...]
    facts: tuple[tuple[int, int, int], ...]


class Filled(NamedTuple):
    """A pattern filled with candidates: facts by numbers of candidates, and how well it fits."""

    score: float
    facts: Facts


class Templates:
    """Templates with what they were about, in short vectors."""

    def __init__(self, templates: Sequence[Template], texts: Array, concepts: Array) -> None:
        self.templates = tuple(templates)
        self._texts = texts
        ends = np.cumsum([len(template.slots) for template in templates])[:-1]
        self._concepts = np.split(concepts, ends) if templates else []
        self._support = np.array([template.stance == "support" for template in templates], bool)

    @classmethod
    def load(cls, patterns: Path, vectors: Path) -> Templates:
        """Read ``cases.json`` and ``cases.npz`` as :meth:`save` writes them."""
        templates = msgspec.json.decode(patterns.read_bytes(), type=list[Template])
        with np.load(vectors, allow_pickle=False) as stored:
            parts = [stored[name].astype(np.float32) / STEPS for name in ("texts", "concepts")]
        return cls(templates, *parts)

    def save(self, folder: Path) -> None:
        """Write the templates, vectors in whole steps of one byte."""
        write_bytes(folder / "cases.json", msgspec.json.encode(self.templates) + b"\n")
        packed = {
            name: np.rint(part * STEPS).astype(np.int8)
            for name, part in (("texts", self._texts), ("concepts", np.concatenate(self._concepts)))
        }
        with writing(folder / "cases.npz") as file:
            np.savez_compressed(file, allow_pickle=False, **packed)

    def nearest(
        self, belief: Array, argument: Array, stance: str, count: int
    ) -> list[tuple[Template, Array]]:
        """Return the templates of a stance that were about the most similar texts, best first."""
        near = self._texts[:, 0] @ belief + self._texts[:, 1] @ argument
        near = np.where(self._support == (stance == "support"), near, -np.inf)
        order = np.argsort(-near, kind="stable")[:count]
        return [(self.templates[i], self._concepts[i]) for i in order if np.isfinite(near[i])]


def fill(
    template: Template,
    concepts: Array,
    candidates: Sequence[Candidate],
    vectors: Array,
    scores: Array,
) -> Filled | None:
    """Return the pattern filled as well as a narrow beam can, or None if nothing fits."""
    like = LIKE * (concepts @ vectors.T)
    pools = [_pool(slot, row, candidates) for slot, row in zip(template.slots, like, strict=True)]
    if not all(pools):
        return None
    share = 1 / len(template.facts)
    beam: list[tuple[float, dict[int, int]]] = [(0.0, {})]
    for head, relation, tail in template.facts:
        grown = []
        for score, taken in beam:
            for first, head_score in _choices(head, taken, pools, candidates):
                with_head = {**taken, head: first}
                for last, other in _choices(tail, with_head, pools, candidates):
                    fits = share * float(scores[first, last, relation])
                    grown.append((score + head_score + other + fits, {**with_head, tail: last}))
        grown.sort(key=lambda tree: -tree[0])
        beam = grown[:BEAM]
        if not beam:
            return None
    score, taken = beam[0]
    slots = sum(pools[slot][candidate] for slot, candidate in taken.items())
    # The mean over slots, so that large graphs gain nothing by their size.
    return Filled(
        score - slots + slots / len(taken),
        tuple((taken[head], relation, taken[tail]) for head, relation, tail in template.facts),
    )


def _pool(slot: Slot, like: Array, candidates: Sequence[Candidate]) -> dict[int, float]:
    """Return the candidates that may stand in a slot, each with how well it does."""
    if slot.origin == "outside":
        return {
            i: float(like[i])
            for i, candidate in enumerate(candidates)
            if candidate.origin == "outside"
        }
    wanted = {"both": ("both",), "belief": ("belief", "both"), "argument": ("argument", "both")}
    able = [i for i, candidate in enumerate(candidates) if candidate.origin in wanted[slot.origin]]
    if not able and slot.origin == "both":
        able = [i for i, candidate in enumerate(candidates) if candidate.origin != "outside"]
    return {
        i: float(like[i])
        + LOOKS * candidates[i].weight
        - PLACE * (abs(candidates[i].start - slot.start) + abs(candidates[i].end - slot.end))
        for i in able
    }


def _choices(
    slot: int,
    taken: Mapping[int, int],
    pools: Sequence[Mapping[int, float]],
    candidates: Sequence[Candidate],
) -> list[tuple[int, float]]:
    """Return who may stand in a slot beside those that are placed; who is there costs nothing."""
    if slot in taken:
        return [(taken[slot], 0.0)]
    placed = [candidates[candidate].text for candidate in taken.values()]
    return [
        (i, score)
        for i, score in pools[slot].items()
        if not any(candidates[i].text in other or other in candidates[i].text for other in placed)
    ]
