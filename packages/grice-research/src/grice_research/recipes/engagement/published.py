"""Predictive engagement's published network on the encoder at hand, with transfer to 300 pairs.

    python -m grice_research.recipes.engagement.published --data DATA

A network of 64, 32 and 8 units with tanh and dropout reads the mean of both vectors; it learns the
published labels of ConvAI by conversation, then goes on with the 210 pairs of DailyDialog. As the
released code: Adam, 1e-3, weight decay 1e-3, dropout 0.8, batch 100, classes weighed in a batch, at
most 400 epochs, stopped after 50 without a better validation; the transfer, for which no third part
was released, is stopped by its own 210 pairs and never by the 90. Written is a line a figure,
``work/published.jsonl``, with what length and cosine get on the same pairs; research only, for the
300 pairs may train nothing that ships.
"""

from __future__ import annotations

import argparse
import copy
import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import nn

from grice.models.bundle import open_bundle
from grice.models.embedded import EmbeddedEncoder
from grice.stats import correlation
from grice.stats.accuracy import balanced_accuracy
from grice_research.convai import read_chats
from grice_research.cross_validation import transferred
from grice_research.places import work_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TextIO

    from grice.stats import Estimate

    Pairs = Sequence[tuple[str, str]]

WORK = work_folder("engagement")
EPOCHS, PATIENCE, BATCH = 400, 50, 100


class Labelled(NamedTuple):
    """Pairs with labels, and what their interval is clustered by."""

    pairs: list[tuple[str, str]]
    labels: list[int]
    groups: list[str]


class Vectors:
    """Mean of the vectors of query and reply, each text read once."""

    def __init__(self) -> None:
        self._encoder = EmbeddedEncoder(open_bundle("encoder"), mode="fast", threads=1)
        self._known: dict[str, np.ndarray] = {}

    def __call__(self, pairs: Pairs) -> torch.Tensor:
        """Return one row a pair."""
        new = [t for t in dict.fromkeys(t for pair in pairs for t in pair) if t not in self._known]
        self._known.update(zip(new, self._encoder.encode(new), strict=True))
        rows = [(self._known[a] + self._known[b]) / 2 for a, b in pairs]
        # Unit vectors have elements that are too small for tanh layers of the usual beginnings.
        return torch.from_numpy(np.stack(rows).astype(np.float32)) * 384**0.5


def network() -> nn.Module:
    """Return a new network."""
    layers: list[nn.Module] = []
    for before, width in ((384, 64), (64, 32), (32, 8)):
        layers += [nn.Linear(before, width), nn.Tanh(), nn.Dropout(0.8)]
    return nn.Sequential(*layers, nn.Linear(8, 2))


def fit(
    model: nn.Module,
    train: tuple[torch.Tensor, Sequence[int]],
    valid: tuple[torch.Tensor, Sequence[int]],
) -> nn.Module:
    """Fit a network, and return it as it was at its best balanced accuracy on the validation."""
    inputs, labels = train[0], torch.tensor(list(train[1]))
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-3)
    best, kept, waited = -1.0, copy.deepcopy(model.state_dict()), 0
    for _ in range(EPOCHS):
        model.train()
        for rows in torch.randperm(len(inputs)).split(BATCH):
            counts = torch.bincount(labels[rows], minlength=2).clamp(min=1)
            weight = len(rows) / (2.0 * counts)
            loss = nn.functional.cross_entropy(model(inputs[rows]), labels[rows], weight=weight)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        right = np.array(scores(model, valid[0])) >= 0.5
        truth = np.array(valid[1]) == 1
        balanced = (right[truth].mean() + (~right[~truth]).mean()) / 2
        waited = 0 if balanced > best else waited + 1
        if waited == 0:
            best, kept = balanced, copy.deepcopy(model.state_dict())
        elif waited == PATIENCE:
            break
    model.load_state_dict(kept)
    return model


