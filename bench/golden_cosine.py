"""Does the pipeline give the recomputed cosine correlations to four decimals?

    python bench/golden_cosine.py MODEL_FOLDER [--data ../shared/data] [--sets fed_turn ...]

The golden correlations (``golden/rated_baselines.json`` beside the data) are of sentence vectors
of the published weights; the shipped encoder holds these rounded to int8, so its floors differ in
the third decimal. This command converts the published weights to float32 (extra ``train``), runs
the same metrics with them, and prints both beside the golden figure. Two conventions of the golden
vectors differ from the shipped encoder's and are followed here: of a text over 256 word pieces the
beginning is read, not the end, and an empty text has the vector of its two marks, not zero.
MODEL_FOLDER is that of ``recipes/encoder/build.py``. Exit status 1 if one of the float figures is
off by more than 0.00005.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import ctranslate2
import numpy as np
from ctranslate2.converters import TransformersConverter
from numpy.typing import NDArray
from tokenizers import Tokenizer

from grice.evaluation.columns import score_table
from grice.evaluation.datasets import known_sets, load_rated
from grice.metrics.baselines import cosine_last_turn, mean_adjacent_cosine
from grice.records import Response
from grice.runtime.protocols import Encoder
from grice.scoring import load
from grice.stats import correlation

METRICS = {"turn": "cosine_last_turn", "dialogue": "mean_adjacent_cosine"}
SETS = (
    "fed_turn", "usr_topicalchat", "grade_dailydialog", "grade_empatheticdialogues",
    "dailydialog_gupta", "dailydialog_zhao", "holistic_context", "predictive_engagement_dd",
    "conture_turn", "fed_dialogue", "conture_dialogue",
)  # fmt: skip
KINDS = ("pearson", "spearman", "kendall")
OFF = 5e-5


class Published:
    """Sentence vectors of the published weights, by the recipe of the golden file."""

    def __init__(self, source: Path, folder: Path) -> None:
        TransformersConverter(str(source)).convert(str(folder / "model"), quantization="float32")
        self._engine = ctranslate2.Encoder(str(folder / "model"), compute_type="float32")
        self._tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(256)
        self._known: dict[str, NDArray[np.float32]] = {}

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, shape (texts, 384), that were stored in half precision."""
        for text in dict.fromkeys(texts):
            if text not in self._known:
                ids = self._tokenizer.encode(text).ids
                states = np.array(self._engine.forward_batch([ids]).last_hidden_state)
                vector = states[0].mean(axis=0)
                half = (vector / np.linalg.norm(vector)).astype(np.float16).astype(np.float32)
                self._known[text] = half / np.linalg.norm(half)
        return np.stack([self._known[text] for text in texts])


def published(data: Path, name: str, encoder: Encoder) -> list[float | None]:
    """Return the cosine floor of each item of a set with this encoder."""
    rated = load_rated(known_sets()[name], data)
    talks = [item.conversation for item in rated.items]
    if rated.set.level == "dialogue":
        found = mean_adjacent_cosine.function(talks, encoder=encoder)
    else:
        asked = [
            Response(
                one.id,
                len(one.turns) - 1,
                one.turns[-1].text,
                one.turns[-1].speaker,
                one.turns[:-1],
                tuple(range(len(one.turns) - 1)),
            )
            for one in talks
        ]
        found = cosine_last_turn.function(asked, encoder=encoder)
    return [None if one.status == "abstained" else one.value for one in found]


def shipped(data: Path, name: str) -> list[float | None]:
    """Return the same as ``grice meta-eval`` computes it."""
    rated = load_rated(known_sets()[name], data)
    metric = METRICS[rated.set.level]
    with load(metric) as grader:
        column = score_table(grader, grader.signatures, rated).column(metric, rated)
    return list(column.values)


def figures(
    data: Path, name: str, values: Sequence[float | None]
) -> Iterator[tuple[str, str, float]]:
    """Yield aspect, coefficient and value."""
    rated = load_rated(known_sets()[name], data)
    for aspect in rated.set.all_aspects:
        for kind in KINDS:
            found = correlation(values, rated.human(aspect), kind=kind, interval="analytic")
            yield aspect, kind, found.value


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="folder with model.safetensors and tokenizer.json")
    default = Path(os.environ.get("GRICE_DATA", "../shared/data"))
    parser.add_argument("--data", type=Path, default=default)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    arguments = parser.parse_args()
    path = arguments.data.parent / "golden" / "rated_baselines.json"
    golden = json.loads(path.read_text("utf-8"))["values"]
    print(
        "| set | aspect | coefficient | golden | float | shipped int8 |\n|---|---|---|---|---|---|"
    )
    off = []
    checked = 0
    with tempfile.TemporaryDirectory() as folder:
        encoder = Published(arguments.model, Path(folder))
        for name in arguments.sets:
            floats = figures(arguments.data, name, published(arguments.data, name, encoder))
            rounded = figures(arguments.data, name, shipped(arguments.data, name))
            metric = METRICS[known_sets()[name].level]
            for (aspect, kind, value), (*_, other) in zip(floats, rounded, strict=True):
                expected = golden[name].get(aspect, {}).get(metric, {}).get(kind)
                if expected is None:
                    continue
                checked += 1
                off += [abs(value - expected)] * (abs(value - expected) > OFF)
                print(
                    f"| {name} | {aspect} | {kind} | {expected:.4f} | {value:.4f} | {other:.4f} |"
                )
    print(
        f"{checked} figures, {len(off)} off by more than {OFF}, at most {max(off, default=0):.6f}"
    )
    return 1 if off else 0


if __name__ == "__main__":
    raise SystemExit(main())
