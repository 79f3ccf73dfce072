"""Every score of a system's outputs, in a table with its intervals.

The pair is unordered, yet n-gram scores read it in order: ``…_best`` is the value with each output
in the better of its two orders. BLEU-4, METEOR and CIDEr-D are of the corpus that is scored.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

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
from grice_tasks.situatedgen.examples import halved, swapped
from grice_tasks.situatedgen.models import with_contexts
from grice_tasks.situatedgen.records import read_outputs, read_samples
from grice_tasks.situatedgen.words import match_keywords, sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from grice.stats.inputs import Floats
    from grice_tasks.situatedgen.models import SituatedModels
    from grice_tasks.situatedgen.records import Sample

PLAIN = ("match_first", "match_exclusive", "coverage")
ORDERED = ("bleu4", "rouge2", "rouge_l", "meteor", "cider_d")
MEASURES = (*PLAIN, *(name + end for name in ORDERED for end in ("", "_best")))
RESAMPLES = 1000
Columns: TypeAlias = "dict[str, Floats]"


class Row(msgspec.Struct, frozen=True):
    """A system over all samples, or over those of one kind of context."""

    name: str
    context: str  # ``ALL``, ``GEO`` or ``TEMP``
    measures: dict[str, Estimate]  # 0 to 1, CIDEr-D 0 to 10
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
    columns = _columns(samples, [outputs.get(sample.id, "") for sample in samples])
    for measure, values in (extra or {}).items():
        columns[measure] = np.asarray(values, np.float64)[:, None]
    problems = [problems_of(sample, outputs.get(sample.id)) for sample in samples]
    rows = []
    for context in ("ALL", "GEO", "TEMP"):
        chosen = [
            i for i, sample in enumerate(samples) if context == "ALL" or context in sample.context
        ]
        if chosen:
            part = {measure: column[chosen] for measure, column in columns.items()}
            measures = _estimates(part, [samples[i] for i in chosen], seed)
            counts = Counter(problem for i in chosen for problem in problems[i])
            rows.append(Row(name, context, measures, dict(counts)))
    return rows


def mean_of_samples(values: Sequence[float], samples: Sequence[Sample]) -> Estimate:
    """Return the mean of a value per sample, with an interval over resampled statements."""
    return _estimates({"": np.asarray(values, np.float64)[:, None]}, samples)[""]


def problems_of(sample: Sample, output: str | None) -> list[str]:
    """Return the problems of an output, and of its input."""
    problems = []
    if len({keyword.lower() for keyword in sample.keywords}) < len(sample.keywords):
        problems.append("repeated keyword in the input")
    if not sample.context and any(sample.entities):
        problems.append("no context in the input")
    if output is None:
        return [*problems, "no output"]
    split = sentences(output)
    if len(split) != 2:
        names = {0: "no sentence", 1: "one sentence"}
        problems.append(names.get(len(split), "more than two sentences"))
    missing = match_keywords(output, sample.keywords, sample.keywords_pos).missing
    if missing:
        problems.append("missing keyword")
        read = " ".join(split[:2]).lower()
        if any(keyword.lower() in read for keyword in missing):
            problems.append("keyword inside a longer word")
    return problems


def _columns(samples: Sequence[Sample], written: Sequence[str]) -> Columns:
    """Return per measure what is summed over samples, shape ``(samples, sums)``."""
    first, exclusive = (
        [
            match_keywords(text, sample.keywords, sample.keywords_pos, reading=reading)
            for sample, text in zip(samples, written, strict=True)
        ]
        for reading in ("first", "exclusive")
    )
    columns = {
        "match_first": _column(match.value for match in first),
        "match_exclusive": _column(match.value for match in exclusive),
        "coverage": _column(match.coverage for match in first),
    }
    references = [sample.reference for sample in samples]
    cider = CiderD([[reference] for reference in references])
    counts: dict[str, Callable[[str, str], Floats]] = {
        "bleu4": bleu_counts,
        "rouge2": lambda output, reference: np.array([rouge_2(output, reference)]),
        "rouge_l": lambda output, reference: np.array([rouge_l(output, reference)]),
        "meteor": meteor_counts,
        "cider_d": lambda output, reference: np.array([cider(output, reference)]),
    }
    turned = [_turn(text) for text in written]
    for measure, count in counts.items():
        pairs = list(zip(written, references, strict=True))
        mine = np.stack([count(*pair) for pair in track(pairs, "outputs", len(pairs))])
        other = np.stack(
            [
                mine[i] if text == written[i] else count(text, references[i])
                for i, text in enumerate(track(turned, "outputs", len(turned)))
            ]
        )
        columns[measure] = mine
        better = _value(measure, other) > _value(measure, mine)
        columns[f"{measure}_best"] = np.where(better[:, None], other, mine)
    return columns


def _column(values: Iterable[float]) -> Floats:
    return np.array(list(values), np.float64)[:, None]


def _turn(text: str) -> str:
    """Return a text with its first two sentences exchanged."""
    first, *rest = sentences(text) or [""]
    return " ".join([rest[0], first, *rest[1:]]) if rest else text


def _value(measure: str, sums: Floats) -> Floats:
    """Return a measure for each row of sums."""
    name = measure.removesuffix("_best")
    return bleu_4(sums) if name == "bleu4" else meteor(sums) if name == "meteor" else sums[:, 0]


def _estimates(columns: Columns, samples: Sequence[Sample], seed: int = 0) -> dict[str, Estimate]:
    """Return each measure with an interval over resampled statements.

    The pairs share their statements: a pair weighs the product of its statements' weights
    (Owen's pigeonhole bootstrap, 2007), which does not take a hundred pairs of one statement for
    a hundred items.
    """
    weights, units = _pigeonhole([sample.ids for sample in samples], len(samples), seed)
    method = f"pigeonhole bootstrap of {units} statements, {RESAMPLES} resamples, seed {seed}"
    estimates = {}
    for measure, column in columns.items():
        here = float(_value(measure, column.mean(axis=0, keepdims=True))[0])
        if len(samples) < 2:
            note = "one sample has no interval"
            estimates[measure] = Estimate(
                here, None, None, 0.95, 1, "no interval", units, note=note
            )
            continue
        # Weights sum to one but for rounding: a bound stays on the measure's scale.
        most = SCALE if measure.startswith("cider_d") else 1.0
        draws = _value(measure, weights @ column)
        low, high = np.clip(np.quantile(draws, (0.025, 0.975)), 0.0, most).tolist()
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
    weights = weights[weights.sum(axis=1) > 0]
    return weights / weights.sum(axis=1, keepdims=True), len(names)


def score_files(
    samples_path: Path, outputs_path: Path, *, models: SituatedModels | None = None, seed: int = 0
) -> list[list[Row]]:
    """Score a system's sentences against references, with trivial baselines."""
    samples = read_samples(samples_path)
    systems = {outputs_path.name: {line.id: line.output for line in read_outputs(outputs_path)}}
    if models is not None:
        samples = with_contexts(samples, models.context.tagger)
    systems["halved keywords"] = {sample.id: halved(sample.keywords) for sample in samples}
    if any(map(swapped, samples)):
        systems["swapped reference"] = {
            sample.id: swapped(sample) or sample.reference for sample in samples
        }
    systems["reference"] = {sample.id: sample.reference for sample in samples}
    rows = []
    for name, written in systems.items():
        extra = {}
        if models is not None:
            texts = [written.get(sample.id, "") for sample in samples]
            judged = models.contrast.judge.judge_outputs(samples, texts)
            extra["plausibility"] = [judgement.plausibility for judgement in judged]
        rows.append(score_outputs(samples, written, name=name, extra=extra, seed=seed))
    without = sum(not sample.context for sample in samples)
    if models is not None and without:  # contexts were looked for: of a sample without any too
        problems = {**rows[0][0].problems, "no context in the input": without}
        rows[0][0] = msgspec.structs.replace(rows[0][0], problems=problems)
    return rows
