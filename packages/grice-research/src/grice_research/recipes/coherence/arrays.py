"""Samples as arrays: rows of turn vectors on a few axes, speakers, plain numbers."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from grice.models.dialogue import ALONE, own_turns, turn_blocks
from grice.models.turn_features import (
    AGAIN,
    Bigrams,
    Towers,
    order_features,
    read_turn,
    turn_features,
    verbatim_features,
)
from grice_research.recipes.coherence.data import WORDED, Rated, Sample, only_weighs, said_again
from grice_research.recipes.common import Steps, VectorStore, layers_of, perceptron

AXES = 160  # principal axes of the turns that the networks read
SINGLE, DOUBLE = 2**16, 2**20  # sizes of the tables of words and of neighbours
SEEN = 2  # how often two words must have stood side by side to be kept
WORDED_WAYS, MOVED_WAYS = 4, 2
"""Twins of a conversation with changed wording, and with moved turns, that are drawn for it."""


class Item(NamedTuple):
    """A conversation as it is learned from."""

    kind: str
    rows: NDArray[np.int64]
    own: NDArray[np.int64]
    numbers: NDArray[np.float16]
    broken: frozenset[int] = frozenset()
    twin: int = 0
    quality: float = 0.0
    good: tuple[bool | None, ...] = ()
    held_out: bool = False
    speakers: tuple[int, ...] = ()
    verbatim: NDArray[np.float32] = np.zeros((0, AGAIN), np.float32)
    alone: NDArray[np.float32] = np.zeros((0, ALONE), np.float32)


class Prepared(NamedTuple):
    """All items, and the turns on their axes."""

    items: dict[str, list[Item]]
    turns: NDArray[np.float32]
    mean: NDArray[np.float32]
    axes: NDArray[np.float32]

    def read(self, chosen: Sequence[Item]) -> torch.Tensor:
        """Return what a network reads of all turns of some conversations, one below the other."""
        rows = [np.concatenate([turn_blocks(self.turns[item.rows], item.own), item.numbers], axis=1)
                for item in chosen]  # fmt: skip
        return torch.from_numpy(np.concatenate(rows, dtype=np.float32))


class Vectors(NamedTuple):
    """Vectors of texts out of several stores."""

    index: dict[str, int]
    rows: NDArray[np.float16]

    @classmethod
    def of(cls, stores: Iterable[VectorStore]) -> Vectors:
        index: dict[str, int] = {}
        parts = []
        offset = 0
        for store in stores:
            for text, i in store.index.items():
                index.setdefault(text, offset + i)
            parts += store.shards
            offset += len(store.index)
        return cls(index, np.concatenate(parts))

    def places(self, texts: Sequence[str]) -> NDArray[np.int64]:
        return np.array([self.index[text] for text in texts], np.int64)


class _LeaveOut(Bigrams):
    """Counts of neighbours without those of a conversation itself.

    What stands in the corpus would look familiar only because it was counted.
    """

    def __init__(self, single: NDArray, double: NDArray, total: float, own: Counter[int]) -> None:
        super().__init__(single, double, total)
        self.own = own

    def seen(self, places: NDArray[np.int64]) -> NDArray[np.float32]:
        places = places % DOUBLE
        own = np.array([self.own.get(int(place), 0) for place in places], np.float32)
        counts = self.double[places] - own
        kept: NDArray[np.float32] = np.where(counts > SEEN - 0.5, counts, 0)
        return kept


class Corpus:
    """Counts of neighbouring words in the intact conversations that train."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self.texts = {text for sample in samples for text in sample.turns}
        self.single, self.double = np.zeros(SINGLE, np.float32), np.zeros(DOUBLE, np.float32)
        for text in sorted(self.texts):
            for first, _, both in read_turn(text).bigrams:
                self.single[first % SINGLE] += 1
                self.double[both % DOUBLE] += 1

    def save(self, path: Path) -> None:
        kept = {"single": self.single, "double": np.where(self.double < SEEN, 0, self.double)}
        eighths = {name: np.minimum(255, np.rint(8 * np.log2(1 + counts))).astype(np.uint8)
                   for name, counts in kept.items()}  # fmt: skip
        total = np.float32(self.single.sum())
        np.savez_compressed(path, allow_pickle=False, total=total, **eighths)

    def own(self, texts: Iterable[str]) -> Counter[int]:
        held = self.texts.intersection(texts)
        return Counter(both % DOUBLE for text in held for _, _, both in read_turn(text).bigrams)

    def without(self, kept: Bigrams, own: Counter[int]) -> Bigrams:
        return _LeaveOut(kept.single, self.double, kept.total, own)


