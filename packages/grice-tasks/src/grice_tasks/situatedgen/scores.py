"""Every score of a system's outputs, in a table with its intervals.

The pair is unordered, yet n-gram scores read it in order: ``…_best`` is the value with each output
in the better of its two orders. BLEU-4, METEOR and CIDEr-D are of the corpus that is scored.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
import numpy as np

from grice.errors import InputError
from grice.progress import track
from grice.stats.estimate import Estimate
from grice_tasks.overlap import rouge_2
from grice_tasks.situatedgen.captions import (
    SCALE,
    CiderD,
    bleu_4,
    bleu_counts,
    meteor,
    meteor_counts,
    rouge_l,
)
from grice_tasks.situatedgen.words import Match, match_keywords, sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from grice.stats.inputs import Floats
    from grice_tasks.situatedgen.records import Sample

Problem: TypeAlias = Literal[
    "no output",
    "no sentence",
    "one sentence",
    "more than two sentences",
    "missing keyword",
    "keyword inside a longer word",
    "repeated keyword in the input",
    "no context in the input",
]

PLAIN = ("match_first", "match_exclusive", "coverage")
ORDERED = ("bleu4", "rouge2", "rouge_l", "meteor", "cider_d")
MEASURES = (*PLAIN, *(name + end for name in ORDERED for end in ("", "_best")))
RESAMPLES = 1000
Columns: TypeAlias = "dict[str, Floats]"
Counts: TypeAlias = "Callable[[str, str], Floats]"
"""Gives what a measure sums over a corpus of an output and its reference."""


class Row(msgspec.Struct, frozen=True):
    """A system over all samples, or over those of one kind of context."""

    name: str
    context: str  # ``ALL``, ``GEO`` or ``TEMP``
    measures: dict[str, Estimate]  # each measure with its 95 % interval; 0 to 1, CIDEr-D 0 to 10
    problems: dict[str, int]


def score_outputs(
    samples: Sequence[Sample],
    outputs: Mapping[str, str],
    *,
    name: str,
    extra: Mapping[str, Sequence[float]] | None = None,
    seed: int = 0,
) -> list[Row]:
    """Return a row over all samples, then one for each kind of context that samples name.

    A sample without an output counts as an empty one, so that leaving out hard ones earns nothing.
    """
    unknown = outputs.keys() - {sample.id for sample in samples}
    if unknown:
        raise InputError(f"outputs of no sample: {', '.join(sorted(unknown)[:5])}")
    written = [outputs.get(sample.id, "") for sample in samples]
    columns = _columns(samples, written)
    for measure, values in (extra or {}).items():
        columns[measure] = np.asarray(values, np.float64)[:, None]
    problems = [problems_of(sample, outputs.get(sample.id)) for sample in samples]
    rows = []
    for context in ("ALL", "GEO", "TEMP"):
        chosen = [
            i for i, sample in enumerate(samples) if context == "ALL" or context in sample.context
        ]
        if not chosen:
            continue
        part = {measure: column[chosen] for measure, column in columns.items()}
        measures = _estimates(part, [samples[i] for i in chosen], seed)
        counts: Counter[str] = Counter(problem for i in chosen for problem in problems[i])
        rows.append(Row(name, context, measures, dict(counts)))
    return rows


def mean_of_samples(values: Sequence[float], samples: Sequence[Sample]) -> Estimate:
    """Return the mean of a value per sample, with an interval over resampled statements."""
    return _estimates({"": np.asarray(values, np.float64)[:, None]}, samples)[""]


def problems_of(sample: Sample, output: str | None) -> tuple[Problem, ...]:
    """Return what is wrong with an output, and with its input."""
    problems: list[Problem] = []
    folded = [keyword.lower() for keyword in sample.keywords]
    if len(set(folded)) < len(folded):
        problems.append("repeated keyword in the input")
    if not sample.context and any(sample.entities):
        problems.append("no context in the input")
    if output is None:
        return (*problems, "no output")
    split = sentences(output)
    count = len(split)
    if count != 2:
        problems.append(
            "no sentence"
            if not count
            else "one sentence"
            if count == 1
            else "more than two sentences"
        )
    missing = match_keywords(output, sample.keywords, sample.keywords_pos).missing
    if missing:
        problems.append("missing keyword")
        read = " ".join(split[:2]).lower()
        if any(keyword.lower() in read for keyword in missing):
            problems.append("keyword inside a longer word")
    return tuple(problems)


def _columns(samples: Sequence[Sample], written: Sequence[str]) -> Columns:
    """Return per measure what is summed over samples, shape ``(samples, sums)``."""
    columns: Columns = {}
    matches: dict[str, list[Match]] = {}
    for reading in ("first", "exclusive"):
        matches[reading] = [
            match_keywords(text, sample.keywords, sample.keywords_pos, reading=reading)
            for sample, text in zip(samples, written, strict=True)
        ]
        columns[f"match_{reading}"] = _column(match.value for match in matches[reading])
    columns["coverage"] = _column(match.coverage for match in matches["first"])
    references = [sample.reference for sample in samples]
    counts = {
        **_COUNTS,
        "meteor": meteor_counts,
        "cider_d": _alone(CiderD([[reference] for reference in references])),
    }
    turned = [_turn(text) for text in written]
    for measure in ORDERED:
        count = counts[measure]
        value = _OF_SUMS.get(measure, _mean)
        pairs = list(zip(written, references, strict=True))
        mine = np.stack([count(*pair) for pair in track(pairs, "outputs", len(pairs))])
        other = np.stack(
            [
                mine[i] if text == written[i] else count(text, references[i])
                for i, text in enumerate(track(turned, "outputs", len(turned)))
            ]
        )
        columns[measure] = mine
        better = value(other) > value(mine)
        columns[f"{measure}_best"] = np.where(better[:, None], other, mine)
    return columns


def _column(values: Iterable[float]) -> Floats:
    return np.array(list(values), np.float64)[:, None]


def _turn(text: str) -> str:
    """Return a text with its first two sentences exchanged."""
    first, *rest = sentences(text) or [""]
    return " ".join([rest[0], first, *rest[1:]]) if rest else text


def _mean(sums: Floats) -> Floats:
    return np.asarray(sums[:, 0])


def _alone(score: Callable[[str, str], float]) -> Counts:
    """Return a score of one output as a row of one sum."""

    def count(output: str, reference: str) -> Floats:
        return np.array([score(output, reference)], np.float64)

    return count


_COUNTS: dict[str, Counts] = {
    "bleu4": bleu_counts,
    "rouge2": _alone(rouge_2),
    "rouge_l": _alone(rouge_l),
}
_OF_SUMS: dict[str, Callable[[Floats], Floats]] = {"bleu4": bleu_4, "meteor": meteor}


def _estimates(columns: Columns, samples: Sequence[Sample], seed: int = 0) -> dict[str, Estimate]:
    """Return each measure with an interval over resampled statements.

    The pairs share their statements: a pair weighs the product of its statements' weights
    (Owen's pigeonhole bootstrap, 2007), which does not take a hundred pairs of one statement for
    a hundred items.
    """
    weights, units = _pigeonhole([sample.ids for sample in samples], len(samples), seed)
    estimates = {}
    for measure, column in columns.items():
        value = _OF_SUMS.get(measure.removesuffix("_best"), _mean)
        here = float(value(column.mean(axis=0, keepdims=True))[0])
        if len(samples) < 2:
            note = "one sample has no interval"
            estimates[measure] = Estimate(
                here, None, None, 0.95, 1, "no interval", units, note=note
            )
            continue
        draws = value(weights @ column)
        # Weights sum to one but for rounding: a bound stays on the measure's scale.
        most = SCALE if measure.startswith("cider_d") else 1.0
        low, high = (
            min(most, max(0.0, float(bound))) for bound in np.quantile(draws, (0.025, 0.975))
        )
        method = f"pigeonhole bootstrap of {units} statements, {RESAMPLES} resamples, seed {seed}"
        estimates[measure] = Estimate(here, low, high, 0.95, len(samples), method, units)
    return estimates


def _pigeonhole(ids: Sequence[tuple[str, str]], n: int, seed: int) -> tuple[Floats, int]:
    """Return normed weights of shape ``(resamples, samples)`` and the number of statements."""
    rng = np.random.default_rng(seed)
    names = {
        name: i for i, name in enumerate(sorted({statement for pair in ids for statement in pair}))
    }
    if len(names) < 2:  # no statement is named: the pairs themselves are drawn
        drawn = rng.multinomial(n, np.full(n, 1 / n), RESAMPLES).astype(np.float64)
        return drawn / n, n
    counts = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), RESAMPLES)
    first, second = (np.array([names[pair[side]] for pair in ids]) for side in (0, 1))
    weights = (counts[:, first] * counts[:, second]).astype(np.float64)
    drawn = weights.sum(axis=1) > 0
    weights = weights[drawn]
    return weights / weights.sum(axis=1, keepdims=True), len(names)
