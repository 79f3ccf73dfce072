"""SituatedGen: contrasting sentences of place and time, on the test pairs that were released.

The paper's test set has 2,012 pairs, the released one fewer, of a later version: no figure compares
one to one with a printed one, and the verdicts say no more than which is higher.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import msgspec
import numpy as np

from grice.errors import InputError, ModelFolderError
from grice.stats import mean
from grice.stats.estimate import Estimate
from grice_research.benches._turns import marked_lines
from grice_research.context import BenchContext, data_digest
from grice_research.figures import Figure, Kind, figure
from grice_research.published import printed
from grice_tasks.situatedgen.captions import rouge_l
from grice_tasks.situatedgen.examples import halved, swapped
from grice_tasks.situatedgen.models import ContextModels, ContrastHead, ContrastModels
from grice_tasks.situatedgen.records import (
    CONTEXTS,
    Entity,
    Question,
    Sample,
    context_of,
    read_samples,
)
from grice_tasks.situatedgen.scores import mean_of_samples, score_outputs
from grice_tasks.situatedgen.statements import to_statements

SOURCES = ("creak", "strategyqa", "commonsenseqa", "arc", "openbookqa")
NERS = re.compile(r"(.+?):([A-Z_]{3,})(?:, |$)")
ARTICLE = re.compile(r"^(?:the|an?) ")


class Read(NamedTuple):
    """The entities of a statement with their labels: what a tagger found, what was released."""

    tagged: Sequence[tuple[str, str]]
    gold: Sequence[tuple[str, str]]


def statements_of(folder: Path, source: str) -> list[dict[str, Any]]:
    """Return the released statements of a source."""
    return list(marked_lines(folder, f"statements_{source}.jsonl.gz"))


def named_entities(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the released entities of a statement with their labels, those of OntoNotes."""
    return NERS.findall(str(row["NERs"]))


def entities_in(folder: Path) -> dict[str, tuple[Entity, ...]]:
    """Return the released context entities of each statement."""
    known = {}
    for row in chain(*(statements_of(folder, name) for name in SOURCES)):
        entities = named_entities(row)
        known[row["id"]] = tuple(Entity(*entity) for entity in entities if entity[1] in CONTEXTS)
    return known


def with_entities(sample: Sample, known: Mapping[str, tuple[Entity, ...]]) -> Sample:
    """Return a sample with the context entities of its statements (:func:`entities_in`)."""
    first, second = (known[name] for name in sample.ids)
    kinds = context_of(first) & context_of(second)
    return msgspec.structs.replace(sample, entities=(first, second), context=tuple(sorted(kinds)))


def context_f1(read: Sequence[Read]) -> tuple[Estimate, Estimate]:
    """Return the F1 of context entities: by label as spelt, and by kind without the article."""
    figures = []
    for form in (_spelt, bare):
        right, both = [], []
        for mine, other in read:
            a, b = (
                {form(*entity) for entity in side if entity[1] in CONTEXTS}
                for side in (mine, other)
            )
            right.append(2.0 * len(a & b))
            both.append(float(len(a) + len(b)))
        figures.append(ratio(right, both))
    return figures[0], figures[1]


def _spelt(text: str, label: str) -> tuple[str, str]:
    return text.lower(), label


def bare(text: str, label: str) -> tuple[str, str]:
    """Return letters and digits of a context entity without its article, and its kind."""
    return re.sub(r"[^a-z0-9]", "", ARTICLE.sub("", text.lower())), CONTEXTS[label]


def ratio(above: Sequence[float], below: Sequence[float]) -> Estimate:
    """Return a ratio of sums with its bootstrap interval over statements."""
    rng = np.random.default_rng(0)
    over, under = np.array(above), np.array(below)
    weights = rng.multinomial(len(over), np.full(len(over), 1 / len(over)), 1000)
    draws = (weights @ over) / (weights @ under)
    low, high = (float(bound) for bound in np.quantile(draws, (0.025, 0.975)))
    method = "F1, percentile bootstrap of statements, 1000 resamples, seed 0"
    return Estimate(float(over.sum() / under.sum()), low, high, 0.95, len(over), method)


def equal_up_to(mine: str, other: str) -> bool:
    """Say whether two statements are the same up to case and punctuation."""
    return _bare(mine) == _bare(other)


