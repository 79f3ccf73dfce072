"""Speed of grice_tasks.explagraphs against a loop over pairs with the reference libraries.

    GRICE_DATA=... python bench/graphs.py       needs networkx, nltk, rouge-score and scipy

Both score the released max-margin predictions on the 398 dev graphs, gated as in the paper, in
one process and from cold caches; the values are compared before the times are. Times are
processor seconds, the best of the rounds for grice and of one round for the slow loop.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import networkx
import numpy as np
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from rouge_score.rouge_scorer import RougeScorer
from scipy.optimize import linear_sum_assignment

from grice.evaluation.datasets import data_folder
from grice.text.overlap import stem, stems
from grice_tasks.explagraphs import overlap
from grice_tasks.explagraphs.check import check_graph
from grice_tasks.explagraphs.samples import Prediction, Sample, read_predictions, read_samples
from grice_tasks.explagraphs.scores import score_sample

ROUNDS = 5
Values = dict[str, float]


def cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def ours(samples: dict[str, Sample], predictions: list[Prediction]) -> list[Values]:
    for cached in (overlap._bleu_tokens, overlap._bleu_ngrams, overlap._rouge_bigrams, stems, stem):
        cached.cache_clear()
    return [score_sample(samples[prediction.id], prediction).values for prediction in predictions]


def digraph(text: str) -> networkx.DiGraph:
    made = networkx.DiGraph()
    for fact in text[1:-1].split(")("):
        head, relation, tail = fact.split("; ")
        made.add_node(head, label=head)
        made.add_node(tail, label=tail)
        made.add_edge(head, tail, label=relation)
    return made


def same(first: dict[str, str], second: dict[str, str]) -> bool:
    return first["label"] == second["label"]


def matched(likeness: list[list[float]]) -> float:
    table = np.array(likeness)
    rows, columns = linear_sum_assignment(table, maximize=True)
    total = table[rows, columns].sum()
    precision, recall = total / table.shape[0], total / table.shape[1]
    return float(2 * precision * recall / (precision + recall)) if total else 0.0


def reference(samples: dict[str, Sample], predictions: list[Prediction]) -> list[Values]:
    rouge = RougeScorer(["rouge2", "rougeL"], use_stemmer=True)
    smooth = SmoothingFunction().method0
    rows = []
    for prediction in predictions:
        sample = samples[prediction.id]
        # The gate costs either side the same, so that the ratio is of the metrics.
        correct = check_graph(prediction.graph, sample.belief, sample.argument).ok
        values = {"ged": 1.0, "g_bleu": 0.0, "g_rouge_2": 0.0, "g_rouge_l": 0.0,
                  "g_rouge_2_released": 0.0}  # fmt: skip
        rows.append(values)
        if prediction.stance != sample.stance or not correct:
            continue
        mine, gold = digraph(prediction.graph.lower()), digraph(sample.graphs[0].lower())
        edits = networkx.graph_edit_distance(mine, gold, node_match=same, edge_match=same)
        values["ged"] = edits / (len(gold) + gold.number_of_edges() + 17)
        facts = [text.lower()[1:-1].split(")(") for text in (prediction.graph, sample.graphs[0])]
        tokens = [[fact.replace(";", " ;").split() for fact in side] for side in facts]
        values["g_bleu"] = matched([
            [sentence_bleu([other], fact, smoothing_function=smooth) for other in tokens[1]]
            for fact in tokens[0]
        ])  # fmt: skip
        scored = [[rouge.score(other, fact) for other in facts[1]] for fact in facts[0]]
        for name, key, part in (("g_rouge_2", "rouge2", 2), ("g_rouge_l", "rougeL", 2),
                                ("g_rouge_2_released", "rouge2", 0)):  # fmt: skip
            values[name] = matched([[pair[key][part] for pair in row] for row in scored])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of data sets; default GRICE_DATA")
    folder = data_folder(parser.parse_args().data)
    if folder is None:
        parser.error("name the folder of data sets by --data or GRICE_DATA")
    samples = {
        sample.id: sample for sample in read_samples(folder / "explagraphs" / "dev.jsonl.gz")
    }
    predictions = read_predictions(folder / "explagraphs" / "pred_maxmargin_dev.jsonl.gz")
    mine = ours(samples, predictions)
    fast = min(cpu(lambda: ours(samples, predictions)) for _ in range(ROUNDS))
    peers: list[Values] = []
    slow = cpu(lambda: peers.extend(reference(samples, predictions)))
    worst = max(abs(own[name] - other[name])
                for own, other in zip(mine, peers, strict=True) for name in other)  # fmt: skip
    print(f"{len(predictions)} graphs, all metrics: {fast:.3f} s; reference libraries {slow:.2f} s;"
          f" ratio {slow / fast:.0f}; largest difference {worst:.1e}")  # fmt: skip
    for rules in ("released", "paper"):

        def check(rules: str = rules) -> None:
            for sample in samples.values():
                check_graph(sample.graphs[0], sample.belief, sample.argument, rules=rules)  # type: ignore[arg-type]

        each = min(cpu(check) for _ in range(ROUNDS)) / len(samples)
        print(f"check of one graph, {rules} rules: {each * 1e6:.0f} µs")


if __name__ == "__main__":
    main()
