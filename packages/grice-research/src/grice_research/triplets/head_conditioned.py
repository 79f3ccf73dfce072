"""A head-conditioned layer: the last layer of a fine-tuned encoder run for each head, in numpy.

The lower layers read a text once. For a head span, a vector is added to the states of its tokens
and the last layer runs: each token's state then knows what it would be the tail of. Links and
answers are read off these states. Networks on an encoder that stayed as it was have no such layer:
they read them off its states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from grice.errors import BundleError
from grice.knowledge.schema import load_schema
from grice.models.blas import single_threaded
from grice_research.triplets.answers import LONGEST, distance_bins
from grice_research.triplets.layers import Layer
from grice_tasks.cider.reading import TextReading
from grice_tasks.cider.structure import STRUCTURE, structure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from grice.models.embedded import Hidden
    from grice_tasks.cider.heads import Sides
    from grice_tasks.cider.records import Place

    Array: TypeAlias = NDArray[np.float32]

__all__ = ["NO_OVERLAP", "SPREAD", "TINY", "HeadConditionedLayer", "HeadConditionedReading"]

SPREAD = 0.25
"""Root of the mean square of a span's numbers, where it is read by its mean state alone."""
TINY = 1e-6
"""Added to its length."""

NO_OVERLAP = -12.0
"""Log overlap of a tail that shares no token with any answer; likely answers have about -2."""


class HeadConditionedLayer:
    """The last layer with the networks on its states.

    Args:
        path: An ``.npz`` with the arrays of the layer, as
            :class:`~grice_research.triplets.layers.Layer` names them, if there is one, and of
            the networks.
        hidden: Gives the states of the lower layers, of every token of each text.

    Raises:
        BundleError: If arrays are missing or do not fit the relations of CIDER.
    """

    def __init__(self, path: Path, hidden: Callable[[Sequence[str]], Sequence[Hidden]]) -> None:
        with np.load(path, allow_pickle=False) as arrays:
            self.weights = {name: arrays[name].astype(np.float32) for name in arrays.files}
        self.relations = tuple(load_schema("cider").relations)
        self._hidden = hidden
        w = self.weights
        self.layer = Layer(w) if "query_weight" in w else None
        try:
            # Networks are fitted on spans read by their ends and mean, or by their mean alone.
            by_mean = w["head_weight"].shape[0] == w["left_weight"].shape[0]
            self.span = _whole if by_mean else _ends
            fits = (
                w["hidden_weight"].shape[0] == 3 * w["head_weight"].shape[1] + STRUCTURE
                and w["out_weight"].shape[1] == 3 * len(self.relations)
                and w["length"].shape == (LONGEST,)
                and (self.layer is None or w["marker"].shape == w["query_bias"].shape)
            )
        except KeyError as error:
            raise BundleError(f"{path}: there is no array {error}") from None
        if not fits:
            raise BundleError(f"{path}: the arrays do not fit each other")

    def read(self, text: str, sides: Sides) -> HeadConditionedReading:
        """Return a text with its spans, read by the lower layers."""
        return HeadConditionedReading(self, self._hidden([text])[0], text, sides)


class _Asked(NamedTuple):
    """What the answers to a head are scored by, before a relation is named.

    Attributes:
        tokens: What each token adds, ``(tokens, width)``; ``query`` is added to it.
        distance: What its distance to the head adds, the same shape.
        query: Of the head, ``(width,)``.
        factors: What each token is multiplied by, the same shape; ``factor`` is of the head.
        factor: Shape ``(width,)``.
        wholes: Score of each stretch as a whole, ``(tokens, LONGEST)``; endless below zero where
            no answer can stand.
    """

    tokens: Array
    distance: Array
    query: Array
    factors: Array
    factor: Array
    wholes: Array