class Maker(NamedTuple):
    """Resources that make items; without alone, what the networks do not read is left out."""

    vectors: Vectors
    towers: Towers
    alone: Alone | None = None

    def item(self, source: Sample | Rated, bigrams: Bigrams) -> Item:
        rows = self.vectors.places(source.turns)
        read = self.vectors.rows[rows].astype(np.float32)
        plain = turn_features(read, source.speakers, source.turns, bigrams)
        numbers = np.concatenate([plain, order_features(self.towers.fits(read))], axis=1)
        made = Item("", rows, own_turns(source.speakers), numbers.astype(np.float16),
                     held_out=source.held_out, speakers=source.speakers)  # fmt: skip
        if self.alone is None:
            return made
        verbatim = verbatim_features(source.speakers, source.turns)
        return made._replace(verbatim=verbatim, alone=self.alone.outputs(read))

    def sample(self, source: Sample, bigrams: Bigrams, twin: int) -> Item:
        return self.item(source, bigrams)._replace(
            kind=source.kind, broken=source.broken, twin=twin
        )

    def rated(self, place: int, source: Rated, bigrams: Bigrams) -> Item:
        made = self.item(source, bigrams)._replace(quality=source.quality, good=source.good)
        # What networks say that saw the conversation would count for too much.
        return made if self.alone is None else made._replace(alone=self.alone.rated[place])


def prepare(made: dict[str, list[Any]], make: Maker, out: Path) -> None:
    """Write the bigrams, and every sample as arrays."""
    corpus = Corpus(made["train"])
    corpus.save(out / "bigrams.npz")
    kept = Bigrams.load(out / "bigrams.npz")
    items = {
        **_training(made, make, corpus, kept),
        "held": [make.sample(sample, kept, i) for i, sample in enumerate(made["held"])],
        "rated": [make.rated(i, dialogue, kept) for i, dialogue in enumerate(made["rated"])],
    }
    place = {(sample.source, sample.id): i for i, sample in enumerate(made["held"])}
    for name, samples in (("held_broken", made["held_broken"]),
                          ("held_again", said_again(made["held"]))):  # fmt: skip
        items[name] = [
            make.sample(sample, kept, place[sample.source, sample.id]) for sample in samples
        ]
    (out / "prepared.pickle").write_bytes(pickle.dumps(on_axes(items, make.vectors)))


def weighing(made: dict[str, list[Any]]) -> list[Sample]:
    """Return the conversations that weigh what the networks say, each before its twins."""
    samples = []
    ways = _by_conversation(made["broken"])
    for number, sample in enumerate(made["train"]):
        if only_weighs(number):
            samples += [sample, *_weighing(sample, number, ways)]
    return samples


def _training(
    made: dict[str, list[Any]], make: Maker, corpus: Corpus, kept: Bigrams
) -> dict[str, list[Item]]:
    ways = _by_conversation(made["broken"])
    by_use: dict[str, list[Item]] = {"train": [], "weigh": []}
    for_networks = make._replace(alone=None)
    for number, sample in enumerate(made["train"]):
        if only_weighs(number):
            group, by, twins = by_use["weigh"], make, _weighing(sample, number, ways)
        else:
            group, by = by_use["train"], for_networks
            twins = _drawn(ways.get((sample.source, sample.id), []), Random(number))
        group += left_out(by, corpus, kept, number, [sample, *twins])
    return by_use


