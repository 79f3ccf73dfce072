"""Puts the research heads of each fold where ``grice bench cider`` looks for them.

PYTHONPATH=src:. python -m recipes.triplets.pack_research

All heads of a fold are averaged. The level from which on a triplet counts as entailed is the best
one on the dialogues of the training folds that validate.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from recipes.triplets.data import WORK, load
from recipes.triplets.data import Cider as Kept
from recipes.triplets.links import macro_f1

from grice.triplets.answers import best_spans
from grice.triplets.cider import Cider, load_cider
from grice.triplets.heads import SCALE
from grice.triplets.models import TripletModels, open_folder
from grice.triplets.scores import score_spans
from grice.triplets.structure import locate
from grice.triplets.tasks import CANDIDATES, rerank_spans

WEIGHTS = (0.0, 0.5, 1.0, 1.5)


class Alone(NamedTuple):
    """Stands for the encoder where every vector is at hand."""

    encode: Callable[[list[str]], list[np.ndarray]] | None


def outputs(path: Path, kept: dict[str, np.ndarray], rows: np.ndarray) -> np.ndarray:
    """Return a head's numbers of some pairs, shape ``(pairs, 3, relations)``."""
    with np.load(path) as arrays:
        w = {name: arrays[name].astype(np.float32) for name in arrays.files}
    both = w["head_weight"].shape[0] > kept["context"].shape[1]
    vectors = np.concatenate([kept["context"], kept["alone"]], 1) if both else kept["context"]
    vectors = vectors.astype(np.float32) * SCALE
    head = (vectors @ w["head_weight"] + w["head_bias"])[kept["pairs"][rows, 0]]
    tail = (vectors @ w["tail_weight"] + w["tail_bias"])[kept["pairs"][rows, 1]]
    joined = np.concatenate([head, tail, head * tail, kept["structure"][rows]], axis=1)
    hidden = np.maximum(joined @ w["hidden_weight"] + w["hidden_bias"], 0)
    return (hidden @ w["out_weight"] + w["out_bias"]).reshape(len(rows), 3, -1)


def best_rerank(cider: Cider, kept: Kept, fold: int, models: TripletModels) -> float:
    """Return what links should count for answers, by F1 on validating dialogues."""
    names = sorted({one.dialogue for one in cider.items})
    chosen = np.random.default_rng(7).random(len(names)) < 1 / 8
    held = {n for n, flag in zip(names, chosen, strict=True) if flag and cider.folds[n] != fold}
    asked = [one for one in cider.questions() if one.item.dialogue in held]
    answers = models.answers
    said: dict[float, list[str]] = {weight: [] for weight in WEIGHTS}

    def alone(texts: list[str]) -> list[np.ndarray]:
        return [kept.alone[text] for text in texts]

    for one in asked:
        reading = kept.readings[one.item.dialogue]
        reading = reading._replace(states=reading.states.astype(np.float32))
        head, relation = one.item.head.strip(), one.item.relation
        at, layout = locate(reading.text, head), kept.layouts[one.item.dialogue]
        logits = answers(reading, answers.head_vector(reading, head, at, alone), relation, at)
        best = best_spans(reading, logits, answers.length, count=CANDIDATES)
        for weight in WEIGHTS:
            tried = models._replace(rerank=weight, encoder=Alone(alone))
            place = rerank_spans(reading, layout, head, at, relation, best, tried)
            said[weight].append(reading.text[place[0] : place[1]])
    golds = [[one.valid[0]] for one in asked]
    return max(WEIGHTS, key=lambda weight: score_spans(golds, said[weight]).f1)


def main() -> None:
    data = Path(os.environ.get("GRICE_DATA", "../shared/data"))
    cider, everything = load_cider(data / "cider"), load(data)
    kept = dict(np.load(WORK / "rows.npz"))
    nli = kept["nli"]
    of = kept["dialogue"][kept["pairs"][nli[:, 0], 0]]
    validates = np.random.default_rng(7).random(kept["dialogue"].max() + 1) < 1 / 8
    for fold in range(1, 6):
        out = WORK / f"fold_{fold}"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        found = sorted([*WORK.glob(f"links_{fold}_*.npz"), *WORK.glob(f"links_both_{fold}_*.npz")])
        for place, path in enumerate(found):
            shutil.copy(path, out / f"links_{place}.npz")
        rows = nli[(nli[:, 3] != fold) & validates[of]]
        mean = np.mean([outputs(path, kept, rows[:, 0]) for path in found], axis=0)
        odds = mean[np.arange(len(rows)), 0, rows[:, 1]]
        levels = np.quantile(odds, np.linspace(0.6, 0.95, 36))
        level = max(levels, key=lambda one: macro_f1(rows[:, 2] == 1, odds > one))
        answers = WORK / f"answers_{fold}_0.npz"
        if answers.exists():
            shutil.copy(answers, out / "answers.npz")
        (out / "settings.json").write_text(json.dumps({"level": float(level)}))
        rerank = best_rerank(cider, everything, fold, open_folder(out, Alone(None)))
        (out / "settings.json").write_text(json.dumps({"level": float(level), "rerank": rerank}))
        print(
            fold, len(found), "heads, level", round(float(level), 3), "rerank", rerank, flush=True
        )


if __name__ == "__main__":
    main()
