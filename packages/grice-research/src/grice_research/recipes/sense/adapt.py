"""Train the upper layers of a language model to tell flawed replies: a change of low rank.

    python -m grice_research.recipes.sense.adapt --model FILE.gguf --run NAME

The run has a given time, and the rates fall to zero with it. A checkpoint is written every five
minutes, and the same command goes on from it. No item is read twice before all are read once, so
that ``log.jsonl`` tells how often the reader is right on items that it has not yet learned. With
``--measure`` it tells what a run is worth, in float32: on the items kept back, on replies without
their history or after another one's, and on the minimal pairs of the bench.
"""

from __future__ import annotations

import json
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional

from grice.models.conversion.gguf import read_gguf
from grice_research.benches.minimal_pairs import read_pairs
from grice_research.places import work_folder
from grice_research.recipes.options import parser_of
from grice_research.recipes.sense.decoder import Batch, Layers, normalized
from grice_research.recipes.sense.mixture import epoch, training_items
from grice_research.recipes.sense.pairs import FLAWS, Item, Reading, written_items
from grice_research.recipes.sense.sources import SOURCES
from grice_research.recipes.sense.trees import tree_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from grice.models.conversion.checkpoint import Checkpoint
    from grice_research.benches.minimal_pairs import MinimalPair
    from grice_research.recipes.sense.trees import Tree

HIDDEN = 64
BATCH = 1100
"""Tokens that are read at once, padding included."""
CHUNK = 96
"""Items of one chunk are sorted by length, so that little is padded."""
LABEL_WEIGHT = 0.3
HEAD_RATE, DECAY, WARM = 2e-3, 0.01, 0.04
SAVE, TELL = 300.0, 20
"""Seconds between checkpoints, and steps between lines of the log."""
LONG = 150
"""Most tokens of an item: those of longer ones teach no more, at a higher price."""
BY_HISTORY = " by history"
MEASURED = 400
"""How many of the last comparisons the log gives the share of."""


class Example(NamedTuple):
    """An item and its tokens."""

    item: Item
    tree: Tree


class Reader(nn.Module):
    """A decoder's first layers, of which the upper ones are trained, and heads over a reply.

    Args:
        checkpoint: The decoder.
        first: How many layers are left as they are.
        last: How many layers there are.
        rank: Of the changes.
    """

    def __init__(self, checkpoint: Checkpoint, first: int, last: int, rank: int) -> None:
        super().__init__()
        self.sizes = {"first": first, "last": last, "rank": rank}
        hidden = checkpoint.shape.hidden
        embedding = checkpoint.tensor("model.embed_tokens.weight")
        self.register_buffer("embedding", torch.from_numpy(embedding.copy()), persistent=False)
        self.epsilon = checkpoint.shape.epsilon
        self.frozen = Layers(checkpoint, range(first))
        self.layers = Layers(checkpoint, range(first, last), rank)
        self.register_buffer("mean", torch.zeros(hidden))
        self.register_buffer("scale", torch.ones(hidden))
        self.heads = nn.Sequential(
            nn.Linear(hidden, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, len(FLAWS))
        )

    def tokens(self, batch: Batch) -> torch.Tensor:
        """Return the normalized states of tokens, shape ``(trees, tokens, hidden)``."""
        with torch.no_grad():
            states = self.frozen(self.embedding[batch.tokens], batch)
        return normalized(self.layers(states, batch), self.epsilon)

    def replies(self, batch: Batch) -> torch.Tensor:
        """Return the mean normalized state of each reply, shape ``(replies, hidden)``."""
        return torch.einsum("rt,rth->rh", batch.means, self.tokens(batch)[batch.rows])

    def forward(self, batch: Batch) -> torch.Tensor:
        """Return the log odds of each flaw of each reply."""
        return self.heads((self.replies(batch) - self.mean) / self.scale)

    @torch.no_grad()
    def settle(self, batches: Sequence[Batch]) -> None:
        """Let the heads read states of mean 0 and deviation 1, as they are before training."""
        states = torch.cat([self.replies(batch) for batch in batches])
        self.mean.copy_(states.mean(0))
        self.scale.copy_(states.std(0) + 1e-3)


def planned(groups: dict[str, list[int]], lengths: Sequence[int], seed: int) -> Iterator[list[int]]:
    """Yield batches of numbers of examples, epoch after epoch, the sources in equal mixture."""
    draw = np.random.default_rng(seed)
    while True:
        order = epoch(groups, draw)
        for start in range(0, len(order), CHUNK):
            part = sorted(order[start : start + CHUNK], key=lambda i: lengths[i])
            cut = _cut(part, lengths)
            yield from (cut[i] for i in draw.permutation(len(cut)))