def _bare(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", re.sub(r"-[lr][rcs]b-", "", text.lower()))


TITLE = "Contrasting sentences of place and time (SituatedGen)"
PAPER = (
    "Zhang and Wan, SituatedGen: Incorporating Geographical and Temporal Contexts into Generative "
    "Commonsense Reasoning, NeurIPS 2023"
)
PRINTED = {"match_first": "MATCH", "match_exclusive": "MATCH", "bleu4": "BLEU-4",
           "rouge2": "ROUGE-2", "meteor": "METEOR", "cider_d": "CIDEr"}  # fmt: skip
"""Column of table 3 that a measure is set beside."""
BESIDE = "T5-large"
SCALE = {"cider_d": 0.01}  # of the printed figures that are not on a scale of 0 to 1


def measure(context: BenchContext) -> Iterator[Figure]:
    """Yield trivial baselines, the reference, the embedded baseline, the steps of the pipeline."""
    samples = read_samples(context.folder / "situatedgen" / "test.jsonl.gz")
    pairs = printed("situatedgen", "table 2")["test_2022"]["situatedgen:pairs", "count"]
    version = (
        f"the released test split has {len(samples):,} of the paper's {pairs:,.0f} pairs, of "
        "a later version: not comparable one to one"
    )
    for row in _rows_of(context, samples):
        yield msgspec.structs.replace(row, why="; ".join(filter(None, (row.why, version))))


def _rows_of(context: BenchContext, samples: Sequence[Sample]) -> Iterator[Figure]:
    folder = context.folder / "situatedgen"
    models = context.models()
    try:
        context_models = cast("ContextModels", models.load("builtin:context"))
        contrast = cast("ContrastModels", models.load("builtin:situated"))
    except ModelFolderError as error:
        raise InputError(str(error)) from error
    known = entities_in(folder)
    samples = [with_entities(sample, known) for sample in samples]
    data = data_digest(context.folder, "situatedgen")
    fingerprint = f"{models.fingerprint('builtin:situated')}|on:{data}"
    writer = contrast.recomposer(context_models.tagger)
    keywords = [sample.keywords for sample in samples]
    written: dict[str, tuple[Kind, list[str]]] = {
        "reference": ("ours", [sample.reference for sample in samples]),
        "halved keywords": ("baseline", [halved(words) for words in keywords]),
        "swapped reference": ("baseline", [swapped(each) or each.reference for each in samples]),
        "embedded": ("ours", writer.generate(keywords)),
    }
    for name, (kind, texts) in written.items():
        yield from _system(name, kind, samples, texts, contrast.judge, fingerprint)
    yield from _swaps(samples, contrast.judge, fingerprint)
    yield from _steps(folder, context_models, f"{models.fingerprint('builtin:context')}|on:{data}")


def _system(
    name: str,
    kind: Kind,
    samples: Sequence[Sample],
    texts: Sequence[str],
    judge: ContrastHead,
    fingerprint: str,
) -> Iterator[Figure]:
    judgements = judge.judge_outputs(samples, texts)
    extra = {
        "plausibility": [judgement.plausibility for judgement in judgements],
        "contrast": [judgement.contrast or 0.0 for judgement in judgements],
        "fluency": [judgement.fluency for judgement in judgements],
    }
    cells = printed("situatedgen", "table 3")[BESIDE] if name == "embedded" else {}
    stated = {measure: value for (_, measure), value in cells.items()}
    outputs = {sample.id: text for sample, text in zip(samples, texts, strict=True)}
    (whole, *_) = score_outputs(samples, outputs, name=name, extra=extra)
    for measure_name, estimate in whole.measures.items():
        if measure_name.endswith("_best"):
            continue
        beside = stated.get(PRINTED.get(measure_name, ""))
        yield figure(
            row=name,
            measure=measure_name,
            estimate=_tenth(estimate) if measure_name == "cider_d" else estimate,
            kind=kind,
            published=beside and round(beside * SCALE.get(measure_name, 1.0), 4),
            beside=BESIDE if beside is not None else "",
            signature=fingerprint if measure_name in extra or name == "embedded" else "",
        )


def _tenth(estimate: Estimate) -> Estimate:
    """Return CIDEr-D on a scale of 0 to 1."""
    low, high = (None if bound is None else bound / 10 for bound in (estimate.low, estimate.high))
    return msgspec.structs.replace(estimate, value=estimate.value / 10, low=low, high=high)


def _swaps(samples: Sequence[Sample], judge: ContrastHead, fingerprint: str) -> Iterator[Figure]:
    usable = [(sample, text) for sample in samples if (text := swapped(sample)) is not None]
    whole = [sample for sample, _ in usable]
    own = judge.judge_outputs(whole, [sample.reference for sample in whole])
    other = judge.judge_outputs(whole, [text for _, text in usable])
    pairs = zip(own, other, strict=True)
    hits = [float((mine.contrast or 0.0) > (theirs.contrast or 0.0)) for mine, theirs in pairs]
    stated = partial(figure, why="0.5 is chance", signature=fingerprint)
    yield stated("plausibility", "swap_detection", mean_of_samples(hits, whole), "ours")


def _steps(folder: Path, context_models: ContextModels, fingerprint: str) -> Iterator[Figure]:
    step = partial(figure, "pipeline", kind="ours", signature=fingerprint)
    rows = {name: statements_of(folder, name) for name in SOURCES}
    turned: dict[str, str] = {}
    for name in ("strategyqa", "commonsenseqa", "arc"):
        form: Literal["yes_no", "choice"] = "yes_no" if name == "strategyqa" else "choice"
        asked = [Question(r["id"], r["question"], r["answer"], form) for r in rows[name]]
        statements = to_statements(asked, context_models.clauses)
        turned |= {statement.id: statement.statement for statement in statements}
    closed = [
        float(equal_up_to(turned.get(r["id"], ""), r["statement"])) for r in rows["strategyqa"]
    ]
    why = "up to case and punctuation"
    yield step("statements_equal", mean(closed), on="yes/no", why=why)
    asked_of = (*rows["commonsenseqa"], *rows["arc"])
    chosen = [rouge_l(turned.get(r["id"], ""), r["statement"]) for r in asked_of]
    yield step("statements_rouge_l", mean(chosen), on="multiple choice")
    # No rule was written by the statements of dev and test.
    samples = (read_samples(folder / f"{name}.jsonl.gz") for name in ("dev", "test"))
    held = {name for sample in chain(*samples) for name in sample.ids}
    unseen: list[Read] = []
    for name in SOURCES:
        yes_no = name == "strategyqa"
        texts = [turned[r["id"]] if yes_no else r["statement"].strip() for r in rows[name]]
        tagged = zip(texts, context_models.tagger.find(texts), strict=True)
        found = ([(text[e.start : e.end], e.label) for e in own.entities] for text, own in tagged)
        read = map(Read, found, map(named_entities, rows[name]))
        unseen += [each for each, r in zip(read, rows[name], strict=True) if r["id"] in held]
    names = ("context_f1_labels", "context_f1")
    for name, estimate in zip(names, context_f1(unseen), strict=True):
        why = "against the released entities of dev and test statements"
        yield step(name, estimate, why=why)
