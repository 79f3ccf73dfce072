"""Helpers of all recipes: options, data files, vectors on disk, training steps, figures."""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import time
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grice.models.embedded import EmbeddedEncoder
from grice.models.folder import write_card
from grice.models.loader import ModelLoader
from grice.models.protocols import Encoder
from grice.stats.estimate import Estimate
from grice_research.places import MODELS, TASK_MODELS

if TYPE_CHECKING:
    import torch

SHARD = 8192  # texts that are encoded before their vectors are written


def parser_of(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser that says what a recipe is for and knows where data sets lie."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n", 1)[0])
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(os.environ.get("GRICE_DATA", "../shared/data")),
        help="folder of the data sets; default GRICE_DATA, or ../shared/data",
    )
    return parser


def exact_encoder() -> EmbeddedEncoder:
    """Open the shipped encoder in float32."""
    return ModelLoader().load("builtin:encoder", EmbeddedEncoder)


def opened(path: Path) -> Any:
    """Open a text file, compressed or not."""
    return (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8")


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a file of JSON lines."""
    with opened(path) as lines:
        yield from map(json.loads, lines)


def table_of(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a tab-separated table with a header."""
    with opened(path) as lines:
        yield from csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)


def write_rows(path: Path, rows: Iterable[object]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def strings_in(value: object) -> Iterator[str]:
    """Yield every string of a record."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings_in(inner)


class VectorStore:
    """Half-precision vectors of distinct texts, in numbered shards of one folder.

    An interrupted run goes on where it stopped.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.index: dict[str, int] = {}
        self.shards: list[NDArray[np.float16]] = []
        while (path := self._path(len(self.shards))).exists():
            self._keep(json.loads(path.with_suffix(".json").read_text("utf-8")), np.load(path))

    def add(self, texts: Iterable[str], encoder: Encoder) -> None:
        """Encode the texts that are not here yet and write them shard by shard."""
        missing = sorted(set(texts) - self.index.keys(), key=lambda text: (len(text), text))
        began = time.monotonic()
        for start in range(0, len(missing), SHARD):
            part = missing[start : start + SHARD]
            vectors = np.stack(encoder.encode(part)).astype(np.float16)
            path = self._path(len(self.shards))
            path.with_suffix(".json").write_text(json.dumps(part), "utf-8")
            np.save(path.with_suffix(".part.npy"), vectors)
            path.with_suffix(".part.npy").rename(path)
            self._keep(part, vectors)
            done, seconds = start + len(part), time.monotonic() - began
            print(f"{done:,} of {len(missing):,} texts, {seconds:.0f} s", flush=True)

    def ids(self, texts: Iterable[str]) -> NDArray[np.int64]:
        return np.array([self.index[text] for text in texts], np.int64)

    def table(self) -> NDArray[np.float32]:
        return np.concatenate(self.shards).astype(np.float32)

    def matrix(self) -> NDArray[np.float16]:
        """Return all vectors, then one row of zeros that stands for a missing turn (index -1)."""
        dimensions = self.shards[0].shape[1]
        return np.concatenate([*self.shards, np.zeros((1, dimensions), np.float16)])

    def _keep(self, texts: list[str], vectors: NDArray[np.float16]) -> None:
        self.index.update({text: len(self.index) + i for i, text in enumerate(texts)})
        self.shards.append(vectors)

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:04d}.npy"


class StoredEncoder:
    """An encoder whose vectors of known texts come from two stores."""

    identity = "stored"

    def __init__(self, texts: set[str], shared: VectorStore, own: VectorStore) -> None:
        if missing := texts - shared.index.keys():
            own.add(missing, exact_encoder())
        self._stores = [(store.index, store.matrix()) for store in (shared, own) if store.shards]

    def encode(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        return [self._vector(text) for text in texts]

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        return [False] * len(texts)

    def _vector(self, text: str) -> NDArray[np.float32]:
        index, vectors = next(store for store in self._stores if text in store[0])
        return vectors[index[text]].astype(np.float32)


class Steps:
    """Steps of AdamW, in one cycle of the rate if their number is given."""

    def __init__(
        self, parameters: Any, rate: float, decay: float, total: int = 0, **cycle: float
    ) -> None:
        import torch

        self._optimiser = torch.optim.AdamW(parameters, lr=rate, weight_decay=decay)
        cycled = torch.optim.lr_scheduler.OneCycleLR
        self._schedule = cycled(self._optimiser, rate, total, **cycle) if total else None

    def __call__(self, loss: torch.Tensor, rate: float | None = None) -> float:
        """Take one step, at a given rate or that of the cycle; return the loss."""
        if rate is not None:
            for group in self._optimiser.param_groups:
                group["lr"] = rate
        self._optimiser.zero_grad()
        loss.backward()
        self._optimiser.step()
        if self._schedule is not None:
            self._schedule.step()
        return loss.item()


def perceptron(
    inputs: int, hidden: int, outputs: int, *, drop: float = 0.0, drop_in: float = 0.0
) -> torch.nn.Sequential:
    """Return a network with one hidden layer, and dropout before each of its two layers."""
    from torch import nn

    first, last = nn.Linear(inputs, hidden), nn.Linear(hidden, outputs)
    return nn.Sequential(nn.Dropout(drop_in), first, nn.ReLU(), nn.Dropout(drop), last)


def layers_of(network: torch.nn.Module) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Return weights (inputs, outputs) and biases of all linear layers, as ``Mlp`` has them."""
    import torch

    return [
        (layer.weight.detach().numpy().T.copy(), layer.bias.detach().numpy().copy())
        for layer in network.modules()
        if isinstance(layer, torch.nn.Linear)
    ]


def state_of(network: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return a copy of the weights."""
    return {name: value.clone() for name, value in network.state_dict().items()}


def auc(values: NDArray[Any], labels: NDArray[Any]) -> float:
    """Return the area under the ROC curve of values by labels of 0 and 1."""
    from scipy.stats import rankdata

    high = np.asarray(labels) > 0.5
    count = int(high.sum())
    wins = rankdata(values)[high].sum() - count * (count + 1) / 2
    return float(wins / (count * (len(high) - count)))


def figure_of(
    on: str, measure: str, estimate: Estimate, command: str, n: int | None = None
) -> dict[str, Any]:
    """Return an estimate as a figure of a card, to three places."""
    bounds = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    rounded = {k: round(v, 3) if isinstance(v, float) else v for k, v in bounds.items()}
    n = estimate.n if n is None else n
    return {"on": on, "measure": measure, **rounded, "n": n, "command": command}


def update_card(
    out: Path,
    name: str = "",
    *,
    files: Iterable[str],
    settings: Mapping[str, Any] | None = None,
    quality: Iterable[Mapping[str, Any]] = (),
    **training: Any,
) -> None:
    """Write the card of a model that was made again.

    Its statements (summary, licence, data and so on) are those of the card that ships, by default
    under the name of the folder; settings, figures and some entries of training are given.
    """
    name = name or out.name
    shipped = next((at / name for at in (MODELS, TASK_MODELS) if (at / name).is_dir()), None)
    if shipped is None:
        raise SystemExit(f"no model {name} ships: write its card by hand first")
    card = tomllib.loads((shipped / "card.toml").read_text("utf-8"))
    facts = {key: value for key, value in card.items() if isinstance(value, str)}
    kept = card.get("settings", {}) if settings is None else settings
    out.mkdir(parents=True, exist_ok=True)
    write_card(out, facts, card["training"] | training, kept, quality, files=files)