def _cut(numbers: Sequence[int], lengths: Sequence[int]) -> list[list[int]]:
    batches: list[list[int]] = []
    for number in numbers:
        if batches and (len(batches[-1]) + 1) * lengths[number] <= BATCH:
            batches[-1].append(number)
        else:
            batches.append([number])
    return batches


def loss_of(odds: torch.Tensor, items: Sequence[Item]) -> torch.Tensor:
    """Return the mean loss of the comparisons of items; each item weighs the same."""
    rows, first = [], 0
    for item in items:
        heads = sorted({0, FLAWS.index(item.flaw)})
        weight = 1 / len(heads) / len(item.comparisons)
        rows += [
            (first + good, first + bad, head, weight)
            for good, bad in item.comparisons
            for head in heads
        ]
        first += len(item.readings)
    better, worse, head, weights = zip(*rows, strict=True)
    good, bad, weight = odds[better, head], odds[worse, head], torch.tensor(weights)
    ranked = functional.softplus(good - bad)
    labelled = functional.softplus(good) + functional.softplus(-bad)
    return (weight * (ranked + LABEL_WEIGHT * labelled)).sum() / weight.sum()


def rights(odds: torch.Tensor, items: Sequence[Item]) -> Iterator[tuple[str, bool]]:
    """Yield kind and result of each comparison."""
    first = 0
    for item in items:
        for good, bad in item.comparisons:
            reading, other = item.readings[good], item.readings[bad]
            right = bool(odds[first + bad, 0] > odds[first + good, 0])
            # The same reply after two histories: what is told of it is told from these alone.
            yield (f"{item.kind}{BY_HISTORY}" if reading.reply == other.reply else item.kind), right
        first += len(item.readings)


def read_examples(
    given: argparse.Namespace, tokenizer: Tokenizer
) -> tuple[list[Example], dict[str, list[int]]]:
    """Return the examples that train, and their numbers by source."""
    examples: list[Example] = []
    groups: dict[str, list[int]] = {}
    sources = tuple(filter(None, given.sources.split(",")))
    for name, items in training_items(given.data, sources).items():
        read = (Example(item, tree_of(item.readings, tokenizer)) for item in items)
        short = [example for example in read if len(example.tree.tokens) <= LONG]
        groups[name] = list(range(len(examples), len(examples) + len(short)))
        examples += short
    return examples, groups


class Run:
    """What a checkpoint keeps: the reader, how far it is, and how it learns.

    Args:
        reader: What is trained.
        rate: The highest rate of its layers.
        folder: Where checkpoint and log are.
    """

    def __init__(self, reader: Reader, rate: float, folder: Path) -> None:
        self.reader, self.folder = reader, folder
        self.rates = (rate, HEAD_RATE)
        self.optimizer = torch.optim.AdamW(
            [{"params": reader.layers.parameters()}, {"params": reader.heads.parameters()}],
            weight_decay=DECAY,
        )
        self.step, self.seconds = 0, 0.0
        folder.mkdir(parents=True, exist_ok=True)

    def load(self) -> bool:
        """Go on from the checkpoint, if there is one."""
        path = self.folder / "checkpoint.pt"
        if not path.is_file():
            return False
        kept = torch.load(path)
        self.step, self.seconds = kept["step"], kept["seconds"]
        self.reader.load_state_dict(kept["reader"])
        self.optimizer.load_state_dict(kept["optimizer"])
        return True

    def save(self) -> None:
        """Write the checkpoint."""
        kept = {
            **self.reader.sizes,
            "step": self.step,
            "seconds": self.seconds,
            "reader": self.reader.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }
        torch.save(kept, self.folder / "checkpoint.new")
        (self.folder / "checkpoint.new").replace(self.folder / "checkpoint.pt")

    def learn(self, batch: Batch, items: Sequence[Item], progress: float) -> torch.Tensor:
        """Take one step, and return the odds before it."""
        factor = min(progress / WARM, (1 - progress) / (1 - WARM))
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            group["lr"] = rate * max(factor, 0.01)
        odds = self.reader(batch)
        loss = loss_of(odds, items)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.reader.parameters(), 1.0)
        self.optimizer.step()
        self.step += 1
        self.loss = float(loss.detach())
        return odds.detach()

    def log(self, **facts: object) -> None:
        """Add a line to the log."""
        line = {"seconds": round(self.seconds), "cpu": round(time.process_time()), **facts}
        with (self.folder / "log.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")


