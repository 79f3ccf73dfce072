"""The heads of CIDER with the encoder they read, opened from a model folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import msgspec
import numpy as np

from grice.errors import InputError, ModelFolderError
from grice.models.embedded import EmbeddedEncoder
from grice.models.loader import Settings, model_type, read_settings
from grice.models.mlp import single_threaded
from grice.models.spans import SpanHead, SpanSettings
from grice_tasks.cider.files import cider_schema
from grice_tasks.cider.reading import STRUCTURE, locate, structure
from grice_tasks.cider.span_candidates import Nouns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from grice.models.embedded import HiddenStates
    from grice.models.folder import ModelFolder
    from grice.models.loader import ModelLoader
    from grice_tasks.cider.files import Place
    from grice_tasks.cider.reading import Layout, TextReading

    Array: TypeAlias = NDArray[np.float32]


SCALE = np.float32(384**0.5 / 4)
"""Vectors of length one have components too small for a network to begin with."""


class Sides(NamedTuple):
    """Spans of one text."""

    layout: Layout
    spans: Sequence[str]
    places: Sequence[Place | None]  # where each stands in the text; None if it does not
    vectors: Array  # one row per span


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

    Three numbers per relation: log odds that the triplet is entailed, how good the tail is among
    several, and which relation it is if there is one.
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
            raise ModelFolderError(f"{path}: the arrays do not fit each other: {shapes}")

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


class Links(Protocol):
    """Network on two spans of a text: :class:`LinkHead`, or a published one in its place."""

    relations: tuple[str, ...]
    both: bool  # whether it reads each span also on its own

    def index(self, relation: str) -> int:
        """Return the place of a relation among the numbers."""

    def in_context(self) -> Links | None:
        """Return the part that reads spans in their text alone; None if there is none."""

    def __call__(self, sides: Sides, pairs: Sequence[tuple[int, int]]) -> Array:
        """Return the numbers of each pair, shape ``(pairs, 3, relations)``."""


Tagger: TypeAlias = "Callable[[Callable[[Sequence[str]], Sequence[HiddenStates]]], SpanHead]"
"""Gives a tagger of events for token states."""


class TripletModels(NamedTuple):
    """Heads and encoder."""

    links: Links
    level: float  # log odds from which on a triplet counts as entailed
    encoder: EmbeddedEncoder
    levels: tuple[float, ...] = ()  # of each relation, that few pairs of everyday talk are above
    tagger: Tagger | None = None
    nouns: Nouns = Nouns()


class TripletSettings(Settings, frozen=True):
    """Settings of type ``triplet-heads``."""

    level: float
    levels: tuple[float, ...]
    events: str = "builtin:events"  # the tagger whose events are linked


class Asked(msgspec.Struct):
    """A question of task 2, or with options of task 3: the tail of a head and a relation."""

    context: str
    head: str
    relation: str
    options: tuple[str, ...] = ()

    def answer(self, reader: Any) -> str:  # noqa: ANN401 - two kinds of readers
        """Return the span or the option that a published reader finds best."""
        question = cider_schema()[self.relation].question.replace("X", self.head, 1)
        if not question:
            raise InputError(f"{self.relation}: CIDER asks no question for this relation")
        if self.options:
            rows = reader.logits([(self.context, f"{question} {each}") for each in self.options])
            return self.options[int(np.argmax([row[0] for row in rows]))]
        (start, end, _), *_ = reader.answers([(question, self.context)])
        return self.context[start:end]


@model_type("triplet-heads", task="links", settings=TripletSettings)
def triplet_heads(
    folder: ModelFolder, settings: TripletSettings, loader: ModelLoader
) -> TripletModels:
    """Open ``links.npz`` and perhaps ``nouns.txt``."""
    links = LinkHead(folder.file("links.npz"))
    if len(settings.levels) != len(links.relations):
        raise ModelFolderError(
            f"{folder.path / 'card.toml'}: settings.levels: {len(links.relations)} numbers, one "
            f"per relation, are needed"
        )
    encoder = loader.encoder_of(folder, EmbeddedEncoder)
    lines: list[str] = []  # words of each kind of noun, in the order of the fields
    if "nouns.txt" in folder.card.files:
        lines = folder.file("nouns.txt").read_text("utf-8").splitlines()
    nouns = Nouns(*(frozenset(line.split()) for line in lines))
    tagger = event_tagger(loader.folder(settings.events))
    return TripletModels(links, settings.level, encoder, settings.levels, tagger, nouns)


def event_tagger(events: ModelFolder) -> Tagger:
    """Return what gives the tagger of a model folder for token states."""
    spans = read_settings(events, SpanSettings)
    return lambda hidden: SpanHead(spans, events.path, hidden, events.digest)
