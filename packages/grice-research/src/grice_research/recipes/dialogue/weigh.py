"""Weighs relevance against oddness on replies with a known answer, and writes the bundle of both.

    python -m grice_research.recipes.dialogue.weigh --data ../shared/data \\
        [--head FOLDER] [--model FOLDER] [--out FOLDER]

Looked at are held-out conversations alone: true replies against random ones, against damaged ones
and against those of the writer of ``recipes/relevance``, and messages of bots that people called
good or bad. No rated set chooses anything.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from grice.metrics.relevance.pairs import FluencyModel, FluentSettings, PairHead, PairSettings
from grice.models.bundle import open_bundle, write_card
from grice.models.embedded import EmbeddedGenerator
from grice.models.protocols import Pair
from grice.models.registry import read_settings
from grice_research.places import work_folder
from grice_research.recipes.dialogue.train import WORK
from grice_research.recipes.dialogue.trials import Trial, trials, written
from grice_research.recipes.options import parser_of
from grice_research.recipes.relevance.vectors import StoredEncoder, VectorStore

Floats = NDArray[np.float64]

RELEVANCE = work_folder("relevance")
VECTORS = RELEVANCE / "vectors"
TRIED = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
"""Log odds that a nat of oddness may be worth."""
KEPT = 0.005
"""By how much the area of true against random replies may fall."""
RESAMPLES = 500
AREA = "area under the curve"
ON = {
    "random": "true replies against random ones",
    "damaged": "true replies against damaged ones",
    "written": "true replies against a small generator's, as long",
    "bots' messages": "bots' messages that people called good against bad ones",
    "all messages": "messages that people called good against bad ones",
}
COMMAND = "python -m grice_research.recipes.dialogue.weigh --data ../shared/data"


class Task(NamedTuple):
    """Which trials count as good and which as bad."""

    name: str
    rows: NDArray[np.int64]
    labels: Floats


def gathered(data: Path) -> list[Trial]:
    """Return all trials; the writer's replies are beside true ones of as many words."""
    from grice_research.recipes.relevance.train import (
        CORPORA,
        WRITTEN_FILE,
        collect,
        evaluated_texts,
        read_dialogues,
        texts_of,
    )

    gathered_trials = trials(data)
    if not WRITTEN_FILE.exists():
        print("without the writer's replies: run grice_research.recipes.relevance.train write")
        return gathered_trials
    store = VectorStore(VECTORS)
    dialogues = list(read_dialogues(data))
    allowed = texts_of(dialogues, evaluated_texts(data))
    index = {text: place for text, place in store.index.items() if text in allowed}
    plain, _ = collect(dialogues, index, CORPORA)
    held, names = plain.where(plain.held_out), list(store.index)
    histories = [[names[i] for i in row if i >= 0] for row in held.history.tolist()]
    replies = [names[i] for i in held.reply.tolist()]
    lengths = np.array([_length(reply) for reply in replies])
    random = np.random.default_rng(2)
    for trial in written(WRITTEN_FILE, histories):
        like = int(random.choice(np.flatnonzero(lengths == _length(trial.reply))))
        beside = Trial("as long", tuple(histories[like]), replies[like], 1, f"row {like}")
        gathered_trials += [trial, beside]
    return gathered_trials


def _length(text: str) -> int:
    return min(30, len(text.split()))


def tasks_of(every: list[Trial]) -> list[Task]:
    kinds = np.array([trial.kind for trial in every])
    bots = np.array([trial.author == "bot" for trial in every])
    labels = np.array([trial.label for trial in every], np.float64)
    chosen = {
        "random": np.isin(kinds, ("true", "random")),
        "damaged": np.isin(kinds, ("true", "damaged")),
        "written": np.isin(kinds, ("as long", "written")),
        "bots' messages": (kinds == "message") & bots,
        "all messages": kinds == "message",
    }
    return [
        Task(name, np.flatnonzero(rows), labels[rows])
        for name, rows in chosen.items()
        if 0 < labels[rows].sum() < rows.sum()
    ]


def area(task: Task, values: Floats) -> float:
    """Return the area under the curve."""
    from scipy.stats import rankdata

    ranks, high = rankdata(values[task.rows]), task.labels > 0.5
    wins = ranks[high].sum() - high.sum() * (high.sum() + 1) / 2
    return float(wins / (high.sum() * (~high).sum()))


def chosen_weight(fitting: Floats, odd: Floats, tasks: Sequence[Task]) -> float:
    """Return how many log odds a nat of oddness is worth.

    The largest mean of all areas counts, as long as true replies are told from random ones almost
    as well as without: that is what relevance is about.
    """
    without = area(tasks[0], fitting)
    means = {}
    for weight in TRIED:
        areas = [area(task, fitting - weight * odd) for task in tasks]
        if areas[0] >= without - KEPT:
            means[weight] = sum(areas) / len(areas)
        print(json.dumps({"weight": weight, **_named(tasks, areas)}))
    return max(means, key=lambda weight: means[weight])


