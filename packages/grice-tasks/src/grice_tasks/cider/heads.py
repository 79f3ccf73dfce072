"""Which spans of a text are linked, and how: a network on their vectors, in numpy.

The text is read once (:class:`~grice_tasks.cider.reading.TextReading`); a pair of spans costs one
small product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from grice.errors import BundleError, InputError
from grice.models.products import single_threaded
from grice_tasks.cider.reading import STRUCTURE, locate, structure
from grice_tasks.cider.records import cider_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from grice_tasks.cider.reading import Layout, TextReading
    from grice_tasks.cider.records import Place

    Array: TypeAlias = NDArray[np.float32]

SCALE = np.float32(384**0.5 / 4)
"""Vectors of length one have components too small for a network to begin with."""


class Sides(NamedTuple):
    """Spans of one text.

    Attributes:
        places: Where each stands in the text; None if it does not.
        vectors: One row per span.
    """

    layout: Layout
    spans: Sequence[str]
    places: Sequence[Place | None]
    vectors: Array


def span_vectors(
    reading: TextReading,
    layout: Layout,
    spans: Sequence[str],
    *,
    alone: Callable[[Sequence[str]], Sequence[Array]],
    both: bool,
    places: Sequence[Place | None] | None = None,
) -> Sides:
    """Return spans with their vectors: their mean state in the text."""
    located = [locate(reading.text, span) for span in spans] if places is None else list(places)
    absent = [span for span, place in zip(spans, located, strict=True) if both or place is None]
    own = dict(zip(absent, alone(absent), strict=True)) if absent else {}
    rows = []
    for span, place in zip(spans, located, strict=True):
        here = own[span] if place is None else reading.vector(place)
        rows.append(np.concatenate([here, own[span]]) if both else here)
    width = reading.states.shape[1] * (2 if both else 1)
    return Sides(layout, spans, located, np.asarray(rows, np.float32).reshape(-1, width))


class LinkHead:
    """A network on two spans and how they stand to each other.

    It gives three numbers per relation: how sure the triplet is entailed, how good the tail is
    among several, and which relation it is if there is one.
    """

    def __init__(self, path: Path) -> None:
        with np.load(path, allow_pickle=False) as arrays:
            weights = {name: arrays[name].astype(np.float32) for name in arrays.files}
        self.relations = tuple(cider_schema().relations)
        self._weights = weights
        shapes = {
            name: weights[f"{name}_weight"].shape for name in ("head", "tail", "hidden", "out")
        }
        self.inputs = shapes["head"][0]
        self.both = bool(self.inputs > 384)
        wanted = 3 * shapes["head"][1] + STRUCTURE, 3 * len(self.relations)
        if (shapes["hidden"][0], shapes["out"][1]) != wanted or shapes["tail"] != shapes["head"]:
            raise BundleError(f"{path}: the arrays do not fit each other: {shapes}")

    def in_context(self) -> LinkHead | None:
        """Return itself if it reads spans in their text alone, else None."""
        return None if self.both else self

    def __call__(self, sides: Sides, pairs: Sequence[tuple[int, int]]) -> Array:
        """Return the numbers of each pair, shape ``(pairs, 3, relations)``."""
        if sides.vectors.shape[1] < self.inputs:
            raise InputError(
                f"vectors of {sides.vectors.shape[1]} numbers; this head reads {self.inputs}"
            )
        w = self._weights
        outputs = np.zeros((len(pairs), 3 * len(self.relations)), np.float32)
        vectors = sides.vectors[:, : self.inputs] * SCALE
        with single_threaded():
            heads = np.stack([row @ w["head_weight"] + w["head_bias"] for row in vectors])
            tails = np.stack([row @ w["tail_weight"] + w["tail_bias"] for row in vectors])
            # Row by row: in a product of several rows the last bits depend on a row's place.
            for i, (a, b) in enumerate(pairs):
                numbers = structure(
                    sides.layout, sides.spans[a], sides.spans[b], sides.places[a], sides.places[b]
                )
                joined = np.concatenate([heads[a], tails[b], heads[a] * tails[b], numbers])
                row = np.maximum(joined @ w["hidden_weight"] + w["hidden_bias"], 0)
                outputs[i] = row @ w["out_weight"] + w["out_bias"]
        return outputs.reshape(len(pairs), 3, len(self.relations))

    def index(self, relation: str) -> int:
        """Return the place of a relation among the numbers; an unknown one is an InputError."""
        cider_schema()[relation]
        return self.relations.index(relation)
