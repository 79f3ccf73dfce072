"""How many graphs with a broken structure a repair makes valid, and with how many edits.

    GRICE_DATA=... python bench/graph_repair.py [--most 10000]

Graph versions that people refused (nearly all of them have a correct structure), perturbed train
graphs with a broken one, and the released predictions on dev.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from grice.evaluation.datasets import data_folder
from grice_tasks.explagraphs.check import RuleSet, check_graph
from grice_tasks.explagraphs.repair import repair_graph
from grice_tasks.explagraphs.samples import Sample, read_predictions, read_samples

Case = tuple[Sample, str]


def rows(path: Path) -> Iterator[dict[str, list[str]]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def cases(folder: Path) -> dict[str, list[Case]]:
    train = {sample.id: sample for sample in read_samples(folder / "train.jsonl.gz")}
    dev = {sample.id: sample for sample in read_samples(folder / "dev.jsonl.gz")}
    cases: dict[str, list[Case]] = {
        "refused graph versions": [
            (train[str(row["id"])], graph)
            for row in rows(folder / "train_rounds.jsonl.gz")
            for graph, verdict in zip(row["graphs"], row["judged"], strict=True)
            if verdict == "failed"
        ],
        "perturbed train graphs": [
            (train[str(row["id"])], graph)
            for row in rows(folder / "train_perturbed.jsonl.gz")
            for graph, kind in row["negatives"]
            if kind == "synthetic_struct_bad"
        ],
    }
    for name in ("pred_maxmargin_dev", "pred_codex_dev"):
        predictions = read_predictions(folder / f"{name}.jsonl.gz")
        cases[name] = [(dev[prediction.id], prediction.graph) for prediction in predictions]
    return cases


def report(name: str, graphs: list[Case], rules: RuleSet, most: int) -> None:
    broken = [
        (sample, graph)
        for sample, graph in graphs
        if not check_graph(graph, sample.belief, sample.argument, rules=rules).ok
    ]
    tried = broken[:: max(1, len(broken) // most)][:most]
    start = time.process_time()
    repairs = [repair_graph(g, sample.belief, sample.argument, rules=rules) for sample, g in tried]
    took = time.process_time() - start
    edits = [len(repair.edits) for repair in repairs if repair.graph is not None]
    shown = f"{statistics.mean(edits):.2f} edits each" if edits else "none"
    print(f"{name}, {rules} rules: {len(broken):,} of {len(graphs):,} broken, {len(tried)} tried, "
          f"{len(edits):,} made valid, {shown}, {1000 * took / max(1, len(tried)):.1f} ms each",
          flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of data sets; default GRICE_DATA")
    parser.add_argument("--most", type=int, default=10_000, help="graphs tried of each sort")
    arguments = parser.parse_args()
    folder = data_folder(arguments.data)
    if folder is None:
        parser.error("name the folder of data sets by --data or GRICE_DATA")
    for name, graphs in cases(folder / "explagraphs").items():
        for rules in ("released", "paper"):
            report(name, graphs, rules, arguments.most)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