def _named(tasks: Sequence[Task], values: Sequence[float]) -> dict[str, float]:
    return {task.name: round(value, 4) for task, value in zip(tasks, values, strict=True)}


def interval(
    columns: Sequence[Floats], every: Sequence[Trial], task: Task
) -> dict[str, float | int]:
    """Return an area, less that of a second column if there is one, with its 95 % interval.

    Conversations are drawn again.
    """
    groups = np.array([every[row].group for row in task.rows])
    _, owner = np.unique(groups, return_inverse=True)
    members = [np.flatnonzero(owner == number) for number in range(owner.max() + 1)]
    random = np.random.default_rng(0)
    drawn = []
    for _ in range(RESAMPLES):
        again = np.concatenate([members[i] for i in random.integers(0, len(members), len(members))])
        part = Task(task.name, task.rows[again], task.labels[again])
        drawn.append(_difference(columns, part))
    low, high = np.percentile(drawn, (2.5, 97.5))
    value = _difference(columns, task)
    rounded = {"value": value, "low": float(low), "high": float(high)}
    return {**{name: round(figure, 4) for name, figure in rounded.items()}, "n": len(task.rows)}


def _difference(columns: Sequence[Floats], task: Task) -> float:
    first, *second = (area(task, values) for values in columns)
    return first - sum(second)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--head", type=Path, default=RELEVANCE / "seed0")
    parser.add_argument("--model", type=Path, default=WORK / "seed0/bundle")
    parser.add_argument("--reference", default="bundle:dialogue", help="the model, in the card")
    parser.add_argument("--out", type=Path, default=RELEVANCE / "fluent", help="bundle of both")
    options = parser.parse_args()
    torch.set_num_threads(1)
    every = gathered(options.data)
    texts = {text for trial in every for text in (*trial.history, trial.reply)}
    encoder = StoredEncoder(texts, VectorStore(VECTORS), VectorStore(WORK / "vectors"))
    opened = open_bundle(options.head)
    head = PairHead(opened, read_settings(opened, PairSettings), encoder)
    fitting = np.array(head.classify([Pair(trial.history, trial.reply) for trial in every]))
    fitting = np.clip(fitting, 1e-6, 1 - 1e-6)
    model = open_bundle(options.model)
    oddness = FluencyModel(model, EmbeddedGenerator(model, mode="exact", threads=1))
    odd = np.array(
        [disfluency.value for disfluency in oddness.measure([trial.reply for trial in every])]
    )
    odds = np.log(fitting / (1 - fitting))
    tasks = tasks_of(every)
    weight = chosen_weight(odds, odd, tasks)
    both = odds - weight * odd
    figures = []
    for task in tasks:
        for measure, columns in {
            "relevance": (odds,),
            "oddness": (-odd,),
            "both": (both,),
            "both less relevance": (both, odds),
        }.items():
            figure = {"on": f"held out: {ON[task.name]}", "measure": f"{AREA}, {measure}"}
            figures.append({**figure, **interval(columns, every, task), "command": COMMAND})
            print(json.dumps(figures[-1]))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "weighed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in figures))
    weights = calibrated(both, weight, tasks[0])
    print(weights)
    write(options.head, options.out, weights, options.reference)


SUMMARY = (
    "Does a response answer what was said before it? A small network on frozen vectors, and how "
    "odd a language model finds its words."
)


def write(head: Path, out: Path, weights: FluentSettings, reference: str) -> None:
    """Write the bundle of both: the head's files, and in its card the weights and the model."""
    card = open_bundle(head).card
    out.mkdir(parents=True, exist_ok=True)
    for file in card.files:
        shutil.copy(head / file, out / file)
    facts = {name: getattr(card, name) for name in ("name", "licence", "encoder", "inputs",
             "outputs")}  # fmt: skip
    facts |= {"version": "2", "summary": SUMMARY}
    training = {name: getattr(card.training, name) for name in ("data", "selection", "excluded",
                "command", "seeds")}  # fmt: skip
    settings = {**card.settings, "parts": [f"bundle:{card.encoder}", reference]}
    settings |= msgspec.structs.asdict(weights)
    facts["kind"] = "fluent-pair-head"
    write_card(out, facts, training, settings, files=card.files)


def calibrated(both: Floats, weight: float, task: Task) -> FluentSettings:
    """Scale and shift, so that 0.5 lies between true and random replies."""
    inputs = torch.from_numpy(both[task.rows])
    solution = torch.zeros(2, dtype=torch.double, requires_grad=True)
    optimiser = torch.optim.LBFGS([solution], max_iter=200)

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        value = torch.nn.functional.binary_cross_entropy_with_logits(
            inputs * solution[0] + solution[1], torch.from_numpy(task.labels)
        )
        value.backward()
        return value

    optimiser.step(loss)
    scale, shift = solution.detach().tolist()
    return FluentSettings(round(scale, 4), round(scale * weight, 4), round(shift, 4))


if __name__ == "__main__":
    main()