def scores(model: nn.Module, inputs: torch.Tensor) -> list[float]:
    """Return the probability that each pair is engaging."""
    model.eval()
    with torch.inference_mode():
        return [float(value) for value in model(inputs).softmax(dim=1)[:, 1]]


def convai(data: Path) -> dict[str, Labelled]:
    """Return train, test and validation pairs, 60, 20 and 20 % of conversations of each label."""
    chats = read_chats(data)
    read = transferred(chats, "published")
    parts = {name: Labelled([], [], []) for name in ("train", "test", "valid")}
    order: dict[int, list[int]] = {0: [], 1: []}
    for place, label in dict(zip(read.chats.tolist(), read.labels.tolist(), strict=True)).items():
        order[int(label)].append(place)
    part = {
        place: "train" if i < 0.6 * len(places) else "test" if i < 0.8 * len(places) else "valid"
        for places in order.values()
        for i, place in enumerate(places)
    }
    for pair, label, chat in zip(read.pairs, read.labels, read.chats.tolist(), strict=True):
        held = parts[part[chat]]
        held.pairs.append((pair.left[0], pair.right))
        held.labels.append(int(label))
        held.groups.append(str(chat))
    return parts


def rows(path: Path) -> list[dict[str, object]]:
    """Return the records of a gzipped file of JSON lines."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def labelled(records: Sequence[dict[str, object]], group: str = "") -> Labelled:
    """Return records with query, reply and label."""
    pairs = [(str(row["query"]), str(row["reply"])) for row in records]
    groups = [str(row[group][0][0]) if group else str(i) for i, row in enumerate(records)]  # type: ignore[index]
    return Labelled(pairs, [int(str(row["label"])) for row in records], groups)


class Sets(NamedTuple):
    """What is learned from and measured on.

    Attributes:
        parts: Of ConvAI: ``train``, ``test`` and ``valid``.
        study: The 297 pairs that people labelled one by one.
        tune: 210 pairs of DailyDialog.
        held: The 90 that were kept apart.
        rated: Pairs of each rated set with people's mean rating.
    """

    parts: dict[str, Labelled]
    study: Labelled
    tune: Labelled
    held: Labelled
    rated: dict[str, tuple[Pairs, list[float]]]


def read_sets(data: Path) -> Sets:
    """Return the sets of a data folder."""
    folder = data / "predictive_engagement"
    study = labelled(rows(folder / "convai_amt_297.jsonl.gz"), "places")
    fine = rows(folder / "dd_finetune_300.jsonl.gz")
    tune, held = (labelled([r for r in fine if r["split"] == s]) for s in ("train", "valid"))
    return Sets(convai(data), study, tune, held, ratings(rows(folder / "rated_600.jsonl.gz")))


def run(data: Path, seeds: int) -> None:
    """Fit and measure with each seed, then the trivial scores; write a line a figure.

    What stands in the file is not computed again.
    """
    sets, vectors = read_sets(data), Vectors()
    WORK.mkdir(parents=True, exist_ok=True)
    path = WORK / "published.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    written = [json.loads(line) for line in lines]
    with path.open("a", encoding="utf-8") as log:
        for seed in range(seeds):
            if not any(row.get("seed") == seed for row in written):
                figures = fitted(sets, vectors, seed)
                _write(log, [{"on": on, "seed": seed, **fields} for on, fields in figures])
        if not any("floor" in row for row in written):
            _write(log, list(floors(sets, vectors)))


def fitted(sets: Sets, vectors: Vectors, seed: int) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield what a network gets before and after the transfer."""
    torch.manual_seed(seed)
    learned = [sets.parts[name] for name in ("train", "valid")]
    model = fit(network(), *((vectors(part.pairs), part.labels) for part in learned))
    yield "ConvAI test", _fields(accuracy(model, vectors, sets.parts["test"]))
    yield "297 pairs of the study", _fields(accuracy(model, vectors, sets.study))
    apart = "90 held-out DailyDialog pairs"
    yield f"{apart}, not transferred", _fields(accuracy(model, vectors, sets.held))
    own = vectors(sets.tune.pairs), sets.tune.labels
    tuned = fit(model, own, own)
    yield apart, _fields(accuracy(tuned, vectors, sets.held))
    for name, (pairs, people) in sets.rated.items():
        values = scores(tuned, vectors(pairs))
        yield name, _fields(correlation(values, people, kind="spearman"))


