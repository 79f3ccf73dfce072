"""SituatedGen: contrasting sentences of place and time, on the test pairs that were released.

The paper's test set has 2,012 pairs, the released one fewer, of a later version: no figure compares
one to one with a printed one, and the verdicts say no more than which is higher.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, cast

import msgspec
import numpy as np

from grice.errors import BundleError, InputError
from grice.models.protocols import TaggedSpan
from grice.stats.estimate import Estimate
from grice.stats.systems import mean
from grice_research.benches._situatedgen import (
    SOURCES,
    Read,
    context_f1,
    entities_in,
    equal_up_to,
    evaluated_statements,
    found_in,
    named_entities,
    ratio,
    rows_of,
    statements_file,
    with_entities,
)
from grice_research.rows import Row
from grice_tasks.situatedgen.captions import rouge_l
from grice_tasks.situatedgen.marking import keywords_of, mask
from grice_tasks.situatedgen.mining import alike, mine_pairs, split_pairs
from grice_tasks.situatedgen.records import (
    Entity,
    Marked,
    Question,
    Sample,
    read_samples,
)
from grice_tasks.situatedgen.scores import mean_of_samples, score_outputs
from grice_tasks.situatedgen.statements import to_statements
from grice_tasks.situatedgen.trivial_outputs import halved, swapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from grice_research.context import BenchContext
    from grice_research.rows import Kind
    from grice_tasks.situatedgen.contrast import ContrastHead
    from grice_tasks.situatedgen.models import ContextModels, ContrastModels
    from grice_tasks.situatedgen.tagger import Tagger

TITLE = "Contrasting sentences of place and time (SituatedGen)"
PAPER = (
    "Zhang and Wan, SituatedGen: Incorporating Geographical and Temporal Contexts into Generative "
    "Commonsense Reasoning, NeurIPS 2023"
)
PRINTED_PAIRS = 2012
"""Test pairs in the paper."""
T5_LARGE = {
    "match_first": 0.677,
    "match_exclusive": 0.677,
    "bleu4": 0.263,
    "rouge2": 0.331,
    "meteor": 0.319,
    "cider_d": 0.209,
}
"""Printed for T5-large on the paper's test set; CIDEr on a scale of 0 to 1."""


def measure(context: BenchContext) -> Iterator[Row]:
    """Yield trivial baselines, the reference, the embedded baseline, the steps of the pipeline."""
    samples = read_samples(context.folder / "situatedgen" / "test.jsonl.gz")
    version = (
        f"the released test split has {len(samples):,} of the paper's {PRINTED_PAIRS:,} pairs, of "
        "a later version: not comparable one to one"
    )
    for row in _rows_of(context, samples):
        yield msgspec.structs.replace(row, why="; ".join(filter(None, (row.why, version))))


def _rows_of(context: BenchContext, samples: Sequence[Sample]) -> Iterator[Row]:
    folder = context.folder / "situatedgen"
    models = context.models()
    try:
        context_models = cast("ContextModels", models.open("bundle:context"))
        contrast = cast("ContrastModels", models.open("bundle:situated"))
    except BundleError as error:
        raise InputError(str(error)) from error
    known = entities_in(folder)
    samples = [with_entities(sample, known) for sample in samples]
    fingerprint = models.fingerprint("bundle:situated")
    written: dict[str, tuple[Kind, list[str]]] = {
        "reference": ("ours", [sample.reference for sample in samples]),
        "halved keywords": ("baseline", [halved(sample.keywords) for sample in samples]),
        "swapped reference": (
            "baseline",
            [swapped(sample) or sample.reference for sample in samples],
        ),
        "embedded": (
            "ours",
            contrast.recomposer(context_models.tagger).generate(
                [sample.keywords for sample in samples]
            ),
        ),
    }
    figures: list[Row] = []
    for name, (kind, texts) in written.items():
        rows = list(_system(name, kind, samples, texts, contrast.judge, fingerprint))
        figures += (row for row in rows if not row.on)
        yield from rows
    yield from _ranking(figures)
    yield from _swaps(samples, contrast.judge, fingerprint)
    yield from _steps(folder, context_models, models.fingerprint("bundle:context"))
    yield from _mined(folder, context_models.tagger, contrast, models.fingerprint("bundle:context"))


def _ranking(figures: Sequence[Row]) -> Iterator[Row]:
    """Yield for each score how often it ranks an honest system above a trivial baseline.

    Honest are the references and the embedded baseline; trivial are halved keywords and references
    with their contexts exchanged. A figure is the proportion of such pairs that are in this order.
    """
    measured = [row for row in figures if row.estimate is not None]
    for measure_name in dict.fromkeys(row.measure for row in measured):
        rows = [row for row in measured if row.measure == measure_name]
        values = {row.row: cast("Estimate", row.estimate) for row in rows}
        pairs = [
            values[honest.row].value > values[baseline.row].value
            for honest in rows
            if honest.kind == "ours"
            for baseline in rows
            if baseline.kind == "baseline"
        ]
        order = sorted(values, key=lambda name: -values[name].value)
        estimate = Estimate(
            sum(pairs) / len(pairs),
            None,
            None,
            0.95,
            values[order[0]].n,
            "share of pairs of an honest system and a trivial baseline, the honest one above",
            note="an order of four figures has no interval; theirs are in their rows",
        )
        why = " > ".join(f"{name} {values[name].value:.3f}" for name in order)
        yield Row(
            row="ranking",
            measure="ranked_rightly",
            estimate=estimate,
            kind="ours",
            on=measure_name,
            why=why,
        )


