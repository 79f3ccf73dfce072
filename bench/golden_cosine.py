"""Does the pipeline give the recomputed cosine correlations to four decimals?

    python bench/golden_cosine.py MODEL_FOLDER [--data ../shared/data] [--sets fed_turn ...]

The golden correlations (``golden/rated_baselines.json`` beside the data) are of sentence vectors
of the published weights; the shipped encoder holds these rounded to int8, so its floors differ in
the third decimal. This command converts the published weights to float32 (extra ``train``), runs
the shipped metrics with them and prints a line for each golden figure; likeness to references and
to earlier turns of the system, which no shipped metric is, it computes itself. Two conventions of
the golden vectors differ from the shipped encoder's and are followed here: of a text over 256 word
pieces the beginning is read, not the end, and an empty text has the vector of its two marks, not
zero.

A figure that differs is judged by what rounding alone can do to it: replies that only repeat the
turn before them all have the cosine 1, and the last bit of single precision puts such ties, and
cosines that lie within 0.00001, into another order. The range of such orders is drawn (``DRAWS``
times) and printed beside the difference. MODEL_FOLDER is that of the recipe ``encoder.build``.
Exit status 1 if a golden figure lies outside what rounding explains.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import ctranslate2
import numpy as np
from ctranslate2.converters import TransformersConverter
from numpy.typing import NDArray
from tokenizers import Tokenizer

from grice.evaluation.datasets import Rated, known_sets, load_rated
from grice.metrics.baselines import cosine_last_turn, mean_adjacent_cosine, mean_cosine_to_user
from grice.models.protocols import Encoder
from grice.records import Conversation, Judgement, Response
from grice.stats import correlation
from grice.stats.weighted import Kind

Golden: TypeAlias = dict[str, dict[str, dict[str, float]]]
"""Coefficients by aspect and feature."""
SETS = (
    "fed_turn", "usr_topicalchat", "grade_dailydialog", "grade_empatheticdialogues",
    "dailydialog_gupta", "dailydialog_zhao", "holistic_context", "predictive_engagement_dd",
    "conture_turn", "fed_dialogue", "conture_dialogue", "dstc9_dialogue",
)  # fmt: skip
KINDS: tuple[Kind, ...] = ("pearson", "spearman", "kendall")
OFF = 5e-5
NOISE = 1e-5
"""Half precision keeps components of 0.03 to 0.06 to within 0.000015, evenly spread; over the 384
components of two unit vectors a cosine then moves by about 0.00001."""
DRAWS = 200
BATCH = 16


class Published:
    """Sentence vectors of the published weights, by the recipe of the golden file."""

    def __init__(self, source: Path, folder: Path) -> None:
        TransformersConverter(str(source)).convert(str(folder / "model"), quantization="float32")
        self._engine = ctranslate2.Encoder(
            str(folder / "model"), compute_type="float32", intra_threads=1
        )
        self._tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(256)
        self._known: dict[str, NDArray[np.float32]] = {}

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, shape (texts, 384), that were stored in half precision."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        by_length: dict[int, list[tuple[str, list[int]]]] = defaultdict(list)
        for text, read in zip(new, self._tokenizer.encode_batch(new), strict=True):
            by_length[len(read.ids)].append((text, read.ids))
        # Texts of one length need no padding, so a batch computes what each alone would.
        for group in by_length.values():
            for start in range(0, len(group), BATCH):
                self._fill(group[start : start + BATCH])
        return np.stack([self._known[text] for text in texts])

    def _fill(self, batch: Sequence[tuple[str, list[int]]]) -> None:
        states = np.array(self._engine.forward_batch([ids for _, ids in batch]).last_hidden_state)
        for (text, _), vector in zip(batch, states.mean(axis=1), strict=True):
            half = (vector / np.linalg.norm(vector)).astype(np.float16).astype(np.float32)
            self._known[text] = half / np.linalg.norm(half)


class Figure(NamedTuple):
    """A golden figure beside ours."""

    aspect: str
    feature: str
    kind: Kind
    golden: float
    ours: float
    low: float
    high: float

    @property
    def same(self) -> bool:
        """Whether both are printed alike with four decimals."""
        return f"{self.ours:.4f}" == f"{self.golden:.4f}"

    @property
    def explained(self) -> bool:
        """Whether the golden figure is one that some order of near ties gives."""
        return self.low - OFF <= self.golden <= self.high + OFF

    def __str__(self) -> str:
        start = f"{self.aspect} {self.feature} {self.kind}: golden {self.golden:.4f}"
        if self.same:
            return f"{start}, same to four decimals"
        why = "rounding alone gives" if self.explained else "UNEXPLAINED, rounding alone gives"
        return (
            f"{start}, here {self.ours:.4f}: off by {self.ours - self.golden:+.6f} "
            f"({why} {self.low:.5f} to {self.high:.5f})"
        )


def columns(rated: Rated, encoder: Encoder) -> Iterator[tuple[str, list[float | None]]]:
    """Yield the golden name of each cosine of a set, and its value of each item."""
    talks = [item.conversation for item in rated.items]
    if rated.set.level == "turn":
        judgements = cosine_last_turn.function([_reply(talk) for talk in talks], encoder=encoder)
        yield "cosine_last_turn", _values(judgements)
        yield "max_cosine_reference", [_to_references(talk, encoder) for talk in talks]
        return
    judgements = mean_adjacent_cosine.function(talks, encoder=encoder)
    yield "mean_adjacent_cosine", _values(judgements)
    judgements = mean_cosine_to_user.function(talks, encoder=encoder)
    yield "mean_cosine_system_to_previous_user", _values(judgements)
    yield "mean_max_cosine_to_earlier_system_turn", [_to_earlier(talk, encoder) for talk in talks]


def _to_references(talk: Conversation, encoder: Encoder) -> float | None:
    reply = talk.turns[-1]
    if not reply.references:
        return None
    vectors = encoder.encode([reply.text, *reply.references])
    return float((vectors[1:] @ vectors[0]).max())


def _to_earlier(talk: Conversation, encoder: Encoder) -> float | None:
    """Return how much the system repeats itself; None if it speaks less than twice."""
    texts = [turn.text for turn in talk.turns if turn.speaker == "system"]
    if len(texts) < 2:
        return None
    vectors = encoder.encode(texts)
    cosines = vectors @ vectors.T
    return float(np.mean([cosines[i, :i].max() for i in range(1, len(texts))]))


def _reply(talk: Conversation) -> Response:
    *before, reply = talk.turns
    seen = tuple(range(len(before)))
    return Response(talk.id, len(before), reply.text, reply.speaker, tuple(before), seen)


def _values(judgements: Sequence[Judgement]) -> list[float | None]:
    return [
        None if judgement.status == "abstained" else judgement.value for judgement in judgements
    ]


def figures(rated: Rated, golden: Golden, encoder: Encoder) -> Iterator[Figure]:
    """Yield each golden figure of a set beside ours."""
    for feature, values in columns(rated, encoder):
        for aspect in rated.set.all_aspects:
            for kind in KINDS:
                expected = golden.get(aspect, {}).get(feature, {}).get(kind)
                if expected is not None:
                    human = rated.human(aspect)
                    ours = _coefficient(values, human, kind)
                    figure = Figure(aspect, feature, kind, expected, ours, ours, ours)
                    yield figure if figure.same else _explained(figure, values, human)


def _coefficient(
    values: Sequence[float | None], human: Sequence[float | None], kind: Kind
) -> float:
    return correlation(values, human, kind=kind, interval="analytic").value


def _explained(
    figure: Figure, values: Sequence[float | None], human: Sequence[float | None]
) -> Figure:
    """Return the figure with the least and greatest coefficient that rounding of cosines gives."""
    draws = np.random.default_rng(0)
    coefficients = []
    for _ in range(DRAWS):
        noise = draws.uniform(-NOISE, NOISE, len(values))
        moved = [None if a is None else a + b for a, b in zip(values, noise, strict=True)]
        coefficients.append(_coefficient(moved, human, figure.kind))
    return figure._replace(low=min(coefficients), high=max(coefficients))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="folder with model.safetensors and tokenizer.json")
    default = Path(os.environ.get("GRICE_DATA", "../shared/data"))
    parser.add_argument("--data", type=Path, default=default)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    arguments = parser.parse_args()
    path = arguments.data.parent / "golden" / "rated_baselines.json"
    golden = json.loads(path.read_text("utf-8"))["values"]
    done: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        encoder = Published(arguments.model, Path(folder))
        for name in arguments.sets:
            rated = load_rated(known_sets()[name], arguments.data)
            for figure in figures(rated, golden[name], encoder):
                done.append(figure)
                print(f"{name} {figure}", flush=True)
    same = sum(figure.same for figure in done)
    unexplained = sum(not figure.explained for figure in done)
    print(f"{len(done)} figures: {same} same to four decimals, {len(done) - same - unexplained} "
          f"differ as rounding does, {unexplained} unexplained")  # fmt: skip
    return 1 if unexplained else 0


if __name__ == "__main__":
    raise SystemExit(main())