def floors(sets: Sets, vectors: Vectors) -> Iterator[dict[str, object]]:
    """Yield what length and cosine get; always the same answer gets 0.5 by definition.

    Where labels are hard the level is the best one of the pairs that were learned from.
    """
    told = {
        "ConvAI test": (sets.parts["train"], sets.parts["test"]),
        "297 pairs of the study": (sets.parts["train"], sets.study),
        "90 held-out DailyDialog pairs": (sets.tune, sets.held),
    }
    for name, rule in rules(vectors).items():
        for on, (learned, measured) in told.items():
            level = best_level(rule(learned.pairs), learned.labels)
            values = [float(value >= level) for value in rule(measured.pairs)]
            yield {"on": on, "floor": name} | _fields(_balanced(values, measured))
        for on, (pairs, people) in sets.rated.items():
            estimate = correlation(rule(pairs), people, kind="spearman")
            yield {"on": on, "floor": name} | _fields(estimate)


def rules(vectors: Vectors) -> dict[str, Callable[[Pairs], list[float]]]:
    """Return the trivial scores of pairs by name: length of the reply, likeness to the query."""

    def cosine(pairs: Pairs) -> list[float]:
        sides = (vectors([(text, text) for text in texts]) for texts in zip(*pairs, strict=True))
        return torch.cosine_similarity(*sides).tolist()

    def length(pairs: Pairs) -> list[float]:
        return [float(np.log1p(len(reply))) for _, reply in pairs]

    return {"log characters": length, "cosine of query and reply": cosine}


def best_level(values: Sequence[float], labels: Sequence[int]) -> float:
    """Return from which value on pairs are best called engaging, by balanced accuracy."""
    order = np.argsort(values, kind="stable")
    truth = np.array(labels)[order]
    below, rest = np.cumsum(1 - truth) / (1 - truth).sum(), np.cumsum(truth) / truth.sum()
    place = int((below - rest).argmax())
    return float(values[order[min(place + 1, len(order) - 1)]])


def ratings(rated: Sequence[dict[str, object]]) -> dict[str, tuple[Pairs, list[float]]]:
    """Return the rated pairs of each set with people's mean rating."""
    sets: dict[str, tuple[Pairs, list[float]]] = {}
    for name in ("generated", "human", "all"):
        chosen = [row for row in rated if name in ("all", row["set"])]
        pairs = [(str(row["query"]), str(row["reply"])) for row in chosen]
        people = [float(np.mean(row["ratings"])) for row in chosen]  # type: ignore[arg-type]
        sets[f"{name} replies"] = pairs, people
    return sets


def accuracy(model: nn.Module, vectors: Vectors, data: Labelled) -> Estimate:
    """Return balanced accuracy at 0.5, clustered by group."""
    return _balanced(scores(model, vectors(data.pairs)), data)


def _balanced(values: Sequence[float], data: Labelled) -> Estimate:
    truth = [float(label) for label in data.labels]
    return balanced_accuracy(values, truth, groups=data.groups)


def _write(log: TextIO, records: Sequence[dict[str, object]]) -> None:
    lines = [json.dumps(record) + "\n" for record in records]
    log.writelines(lines)
    log.flush()
    print("".join(lines), end="", flush=True)


def _fields(estimate: Estimate) -> dict[str, object]:
    return {name: getattr(estimate, name) for name in ("value", "low", "high", "n")}


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    run(options.data, options.seeds)


if __name__ == "__main__":
    main()
