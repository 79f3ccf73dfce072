"""Train published systems on an encoder at hand, and write what they get.

    python -m grice_research.recipes.published.train --data DATA --from FOLDER
    python -m grice_research.recipes.published.train --data DATA --from FOLDER \\
        --systems "cider spans,deam" --seeds 1

FOLDER holds a checkpoint of BERT or RoBERTa, or, for what writes texts, of a decoder alone:
``config.json``, ``*.safetensors``, ``tokenizer.json``. Each training is that of ``grice train
NAME``; its model is left in ``work/SYSTEM-SEED``, and one that was ended goes on where it was. A
line a figure goes to ``work/figures.jsonl``, for ``grice bench published-architectures``; what
stands there is not computed again. All seeds of a system are written: nothing is chosen by these
figures.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from grice.models.conversion.checkpoint import FAMILIES
from grice.models.conversion.huggingface import read_config
from grice.models.models import Models
from grice_research.places import work_folder
from grice_research.recipes.published.systems import SYSTEMS, WRITERS
from grice_research.training.published.recipes import find_recipe
from grice_research.training.published.run import (
    Order,
    PublishedReport,
    train_published,
    working_folder,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice.stats.estimate import Estimate
    from grice_research.recipes.published.systems import System

WORK = work_folder("published")
FIGURES = WORK / "figures.jsonl"
REPORT = "report.json"
"""Beside a model: what its training gave."""


def main() -> None:
    """Read the arguments and train."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--from", dest="base", type=Path, required=True)
    parser.add_argument("--systems", help="default: all that start from such a model")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    alone = read_config(options.base)["model_type"] in FAMILIES
    systems = WRITERS if alone else SYSTEMS
    names = options.systems.split(",") if options.systems else list(systems)
    for seed in range(options.seeds):
        for name in names:
            system = systems[name](data=options.data, folder=WORK / name.replace(" ", "-"))
            run(name, system, options.base, seed)


def run(name: str, system: System, base: Path, seed: int) -> None:
    """Train a system with a seed, measure it and write its figures, unless they stand there."""
    if any((row["system"], row.get("seed")) == (name, seed) for row in written()):
        return
    model = WORK / f"{name.replace(' ', '-')}-{seed}"
    report = trained(system, system.prepare(), base, model, seed)
    about = {
        "system": name,
        "seed": seed,
        "examples": report["examples"],
        "epochs": report["values"]["epochs"],
        "changes": list(system.changes),
        "differs": system.differs,
    }
    with Models(mode="exact", workers=1, cache=None) as models:
        figures = list(system.figures(models, f"file:{model.resolve()}"))
    rows = [about | {"measure": f.measure, **fields(f.estimate)} for f in figures]
    if seed == 0:
        rows += [
            {"system": name, "floor": floor.name, "measure": floor.figure.measure}
            | fields(floor.figure.estimate)
            for floor in system.floors()
        ]
    lines = [json.dumps(row) + "\n" for row in rows]
    with FIGURES.open("a", encoding="utf-8") as log:
        log.writelines(lines)
    print("".join(lines), end="", flush=True)


def trained(system: System, train: Path, base: Path, output: Path, seed: int) -> dict[str, Any]:
    """Return what a training gave, which is gone on with or was finished before."""
    report = working_folder(output) / REPORT
    if report.exists():
        return dict(json.loads(report.read_text("utf-8")))
    changes = [*system.changes, f"seed={seed}"]
    order = Order(find_recipe(system.recipe), [train], base, output, changes=changes)
    given = _stated(train_published(order))
    report.write_text(json.dumps(given), "utf-8")
    shutil.rmtree(working_folder(output) / "checkpoint")
    (working_folder(output) / "state.pt").unlink()
    return given


def _stated(report: PublishedReport) -> dict[str, Any]:
    """Return a report as JSON has it."""
    values = {"epochs": report.values.epochs, "seed": report.values.seed}
    held = {"before": fields(report.before), "after": fields(report.after)}
    losses = [[point.step, point.loss] for point in report.curve]
    return {"examples": report.examples, "values": values, "held_out": held, "curve": losses}


def written() -> Iterator[dict[str, Any]]:
    """Yield the lines that were written."""
    if FIGURES.exists():
        yield from map(json.loads, FIGURES.read_text("utf-8").splitlines())


def fields(estimate: Estimate) -> dict[str, float | int | None]:
    """Return value, interval and number of items."""
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high, "n": estimate.n}


if __name__ == "__main__":
    main()
