"""Train the networks that tell whether a sentence contradicts another.

    python -m grice_research.recipes.contradiction.fit

The model holds a network per seed, whose log odds are averaged: a quarter of an hour of one core.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from grice.models.attention import FLAGS, MOST, tokens
from grice.models.embedded import EmbeddedEncoder
from grice.models.loader import ModelLoader
from grice.models.mlp import Mlp
from grice.perturb.deam import opposite
from grice.perturb.wording import negated
from grice.text.content import sentences
from grice_research.places import MODELS
from grice_research.recipes.common import (
    Steps,
    figure_of,
    layers_of,
    parser_of,
    perceptron,
    rows_of,
    table_of,
    update_card,
)
from grice_research.recipes.relevance.corpora import normalise
from grice_research.recipes.sense.sources import evaluated, is_stated, written_items
from grice_research.roc import roc_areas

FOLDS = 6  # every sixth premise is kept back
WINDOWS = 4  # pairs of turns of each speaker of a conversation
CHARACTERS = 400  # of a premise the last and of a hypothesis the first are read
MADE = 8  # pairs of statements that are made of the turns of each speaker
SHORTEST, LONGEST = 4, 14  # words of a statement that is turned into its opposite


class Sentences(NamedTuple):
    """Two sentences, the earlier one first."""

    premise: str
    hypothesis: str
    contradicts: bool
    source: str
    validation: bool


def _pair(first: str, second: str, source: str, group: str, *, contradicts: bool) -> Sentences:
    texts = first.strip()[-CHARACTERS:], second.strip()[:CHARACTERS]
    kept_back = crc32(group.encode()) % FOLDS == 0
    return Sentences(*texts, contradicts, source, kept_back)


def snli(data: Path) -> Iterator[Sentences]:
    """Yield the development part of SNLI."""
    for row in table_of(data / "snli_devtest/snli_devtest.tsv.gz"):
        if row["split"] == "dev":
            pair = [re.sub(r" (?=[.,!?'])", "", row[name]) for name in ("premise", "hypothesis")]
            yield _pair(*pair, "snli", pair[0], contradicts=row["label"] == "contradiction")


class Source(NamedTuple):
    """A file of labelled pairs: which rows are read, and the field of the group."""

    file: str
    keep: Callable[[int, dict[str, Any]], object]
    group: str


FILES = {
    # Pairs of SNLI with revisions of either side by people.
    "revised": Source(
        "nli_contradiction/cf_snli.jsonl.gz", lambda _, row: row["split"] != "test", "group"
    ),
    # Premises with one word replaced: every third contradiction, and all others.
    "broken": Source(
        "nli_contradiction/breaking_nli.jsonl.gz",
        lambda place, row: row["label"] != "contradiction" or place % 3 == 0,
        "premise",
    ),
    # Pairs with "not" in either side or both.
    "negated": Source("negated_nli/negated_nli.tsv.gz", lambda *_: True, "hypothesis"),
    # Pairs that differ by a quantifier or a narrower word; none is a contradiction.
    "monotone": Source("nli_contradiction/med.jsonl.gz", lambda place, _: place % 2, "premise"),
}


def labelled(data: Path) -> Iterator[Sentences]:
    for name, source in FILES.items():
        read = table_of if ".tsv" in source.file else rows_of
        for place, row in enumerate(read(data / source.file)):
            if source.keep(place, row):
                contradicts = row["label"] == "contradiction"
                group = str(row[source.group])
                pair = row["premise"], row["hypothesis"]
                yield _pair(*pair, name, group, contradicts=contradicts)


def written(_: Path) -> Iterator[Sentences]:
    """Yield replies beside what their speaker said before, of items on contradicting oneself."""
    for item in written_items():
        if item.kind == "self_contradiction":
            good = {better for better, _ in item.comparisons}
            for place, (history, reply) in enumerate(item.readings):
                own = " ".join(history[-2::-2][::-1])
                if own:
                    pair = _pair(own, reply, "written", own, contradicts=place not in good)
                    yield pair._replace(validation=item.validation)


def turns(data: Path) -> Iterator[Sentences]:
    """Yield two turns of one speaker, which go together, and statements with their opposites.

    Statement and opposite stand first in turn, each is paired with itself, too, and with another
    statement and its opposite, so that neither side alone tells.
    """
    draw = Random(0)
    for talk in rows_of(data / "synthetic_persona_chat/valid.jsonl.gz"):
        spoken = defaultdict(list)
        for turn in talk["turns"]:
            spoken[turn["speaker"]].append(turn["text"])
        for texts in spoken.values():
            if len(texts) > WINDOWS:
                for _ in range(WINDOWS):
                    i, j = sorted(draw.sample(range(1, len(texts)), 2))
                    yield _pair(texts[i], texts[j], "turns", talk["id"], contradicts=False)
                yield from islice(_opposites(texts[1:], talk["id"], draw), MADE)


def _opposites(texts: list[str], group: str, draw: Random) -> Iterator[Sentences]:
    statements = [
        sentence.text
        for text in texts
        for sentence in sentences(text)
        if SHORTEST <= len(sentence.text.split()) <= LONGEST and not sentence.text.endswith("?")
    ]
    draw.shuffle(statements)
    last = None
    for text in statements:
        other = negated(text) if draw.random() < 0.5 else opposite(text, draw)
        if other and other != text:
            both = (text, other)
            for first, second in product(last or (), both):
                yield _pair(first, second, "unrelated", group, contradicts=False)
            for first, second in product(both, both):
                yield _pair(first, second, "opposite", group, contradicts=first != second)
            last = both


SOURCES = (snli, labelled, written, turns)


def pairs(data: Path) -> list[Sentences]:
    """Return the pairs of all sources, each once, without sentences of evaluated sets."""
    stated = evaluated(data) | {normalise(text) for text in _dialogues(data)}
    return [
        pair
        for pair in dict.fromkeys(pair for source in SOURCES for pair in source(data))
        if not (is_stated(pair.premise, stated) or is_stated(pair.hypothesis, stated))
    ]


def _dialogues(data: Path) -> Iterator[str]:
    """Yield the turns of the sets of contradictions in dialogue."""
    for row in rows_of(data / "rgm_contradiction/rgm_contradiction.jsonl.gz"):
        yield from (turn["text"] for turn in row["context"])
        yield row["response"]
    for row in rows_of(data / "decode_human_bot/decode_human_bot_open.jsonl.gz"):
        yield from (turn["text"] for turn in row["turns"])


PROJECTED, HIDDEN, DROPOUT = 96, 128, 0.2
SEEDS = (0, 1, 2)
EPOCHS, BATCH, RATE, DECAY = 6, 128, 1.5e-3, 0.05
WEIGHTS = {"written": 2.0, "opposite": 0.5, "unrelated": 0.5}
"""How much a pair of a source counts; the others count one."""
PORTION = 2000  # sentences that are read at once
PARTS = ("project", "attend", "compare", "decide")
COMMAND = "python -m grice_research.recipes.contradiction.fit"


class Read(NamedTuple):
    """The tokens of every distinct sentence, shape ``(sentences, MOST, …)``, and pairs of them."""

    states: torch.Tensor
    words: torch.Tensor
    negates: torch.Tensor
    counts: torch.Tensor
    premises: torch.Tensor
    hypotheses: torch.Tensor
    labels: torch.Tensor


class Side(NamedTuple):
    """The tokens of one side of a batch; ``real`` says which are there."""

    states: torch.Tensor
    words: torch.Tensor
    negates: torch.Tensor
    real: torch.Tensor


def read(rows: Sequence[Sentences]) -> Read:
    """Read the states of all sentences with the encoder that ships."""
    texts = list(dict.fromkeys(text for row in rows for text in (row.premise, row.hypothesis)))
    models = ModelLoader(mode="fast", workers=1, cache=None)
    encoder = models.load("builtin:encoder", EmbeddedEncoder)
    dimensions = len(encoder.encode(texts[:1])[0])
    states = np.zeros((len(texts), MOST, dimensions), np.float16)
    words = np.zeros((len(texts), MOST), np.int64)
    negates = np.zeros((len(texts), MOST), np.float32)
    counts = np.ones(len(texts), np.int64)
    known: dict[str, int] = {}
    for start in range(0, len(texts), PORTION):
        part = texts[start : start + PORTION]
        read_part = zip(part, encoder.hidden_states(part), strict=True)
        for i, (text, hidden) in enumerate(read_part, start):
            own = tokens(text, hidden)
            count = len(own.words)
            states[i, :count], negates[i, :count] = own.states, own.negates
            words[i, :count] = [known.setdefault(word, len(known) + 1) for word in own.words]
            counts[i] = max(1, count)
    models.close()
    places = {text: i for i, text in enumerate(texts)}
    return Read(
        *map(torch.from_numpy, (states, words, negates, counts)),
        torch.tensor([places[row.premise] for row in rows]),
        torch.tensor([places[row.hypothesis] for row in rows]),
        torch.tensor([float(row.contradicts) for row in rows]),
    )


class Attention(nn.Module):
    """The network of :class:`grice.models.attention.DecomposableAttention`."""

    def __init__(self, dimensions: int) -> None:
        super().__init__()
        wide = PROJECTED + FLAGS
        self.project = nn.Sequential(nn.Linear(dimensions, PROJECTED))
        self.attend = nn.Sequential(nn.Dropout(DROPOUT), nn.Linear(wide, HIDDEN))
        joined = 4 * PROJECTED + 2 * FLAGS
        self.compare = perceptron(joined, HIDDEN, HIDDEN, drop=DROPOUT, drop_in=DROPOUT)
        self.decide = perceptron(4 * HIDDEN, HIDDEN, 1, drop_in=DROPOUT)

    def forward(self, premise: Side, hypothesis: Side) -> torch.Tensor:
        same = hypothesis.words[:, :, None] == premise.words[:, None, :]
        same &= hypothesis.real[:, :, None] & premise.real[:, None, :]
        before = self._projected(premise, same.any(1))
        after = self._projected(hypothesis, same.any(2))
        seen = functional.relu(self.attend(after)), functional.relu(self.attend(before))
        alike = seen[0] @ seen[1].transpose(1, 2) / HIDDEN**0.5
        pooled = [
            self._compared(after, _softmax(alike, premise.real) @ before, hypothesis.real),
            self._compared(
                before, _softmax(alike.transpose(1, 2), hypothesis.real) @ after, premise.real
            ),
        ]
        odds: torch.Tensor = self.decide(torch.cat(pooled, -1))[:, 0]
        return odds

    def _projected(self, side: Side, same: torch.Tensor) -> torch.Tensor:
        states = torch.tanh(self.project(side.states))
        return torch.cat([states, same.float()[..., None], side.negates[..., None]], -1)

    def _compared(self, own: torch.Tensor, other: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        a, b = own[..., :-FLAGS], other[..., :-FLAGS]
        both = [a, b, (a - b).abs(), a * b, own[..., -FLAGS:], other[..., -FLAGS:]]
        compared = functional.relu(self.compare(torch.cat(both, -1))) * real[..., None]
        mean = compared.sum(1) / real.sum(1, keepdim=True)
        return torch.cat([mean, compared.max(1).values], -1)

    def save(self, folder: Path, number: int) -> None:
        """Write the parts as the product reads them."""
        for name in PARTS:
            Mlp(layers_of(getattr(self, name))).save(folder / f"{name}-{number}.npz", int8=True)


def _softmax(scores: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
    return torch.softmax(scores.masked_fill(~real[:, None], -1e4), -1)


def batch(given: Read, rows: NDArray[np.int64]) -> Iterator[Side]:
    """Yield both sides of some pairs, as long as the longest of them."""
    for texts in (given.premises[rows], given.hypotheses[rows]):
        most = int(given.counts[texts].max())
        real = torch.arange(most)[None] < given.counts[texts][:, None]
        cut = (given.states[texts, :most].float(), given.words[texts, :most])
        yield Side(*cut, given.negates[texts, :most], real)


def train(
    given: Read, rows: Sequence[Sentences], learned: NDArray[np.int64], seed: int
) -> Attention:
    """Return a network that learned from some pairs; prints the loss of every epoch."""
    torch.manual_seed(seed)
    draw = np.random.default_rng(seed)
    net = Attention(given.states.shape[2])
    weights = torch.tensor([WEIGHTS.get(row.source, 1.0) for row in rows])
    count = len(learned) // BATCH
    step = Steps(net.parameters(), RATE, DECAY, EPOCHS * count + 1)
    lengths = (given.counts[given.premises] + given.counts[given.hypotheses]).numpy()
    for epoch in range(EPOCHS):
        losses = []
        for part in _batches(draw.permutation(learned)[: count * BATCH], lengths, draw):
            odds = net(*batch(given, part))
            loss = functional.binary_cross_entropy_with_logits(
                odds, given.labels[part], weights[part]
            )
            losses.append(step(loss))
        loss_mean = round(float(np.mean(losses)), 4)
        print(json.dumps({"seed": seed, "epoch": epoch, "loss": loss_mean}), flush=True)
    return net.eval()


def _batches(
    rows: NDArray[np.int64], lengths: NDArray[np.int64], draw: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """Yield batches of pairs of about one length, in random order."""
    blurred = lengths[rows] + draw.normal(0, 3, len(rows))
    yield from draw.permutation(rows[np.argsort(blurred)].reshape(-1, BATCH))


def odds_of(net: Attention, given: Read, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    with torch.no_grad():
        parts = [net(*batch(given, rows[i : i + 256])) for i in range(0, len(rows), 256)]
    return torch.cat(parts).numpy()


def quality(rows: Sequence[Sentences], odds: NDArray[np.float32]) -> Iterator[dict[str, object]]:
    """Yield the area under the ROC curve of the pairs kept back, by source and of all."""
    for source in ("all", *dict.fromkeys(row.source for row in rows)):
        places = [i for i, row in enumerate(rows) if source in ("all", row.source)]
        labels = [float(rows[i].contradicts) for i in places]
        if len(set(labels)) < 2:
            continue
        groups = [rows[i].premise for i in places]
        area = roc_areas({"odds": odds[places]}, labels, groups=groups).areas["odds"]
        yield figure_of(f"pairs kept back: {source}", "AUC", area, COMMAND, len(places))


def main() -> None:
    torch.set_num_threads(1)
    rows = pairs(parser_of(__doc__).parse_args().data)
    sentences = read(rows)
    kept = np.array([row.validation for row in rows])
    learned, judged = np.flatnonzero(~kept), np.flatnonzero(kept)
    nets = [train(sentences, rows, learned, seed) for seed in SEEDS]
    each = [odds_of(net, sentences, judged) for net in nets]
    validation = [rows[i] for i in judged]
    for seed, odds in zip(SEEDS, each, strict=True):
        print(json.dumps({"seed": seed, **next(quality(validation, odds))}))
    figures = list(quality(validation, np.mean(each, axis=0)))
    for figure in figures:
        print(json.dumps(figure))
    folder = MODELS / "contradiction"
    folder.mkdir(parents=True, exist_ok=True)
    for number, net in enumerate(nets):
        net.save(folder, number)
    files = [f"{part}-{i}.npz" for i in range(len(nets)) for part in PARTS]
    update_card(folder, files=files, quality=figures)


if __name__ == "__main__":
    main()