def train(given: argparse.Namespace) -> None:
    """Train one reader, or go on with it."""
    torch.manual_seed(given.seed)
    checkpoint = read_gguf(given.model)
    examples, groups = read_examples(given, Tokenizer.from_str(checkpoint.tokenizer))
    lengths = [len(example.tree.tokens) for example in examples]
    batches = planned(groups, lengths, given.seed)
    reader = Reader(checkpoint, given.first, given.last, given.rank)
    run = Run(reader, given.rate, work_folder("sense") / given.run)
    if run.load():
        for _ in range(run.step):
            next(batches)
    else:
        first = planned(groups, lengths, given.seed)
        reader.settle([Batch([examples[i].tree for i in next(first)]) for _ in range(15)])
    run.log(step=run.step, rate=given.rate, rank=given.rank, layers=[given.first, given.last],
            examples={name: len(numbers) for name, numbers in groups.items()})  # fmt: skip
    begun, saved = time.monotonic() - run.seconds, time.monotonic()
    losses: deque[float] = deque(maxlen=60)
    results: dict[str, deque[bool]] = {}
    tokens = 0
    while run.seconds < given.minutes * 60:
        part = next(batches)
        items = [examples[i].item for i in part]
        batch = Batch([examples[i].tree for i in part])
        odds = run.learn(batch, items, run.seconds / given.minutes / 60)
        run.seconds = time.monotonic() - begun
        losses.append(run.loss)
        tokens += sum(lengths[i] for i in part)
        for kind, right in rights(odds, items):
            results.setdefault(kind, deque(maxlen=MEASURED)).append(right)
        if run.step % TELL == 0:
            shares = {kind: (round(float(np.mean(r)), 2), len(r)) for kind, r in results.items()}
            run.log(step=run.step, tokens=tokens, loss=round(float(np.mean(losses)), 4), **shares)
        if time.monotonic() - saved > SAVE:
            run.save()
            saved = time.monotonic()
    run.save()


@torch.no_grad()
def shares_right(reader: Reader, items: Sequence[Item], tokenizer: Tokenizer) -> dict[str, float]:
    """Return by kind how often the better of two replies to one history is told."""
    results: dict[str, list[float]] = {}
    trees = [tree_of(item.readings, tokenizer) for item in items]
    lengths = [len(tree.tokens) for tree in trees]
    for part in _cut(sorted(range(len(items)), key=lambda i: lengths[i]), lengths):
        odds = reader(Batch([trees[i] for i in part]))
        for kind, right in rights(odds, [items[i] for i in part]):
            if not kind.endswith(BY_HISTORY):
                results.setdefault(kind, []).append(right)
                results.setdefault("all", []).append(right)
    return {kind: round(float(np.mean(values)), 3) for kind, values in results.items()}


def measure(given: argparse.Namespace) -> None:
    """Print what a run is worth."""
    checkpoint = read_gguf(given.model)
    tokenizer = Tokenizer.from_str(checkpoint.tokenizer)
    reader = Reader(checkpoint, given.first, given.last, given.rank)
    reader.load_state_dict(torch.load(work_folder("sense") / given.run / "checkpoint.pt")["reader"])
    kept_back = [item for item in written_items() if item.validation]
    # Of a crossed item half is right by construction where the history is not read.
    plain = [item for item in kept_back if len(item.readings) == 2]
    others = [item.readings[0].history for item in (*plain[1:], plain[0])]
    tests = {
        "kept back": kept_back,
        "not crossed": plain,
        "not crossed, without history": [_after(item, ()) for item in plain],
        "not crossed, after another history": list(map(_after, plain, others)),
        "minimal pairs": list(map(_item_of, read_pairs())),
    }
    for name, items in tests.items():
        print(json.dumps({"on": name, "n": len(items), **shares_right(reader, items, tokenizer)}))


def _after(item: Item, history: tuple[str, ...]) -> Item:
    return item._replace(
        readings=tuple(reading._replace(history=history) for reading in item.readings)
    )


def _item_of(pair: MinimalPair) -> Item:
    readings = (Reading(pair.history, pair.good), Reading(pair.history, pair.bad))
    return Item(pair.kind, readings, ((0, 1),), validation=True)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--model", type=Path, required=True, help="the GGUF file of medium-states")
    parser.add_argument("--run", required=True, help="folder of checkpoint and log")
    parser.add_argument("--sources", default=",".join(SOURCES), help="beside the written items")
    parser.add_argument("--first", type=int, default=10, help="layers that are left as they are")
    parser.add_argument("--last", type=int, default=18, help="layers in all")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--minutes", type=float, default=65)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--measure", action="store_true", help="measure a run, and train nothing")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    (measure if given.measure else train)(given)


if __name__ == "__main__":
    main()