def _system(
    name: str,
    kind: Kind,
    samples: Sequence[Sample],
    texts: Sequence[str],
    judge: ContrastHead,
    fingerprint: str,
) -> Iterator[Row]:
    judgements = judge.judge_outputs(samples, texts)
    extra = {
        "plausibility": [judgement.plausibility for judgement in judgements],
        "contrast": [
            0.0 if judgement.contrast is None else judgement.contrast for judgement in judgements
        ],
        "fluency": [judgement.fluency for judgement in judgements],
    }
    outputs = {sample.id: text for sample, text in zip(samples, texts, strict=True)}
    yield Row(
        row=name,
        measure="spice",
        estimate=None,
        kind=kind,
        why="not computed: its Java program does not ship",
    )
    for row in score_outputs(samples, outputs, name=name, extra=extra):
        on = "" if row.context == "ALL" else f"{row.context} pairs"
        for measure_name, estimate in row.measures.items():
            of_cider = measure_name.startswith("cider_d")
            shown = _tenth(estimate) if of_cider else estimate
            printed = T5_LARGE.get(measure_name) if name == "embedded" and not on else None
            yield Row(
                row=name,
                measure=measure_name,
                estimate=shown,
                kind=kind,
                on=on,
                published=printed,
                beside="T5-large" if printed is not None else "",
                signature=fingerprint if measure_name in extra or name == "embedded" else "",
            )


def _tenth(estimate: Estimate) -> Estimate:
    """Return CIDEr-D on a scale of 0 to 1."""
    low, high = (None if bound is None else bound / 10 for bound in (estimate.low, estimate.high))
    return msgspec.structs.replace(estimate, value=estimate.value / 10, low=low, high=high)


def _swaps(samples: Sequence[Sample], judge: ContrastHead, fingerprint: str) -> Iterator[Row]:
    """Yield how often a pair stands above itself with its contexts exchanged."""
    usable = [(sample, text) for sample in samples if (text := swapped(sample)) is not None]
    whole = [sample for sample, _ in usable]
    own = judge.judge_outputs(whole, [sample.reference for sample in whole])
    other = judge.judge_outputs(whole, [text for _, text in usable])
    for on in ("", "GEO pairs", "TEMP pairs"):
        places = [i for i, sample in enumerate(whole) if not on or on.split()[0] in sample.context]
        hits = [(own[i].contrast or 0.0) > (other[i].contrast or 0.0) for i in places]
        estimate = mean_of_samples([float(hit) for hit in hits], [whole[i] for i in places])
        yield Row(
            row="plausibility",
            measure="swap_detection",
            estimate=estimate,
            kind="ours",
            on=on,
            why="0.5 is chance",
            signature=fingerprint,
        )


def _steps(folder: Path, context_models: ContextModels, fingerprint: str) -> Iterator[Row]:
    """Yield how far each step of the pipeline agrees with the released data."""
    rows = {name: list(rows_of(statements_file(folder, name))) for name in SOURCES}
    turned: dict[str, str] = {}
    for name in ("strategyqa", "commonsenseqa", "arc"):
        asked = [
            Question(
                str(r["id"]),
                str(r["question"]),
                cast("bool | str", r["answer"]),
                "yes_no" if name == "strategyqa" else "choice",
            )
            for r in rows[name]
        ]
        turned |= {
            statement.id: statement.statement
            for statement in to_statements(asked, context_models.clauses)
        }
    claims = [1.0] * len(rows["creak"])  # a true claim is its own statement
    closed = [
        float(equal_up_to(turned.get(str(r["id"]), ""), str(r["statement"])))
        for r in rows["strategyqa"]
    ]
    for on, values in (("yes/no and true/false", closed + claims), ("yes/no", closed)):
        yield Row(
            row="pipeline",
            measure="statements_equal",
            estimate=mean(values),
            kind="ours",
            on=on,
            why="up to case and punctuation",
            signature=fingerprint,
        )
    chosen = {
        name: [rouge_l(turned.get(str(r["id"]), ""), str(r["statement"])) for r in rows[name]]
        for name in ("commonsenseqa", "arc")
    }
    chosen["multiple choice"] = [*chosen["commonsenseqa"], *chosen["arc"]]
    for on, values in chosen.items():
        yield Row(
            row="pipeline",
            measure="statements_rouge_l",
            estimate=mean(values),
            kind="ours",
            on=on,
            signature=fingerprint,
        )
    held = evaluated_statements(folder)
    unseen: list[Read] = []
    for name in SOURCES:
        texts = [
            turned[str(r["id"])] if name == "strategyqa" else str(r["statement"]).strip()
            for r in rows[name]
        ]
        gold = [named_entities(r) for r in rows[name]]
        read = list(map(Read, found_in(texts, context_models.tagger.find(texts)), gold))
        yield from _context_rows(name, read, fingerprint)
        part = [
            entities for entities, r in zip(read, rows[name], strict=True) if str(r["id"]) in held
        ]
        yield from _context_rows(f"{name}, dev and test statements", part, fingerprint)
        unseen += part
    yield from _context_rows("all sources, dev and test statements", unseen, fingerprint)