def left_out(
    make: Maker, corpus: Corpus, kept: Bigrams, number: int, samples: Sequence[Sample]
) -> Iterator[Item]:
    """Yield a conversation and its twins as items, without what was counted of their own words."""
    own = corpus.own(samples[0].turns)
    for sample in samples:
        foreign = corpus.own(set(sample.turns).difference(samples[0].turns))
        yield make.sample(sample, corpus.without(kept, own + foreign), number)


def _by_conversation(samples: Sequence[Sample]) -> dict[tuple[str, str], list[Sample]]:
    ways: dict[tuple[str, str], list[Sample]] = {}
    for sample in samples:
        ways.setdefault((sample.source, sample.id), []).append(sample)
    return ways


def _weighing(
    sample: Sample, number: int, ways: dict[tuple[str, str], list[Sample]]
) -> list[Sample]:
    """Return twins of a conversation: those drawn, all others with moved turns, what repeats."""
    made = ways.get((sample.source, sample.id), [])
    drawn = [twin for twin in _drawn(made, Random(number)) if twin.kind in WORDED | {"deam"}]
    moved = [twin for twin in made if twin.kind not in WORDED | {"deam"}]
    return [*drawn, *moved, *said_again([sample])]


def _drawn(twins: list[Sample], draw: Random) -> list[Sample]:
    worded = [twin for twin in twins if twin.kind in WORDED | {"deam"}]
    moved = [twin for twin in twins if twin.kind not in WORDED | {"deam"}]
    return [*draw.sample(worded, min(WORDED_WAYS, len(worded))),
            *draw.sample(moved, min(MOVED_WAYS, len(moved)))]  # fmt: skip


def on_axes(items: dict[str, list[Item]], vectors: Vectors) -> Prepared:
    """Keep the rows that are used, on the principal axes of the intact turns that train."""
    intact = [item.rows for item in items["train"] if not item.kind]
    sample = vectors.rows[np.unique(np.concatenate(intact))].astype(np.float32)
    mean = sample.mean(axis=0)
    centred = sample - mean
    spread, directions = np.linalg.eigh(centred.T @ centred / len(centred))
    largest = directions[:, ::-1][:, :AXES]
    axes = (largest / np.sqrt(spread[::-1][:AXES].mean())).astype(np.float32)
    used = np.unique(np.concatenate([item.rows for group in items.values() for item in group]))
    turns = (vectors.rows[used].astype(np.float32) - mean) @ axes
    placed = {
        name: [item._replace(rows=np.searchsorted(used, item.rows)) for item in group]
        for name, group in items.items()
    }
    return Prepared(placed, turns.astype(np.float32), mean, axes)


HIDDEN, DROPPED_IN, DROPPED = 32, 0.1, 0.4
RATE, DECAYED, EPOCHS, BATCH = 2e-3, 0.05, 8, 16
SEEDS, FOLDS = (0, 1, 2), 5