class HeadConditionedReading:
    """One text, encoded for a head when the head is first asked about.

    Args:
        layer: The layer and the networks.
        hidden: States and places of every token, the first and the last of which stand for no
            text.
        text: The text.
        sides: Its layout and spans.
    """

    def __init__(
        self, layer: HeadConditionedLayer, hidden: Hidden, text: str, sides: Sides
    ) -> None:
        offsets = np.asarray(hidden.offsets, np.int64).reshape(-1, 2)
        self._layer, self._sides, self._text = layer, sides, text
        self._states = np.asarray(hidden.states, np.float32)
        self._starts, self._ends = offsets[:, 0], offsets[:, 1]
        self._inner = TextReading(text, self._states[1:-1], self._starts[1:-1], self._ends[1:-1])
        self._known: dict[int, tuple[Array, Array]] = {}
        self._asked: dict[int, _Asked] = {}
        self.relations = layer.relations

    def links(self, pairs: Sequence[tuple[int, int]]) -> Array:
        """Return the numbers of pairs of spans, as :class:`LinkHead` does."""
        sides = self._sides
        values = np.zeros((len(pairs), 3, len(self._layer.relations)), np.float32)
        by_head: dict[int, list[int]] = {}
        for row, (head, _) in enumerate(pairs):
            by_head.setdefault(head, []).append(row)
        with single_threaded():
            for head, rows in by_head.items():
                tails = [pairs[row][1] for row in rows]
                places = [self._tokens(sides.places[tail]) for tail in tails]
                numbers = [self._numbers(head, sides.spans[t], sides.places[t]) for t in tails]
                values[rows] = self._network(head, places, numbers)
        return values

    def chances(self, head: int, relation: str) -> Array:
        """Return log probabilities of the short stretches, ``(tokens, LONGEST)``.

        Each row holds the stretches that begin with a token, by how many more they have.

        Args:
            head: Number of the head among the spans.
            relation: One of the 31 relations.
        """
        w, name = self._layer.weights, self._layer.relations.index(relation)
        asked = self._ask(head)
        with single_threaded():
            query = asked.query + w["relation_weight"][name]
            added = np.maximum(asked.tokens + query + asked.distance, 0)
            times = asked.factors * (asked.factor + w["relationfactor_weight"][name])
            ends = np.concatenate([added, times], axis=1) @ w["ends_weight"] + w["ends_bias"]
        scores = ends[:, :1] + _ahead(ends[:, 1], 0.0) + asked.wholes
        top = scores.max()
        return np.asarray(scores - top - np.log(np.exp(scores - top).sum()), np.float32)

    def _ask(self, head: int) -> _Asked:
        """Return what an answer to a head needs, whatever the relation."""
        if head in self._asked:
            return self._asked[head]
        w = self._layer.weights
        with single_threaded():
            states, vector = self._head(head)
            whole = TextReading(self._text, states, self._starts, self._ends)
            bins = distance_bins(whole, self._sides.places[head])
            left = states @ w["left_weight"] + w["left_bias"]
            right = states @ w["right_weight"] + w["right_bias"]
            wholes = np.tile(w["length"], (len(states), 1))
            rank = np.float32(left.shape[1] ** 0.5)
            for long in range(min(LONGEST, len(states))):
                products = (left[: len(left) - long] * right[long:]).sum(axis=1)
                wholes[: len(left) - long, long] += products / rank
            held = np.ones(len(states), np.float32)
            held[[0, -1]] = 0
            wholes[(_ahead(held, 0.0) == 0) | (held == 0)[:, None]] = -np.inf
            self._asked[head] = _Asked(
                tokens=states @ w["token_weight"] + w["token_bias"],
                distance=w["distance_weight"][bins],
                query=vector @ w["asked_weight"] + w["asked_bias"],
                factors=states @ w["factor_weight"] + w["factor_bias"],
                factor=vector @ w["askedfactor_weight"] + w["askedfactor_bias"],
                wholes=wholes,
            )
        return self._asked[head]

    def tails(self, head: int, taken: Sequence[tuple[int, int]]) -> Array:
        """Return the numbers of a head with stretches of tokens, ``(tails, 3, relations)``."""
        numbers = [
            self._numbers(head, self._text[slice(*place)], place)
            for place in map(self.place, taken)
        ]
        with single_threaded():
            return self._network(head, taken, numbers)

    def tail_overlap(self, chances: Array, tail: int) -> float:
        """Return the log of the mean share of tokens that an answer has in common with a span.

        Args:
            chances: Log probabilities of the answers; see :meth:`chances`.
            tail: Number of the span among the spans.
        """
        place = self._sides.places[tail]
        if place is None:
            return NO_OVERLAP
        first, end = self._tokens(place)
        starts = np.arange(len(chances))[:, None]
        ends = starts + np.arange(1, LONGEST + 1)
        common = np.maximum(np.minimum(ends, end) - np.maximum(starts, first), 0)
        shares = 2 * common / (ends - starts + end - first)
        mean = float((np.exp(chances) * shares).sum())
        return max(NO_OVERLAP, float(np.log(mean))) if mean > 0 else NO_OVERLAP

    def place(self, taken: tuple[int, int]) -> Place:
        """Return where a stretch of tokens stands in the text."""
        return int(self._starts[taken[0]]), int(self._ends[taken[1] - 1])

    def _numbers(self, head: int, tail: str, place: Place | None) -> Array:
        sides = self._sides
        return structure(sides.layout, sides.spans[head], tail, sides.places[head], place)

    def _head(self, head: int) -> tuple[Array, Array]:
        """Return the states of the text read for a head, and the head's vector."""
        if head not in self._known:
            first, end = self._tokens(self._sides.places[head])
            states = self._states
            if self._layer.layer is not None:
                marked = states.copy()
                marked[first:end] += self._layer.weights["marker"]
                states = self._layer.layer(marked)
            self._known[head] = states, self._layer.span(states, first, end)
        return self._known[head]

    def _tokens(self, place: Place | None) -> tuple[int, int]:
        """Return first token and the one behind; of a span that is not there, the whole text's."""
        if place is None:
            return 0, 1
        first, end = self._inner.tokens(place)
        return first + 1, max(first + 1, end) + 1

    def _network(
        self, head: int, tails: Sequence[tuple[int, int]], numbers: Sequence[Array]
    ) -> Array:
        """Return the numbers of a head with some stretches of tokens, ``(tails, 3, relations)``."""
        w = self._layer.weights
        states, vector = self._head(head)
        rows = np.stack([self._layer.span(states, first, end) for first, end in tails])
        first = vector @ w["head_weight"] + w["head_bias"]
        second = rows @ w["tail_weight"] + w["tail_bias"]
        joined = np.concatenate(
            [np.broadcast_to(first, second.shape), second, first * second, np.stack(numbers)],
            axis=1,
        )
        hidden = np.maximum(joined @ w["hidden_weight"] + w["hidden_bias"], 0)
        outputs = hidden @ w["out_weight"] + w["out_bias"]
        return np.asarray(outputs.reshape(len(rows), 3, -1), np.float32)


def _mean(states: Array, first: int, end: int) -> Array:
    return np.asarray(states[first:end].sum(axis=0) / np.float32(max(1, end - first)))


def _ends(states: Array, first: int, end: int) -> Array:
    """Return first, last and mean state of a span."""
    both = states[min(first, len(states) - 1)], states[max(0, end - 1)]
    return np.concatenate([*both, _mean(states, first, end)])


def _whole(states: Array, first: int, end: int) -> Array:
    """Return the mean state of a span, of one length for all spans."""
    mean = _mean(states, first, end)
    length = np.linalg.norm(mean) + np.float32(TINY)
    return np.asarray(mean / length * np.float32(len(mean) ** 0.5 * SPREAD))


def _ahead(values: Array, missing: float) -> Array:
    """Return of each place the values of it and those behind, ``(places, LONGEST)``."""
    padded = np.concatenate([values, np.full(LONGEST - 1, missing, np.float32)])
    return np.lib.stride_tricks.sliding_window_view(padded, LONGEST).copy()