def _mined(
    folder: Path, tagger: Tagger, contrast: ContrastModels, fingerprint: str
) -> Iterator[Row]:
    """Yield agreement of keywords, pairs and splits, from the released statements and entities."""
    marked = _marked(folder, tagger)
    known = {statement.id: statement for statement in marked}
    pairs = {name: read_samples(folder / f"{name}.jsonl.gz") for name in ("train", "dev", "test")}
    gold: dict[str, set[str]] = {}
    for row in chain(*pairs.values()):
        for side, name in enumerate(row.ids):
            gold[name] = {
                word.lower()
                for word, place in zip(row.keywords, row.keywords_pos, strict=True)
                if place == side
            }
    mine = {name: {word.lower() for word in known[name].keywords} for name in gold}
    right = [2.0 * len(mine[name] & gold[name]) for name in gold]
    both = [float(len(mine[name]) + len(gold[name])) for name in gold]
    why = "nouns from the shipped tagger, entities as released"
    yield Row(
        row="pipeline",
        measure="keywords_f1",
        estimate=ratio(right, both),
        kind="ours",
        why=why,
        signature=fingerprint,
    )
    vectors = np.stack(contrast.encoder.encode([statement.masked for statement in marked]))
    mined, _ = mine_pairs(marked, alike(vectors), "released")
    have = {frozenset(pair.ids) for pair in mined}
    splits, _ = split_pairs(mined)
    home = {name: k for k, part in enumerate(splits.values()) for pair in part for name in pair.ids}
    wanted = [row.ids for row in chain(*pairs.values())]
    hits = [float(frozenset(ids) in have) for ids in wanted]
    why = f"{len(mined):,} pairs mined by the released code's rules; 12,689 in the paper"
    yield Row(
        row="pipeline",
        measure="pairs_recall",
        estimate=mean(hits),
        kind="ours",
        why=why,
        signature=fingerprint,
    )
    together = [float(home.get(a, -1) == home.get(b, -2)) for a, b in wanted]
    yield Row(
        row="pipeline",
        measure="pairs_in_one_split",
        estimate=mean(together),
        kind="ours",
        why="released pairs that our own split does not cut",
        signature=fingerprint,
    )
    entities = {statement.id: statement.entities for statement in marked}
    for name, rows in pairs.items():
        given = [with_entities(row, entities) for row in rows]
        judged = contrast.judge.judge_outputs(given, [row.reference for row in given])
        passed = [
            float(judgement.contrast is not None and judgement.contrast >= 0.5)
            for judgement in judged
        ]
        share = mean_of_samples(passed, given)
        yield Row(
            row="pipeline",
            measure="contrast_kept",
            estimate=share,
            kind="ours",
            on=f"released {name}",
            why="pairs the context-dependence test keeps; people cleaned test alone",
            signature=fingerprint,
        )


def _marked(folder: Path, tagger: Tagger) -> list[Marked]:
    """Return the released statements with their entities and the shipped tagger's nouns."""
    rows = list(chain(*(rows_of(statements_file(folder, name)) for name in SOURCES)))
    texts = [str(row["statement"]).strip() for row in rows]
    marked = []
    for row, text, tagged in zip(rows, texts, tagger.find(texts), strict=True):
        entities = tuple(Entity(*entity) for entity in named_entities(row))
        spans = []
        for entity in entities:
            start = text.find(entity.text)
            if start >= 0:
                spans.append(TaggedSpan(start, start + len(entity.text), entity.label, 1.0))
        keywords = keywords_of(text, spans, tagged.nouns)
        marked.append(Marked(str(row["id"]), text, entities, keywords, mask(text, keywords)))
    return marked


def _context_rows(on: str, read: Sequence[Read], fingerprint: str) -> Iterator[Row]:
    """Yield the F1 of context entities: by label as spelt, and by kind without the article."""
    names = ("context_f1_labels", "context_f1")
    for name, estimate in zip(names, context_f1(read), strict=True):
        yield Row(
            row="pipeline",
            measure=name,
            estimate=estimate,
            kind="ours",
            on=on,
            why="against the released entities",
            signature=fingerprint,
        )