class Alone(NamedTuple):
    """Outputs of the networks."""

    layers: list[tuple[NDArray[np.float32], NDArray[np.float32]]]
    rated: list[NDArray[np.float32]]

    @classmethod
    def load(cls, path: Path) -> Alone:
        alone: Alone = cls(*pickle.loads(path.read_bytes()))
        return alone

    def outputs(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return three numbers a turn, high is good."""
        (first, bias), (last, shift) = self.layers
        read = vectors * np.float32(np.sqrt(vectors.shape[1]))
        odds: NDArray[np.float32] = np.maximum(read @ first + bias, 0) @ last + shift
        return odds


class _Turns(NamedTuple):
    """The turns of all rated conversations, one below the other; without a label, ``nan``."""

    read: torch.Tensor
    person: torch.Tensor
    good: torch.Tensor
    ends: NDArray[np.int64]
    sizes: NDArray[np.int64]
    quality: NDArray[np.float64]

    @classmethod
    def of(cls, rated: Sequence[Rated], vectors: Vectors) -> _Turns:
        rows = np.concatenate([vectors.places(dialogue.turns) for dialogue in rated])
        read = vectors.rows[rows].astype(np.float32)
        sizes = np.array([len(dialogue.turns) for dialogue in rated])
        good = [np.nan if mark is None else mark for dialogue in rated for mark in dialogue.good]
        return cls(
            torch.from_numpy(read * np.float32(np.sqrt(read.shape[1]))),
            torch.tensor(
                [mark for dialogue in rated for mark in dialogue.by_person], dtype=torch.float32
            ),
            torch.tensor(good, dtype=torch.float32),
            np.cumsum(sizes),
            sizes,
            np.array([dialogue.quality for dialogue in rated]),
        )

    def rows(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.concatenate([np.arange(self.ends[i] - self.sizes[i], self.ends[i])
                               for i in chosen])  # fmt: skip


def fit_alone(rated: Sequence[Rated], vectors: Vectors, out: Path) -> None:
    """Fit the networks, and those of every fold for what the others are to be weighed by."""
    turns = _Turns.of(rated, vectors)
    train = np.array([i for i, dialogue in enumerate(rated) if not dialogue.held_out])
    odds = np.zeros((len(turns.read), ALONE), np.float32)
    nets = []
    for seed in SEEDS:
        nets.append(_fitted(turns, train, seed))
        whole = _odds(nets[-1], turns)
        fold = np.random.default_rng(seed).integers(FOLDS, size=len(train))
        for k in range(FOLDS):
            net = _fitted(turns, train[fold != k], 100 * (seed + 1) + k)
            rows = turns.rows(train[fold == k])
            whole[rows] = _odds(net, turns)[rows]
        odds += whole / len(SEEDS)
    parts = np.split(odds, turns.ends[:-1])
    out.write_bytes(pickle.dumps(tuple(Alone(_joined(nets), parts))))


def _joined(nets: list[nn.Sequential]) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Return one network whose output is the mean of several."""
    firsts, lasts = zip(*map(layers_of, nets), strict=True)
    first, bias = (np.concatenate(parts, axis=-1) for parts in zip(*firsts, strict=True))
    last, shift = zip(*lasts, strict=True)
    return [(first, bias), (np.concatenate(last) / len(nets), np.mean(shift, axis=0))]


@torch.no_grad()
def _odds(net: nn.Sequential, turns: _Turns) -> NDArray[np.float32]:
    odds: NDArray[np.float32] = net(turns.read).numpy()
    return odds


def _fitted(turns: _Turns, chosen: NDArray[np.int64], seed: int) -> nn.Sequential:
    torch.manual_seed(seed)
    draw = np.random.default_rng(seed)
    size = turns.read.shape[1]
    net = perceptron(size, HIDDEN, ALONE, drop=DROPPED, drop_in=DROPPED_IN)
    step = Steps(net.parameters(), RATE, DECAYED, EPOCHS * (len(chosen) // BATCH))
    liked = np.zeros(len(turns.sizes), np.float32)
    left = without_length(turns.quality[chosen], turns.sizes[chosen])
    liked[chosen] = left / left.std()
    for _ in range(EPOCHS):
        order = draw.permutation(chosen)
        for start in range(0, len(order) - BATCH + 1, BATCH):
            some = order[start : start + BATCH]
            step(_loss(net, turns, some, torch.from_numpy(liked[some])))
    return net.eval()


def _loss(
    net: nn.Sequential, turns: _Turns, some: NDArray[np.int64], liked: torch.Tensor
) -> torch.Tensor:
    rows = torch.from_numpy(turns.rows(some))
    outputs = net(turns.read[rows])
    loss = cross_entropy(outputs[:, 0], turns.person[rows])
    marked = ~torch.isnan(turns.good[rows])
    if marked.any():
        loss = loss + cross_entropy(outputs[marked, 1], turns.good[rows][marked])
    sizes = torch.from_numpy(turns.sizes[some])
    group = torch.repeat_interleave(torch.arange(len(some)), sizes)
    means = torch.zeros(len(some)).index_add(0, group, outputs[:, 2]) / sizes
    return loss + ((means - liked) ** 2).mean()


def without_length(values: NDArray, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what is left of values of conversations when what their length says is taken out."""
    length = np.log(sizes)
    known = np.column_stack([np.ones(len(length)), length])
    left: NDArray[np.float64] = values - known @ np.linalg.lstsq(known, values, rcond=None)[0]
    return left
