"""Published architectures, trained here on small models, beside the figures of their papers.

The figures are those that the recipes ``ruber``, ``engagement`` and ``published`` wrote into the
folder of weights; nothing is computed here. Of several seeds the one in the middle stands in the
row.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from grice.errors import plural
from grice.stats.estimate import Estimate
from grice_research.context import Skipped
from grice_research.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from grice_research.context import BenchContext

    Record = dict[str, Any]

TITLE = "Published architectures, trained here on small models"
PAPER = (
    "Ghazarian et al., Better Automatic Evaluation of Open-Domain Dialogue Systems with "
    "Contextualized Embeddings, NeuralGen 2019; Predictive Engagement, AAAI 2020; ACCENT, "
    "ACL 2023; Ghosal et al., CIDER, SIGDIAL 2021; Saha et al., ExplaGraphs, EMNLP 2021; Hwang et "
    "al., COMET-ATOMIC 2020, AAAI 2021; Zhang and Wan, SituatedGen, NeurIPS 2023; Ghazarian et "
    "al., DEAM, ACL 2022, with the models of amrlib"
)

ENCODER = "all-MiniLM-L6-v2 (22 million) frozen, in place of BERT-base (110 million)"
RUBER = {
    "static, max, ranking": (0.19, 0.18),
    "static, max, cross-entropy": (0.25, 0.25),
    "static, mean, ranking": (0.16, 0.18),
    "static, mean, cross-entropy": (0.04, 0.06),
    "static, bi-rnn, ranking": (0.28, 0.30),
    "static, bi-rnn, cross-entropy": (0.22, 0.25),
    "contextual, max, ranking": (0.41, 0.36),
    "contextual, max, cross-entropy": (0.55, 0.45),
    "contextual, mean, ranking": (0.34, 0.27),
    "contextual, mean, cross-entropy": (0.32, 0.29),
    "contextual, bi-rnn, ranking": (0.38, 0.31),
    "contextual, bi-rnn, cross-entropy": (0.29, 0.24),
}
"""Table 2.3 of the thesis: Pearson and Spearman on 300 generated replies."""
ENGAGEMENT = {
    "ConvAI test": ("balanced_accuracy", 0.76),
    "297 pairs of the study": ("balanced_accuracy", 0.64),
    "90 held-out DailyDialog pairs, not transferred": ("balanced_accuracy", None),
    "90 held-out DailyDialog pairs": ("balanced_accuracy", 0.7426),
    "generated replies": ("spearman", 0.16),
    "human replies": ("spearman", 0.52),
    "all replies": ("spearman", 0.45),
}
"""Figures 3.4 and the released checkpoint's validation; table 3.5, mean pooling."""
RE_T5, RA_T5 = "RE-T5, all of dev", "RA-T5, all of dev"
T5_BASE = "T5-base, the paper's test set"
DEAM: dict[str, tuple[float | None, str]] = {
    "spearman, fed_dialogue:coherent": (0.47, "DEAM"),
    "spearman, fed_dialogue:overall": (0.55, "DEAM"),
    "spearman, dstc9_dialogue:coherent": (0.19, "DEAM"),
    "spearman, dstc9_dialogue:overall": (0.20, "DEAM"),
}
PUBLISHED: dict[str, dict[str, tuple[float | None, str]]] = {
    "accent extractor": {
        "precision": (0.314, "ACCENT T5, 100 replies"),
        "recall": (0.550, "ACCENT T5, 100 replies"),
        "f1": (0.400, "ACCENT T5, 100 replies"),
        "bleu2": (0.416, "ACCENT T5, 100 replies"),
    },
    "comet": {"bleu2": (None, ""), "rouge_l": (None, "")},
    "situatedgen": {
        "match_first": (0.565, T5_BASE),
        "match_exclusive": (0.565, T5_BASE),
        "coverage": (None, ""),
        "bleu4": (0.221, T5_BASE),
        "rouge2": (0.288, T5_BASE),
        "meteor": (0.301, T5_BASE),
    },
    "explagraphs reasoning": {
        "sa": (0.704, RE_T5),
        "stca": (0.278, RE_T5),
        "seca": (None, ""),
        "g_bleu": (0.054, RE_T5),
        "g_rouge_2": (0.068, RE_T5),
        "g_rouge_l": (0.112, RE_T5),
    },
    "explagraphs rationalizing": {
        "sa": (0.847, RA_T5),
        "stca": (0.303, RA_T5),
        "seca": (None, ""),
        "g_bleu": (0.058, RA_T5),
        "g_rouge_2": (0.072, RA_T5),
        "g_rouge_l": (0.119, RA_T5),
    },
    "amr parser": {"smatch": (0.81, "amrlib parse_t5, LDC2020T02")},
    "amr generator": {"bleu4": (0.44, "amrlib generate_t5, LDC2020T02"), "rouge_l": (None, "")},
    "cider entailment": {"macro_f1": (0.6915, "RoBERTa-MNLI, fold 1")},
    "cider spans": {"em": (0.2920, "SpanBERT, fold 1"), "f1": (0.4372, "SpanBERT, fold 1")},
    "cider choices alone": {"accuracy": (0.4721, "BERT, question only, fold 1")},
    "cider relations alone": {
        "accuracy": (0.3946, "RoBERTa without context, fold 1"),
        "macro_f1": (0.1629, "RoBERTa without context, fold 1"),
    },
    "explagraphs stance": {"accuracy": (0.847, "RoBERTa")},
    "deam": DEAM,
    "deam amr": DEAM,
}
"""Table 3 of ACCENT and of SituatedGen, tables 4, 5, 6 and 8 of CIDER, table 5 of ExplaGraphs,
table 4.2 of the thesis for DEAM, the documentation of amrlib. COMET's released output is measured
on the same queries, as a floor is; ExplaGraphs' own judge of SeCA was not released."""
RECORDED_FLOORS = {
    ("cider entailment", "macro_f1"): "boosted trees on structure without words 0.625",
    ("cider spans", "f1"): "the turn of the head 0.096",
    ("cider choices alone", "accuracy"): "boosted trees on distances and lengths 0.569",
    ("cider relations alone", "accuracy"): "a linear model on the spans 0.308",
    ("cider relations alone", "macro_f1"): "a linear model on the spans 0.118",
}
"""Baselines on fold 1 that are recorded with the protocol, and not computed here."""
WRITERS = (
    "accent extractor", "amr generator", "amr parser", "comet", "explagraphs rationalizing",
    "explagraphs reasoning", "situatedgen",
)  # fmt: skip
TRAINED_ON = "all-MiniLM-L6-v2 (22 million), all of it trained"
WRITERS_TRAINED_ON = "SmolLM2-135M-Instruct of four bits, a decoder alone, all of it trained"
SEEDS = {1: "one seed", 2: "two seeds", 3: "three seeds"}


class _Fitted(NamedTuple):
    """The seed in the middle, and the values of all."""

    estimate: Estimate
    values: tuple[float, ...]

    @property
    def seeds(self) -> str:
        """Say how many seeds there are, and what each gave."""
        count = len(self.values)
        words = SEEDS.get(count, f"{count} seeds")
        each = ", ".join(f"{value:.3f}" for value in self.values)
        return words if count == 1 else f"{words}: {each}"


def measure(context: BenchContext) -> Iterator[Row]:
    """Yield a row for each cell and set that was fitted, beside the printed figure.

    Raises:
        Skipped: If recipes left no figures.
    """
    grid = _records(context.weights("ruber") / "grid_research.jsonl")
    engagement = _records(context.weights("engagement") / "published.jsonl")
    systems = _records(context.weights("published") / "figures.jsonl")
    if not grid and not engagement and not systems:
        raise Skipped(
            "no figures of the recipes ruber, engagement and published in the folder of weights"
        )
    yield from _grid(grid)
    yield from _engagement(engagement)
    floors = set()
    for name, printed in PUBLISHED.items():
        for row in _system(name, printed, [row for row in systems if row["system"] == name]):
            # Two systems that are measured on one set have its floors in common.
            if row.kind != "baseline" or (row.row, row.measure) not in floors:
                yield row
            floors.add((row.row, row.measure))


def _grid(records: Sequence[Record]) -> Iterator[Row]:
    for cell, printed in RUBER.items():
        of_cell = [record for record in records if record["cell"] == cell]
        for measured, value in zip(("pearson", "spearman"), printed, strict=True):
            if of_cell:
                fitted = _middle([record[measured] for record in of_cell])
                pairs, epochs = of_cell[0]["pairs"], of_cell[0]["epochs"]
                what = f"{pairs:,} pairs of DailyDialog of 22,000, {epochs} epochs"
                static = "PPMI and SVD of these pairs in place of word2vec"
                below = static if cell.startswith("static") else ENCODER
                why = f"{below}; {what}; {fitted.seeds}"
                yield _row(f"RUBER {cell}", measured, fitted.estimate, value, "RUBER", why)


def _engagement(records: Sequence[Record]) -> Iterator[Row]:
    for on, (measured, printed) in ENGAGEMENT.items():
        of_set = [record for record in records if record["on"] == on]
        fitted = [record for record in of_set if "floor" not in record]
        if fitted:
            middle = _middle(fitted)
            why = f"{ENCODER}; another order of conversations; {middle.seeds}"
            name = f"engagement {on}"
            yield _row(name, measured, middle.estimate, printed, "MLP BERT(mean)", why)
        for record in of_set:
            if "floor" in record:
                yield _floor(f"engagement {on}: {record['floor']}", measured, record)


def _system(
    name: str, printed: Mapping[str, tuple[float | None, str]], records: Sequence[Record]
) -> Iterator[Row]:
    for measured, (value, beside) in printed.items():
        of_measure = [record for record in records if record["measure"] == measured]
        fitted = [record for record in of_measure if "floor" not in record]
        what, _, on = measured.partition(", ")
        about = f"{name}, {on}" if on else name
        if fitted:
            middle, first = _middle(fitted), fitted[0]
            floor = RECORDED_FLOORS.get((name, measured), "")
            changes = ", ".join(change.replace("=", " ") for change in first["changes"])
            notes = (
                WRITERS_TRAINED_ON if name in WRITERS else TRAINED_ON,
                f"{first['examples']:,} examples, {plural(first['epochs'], 'epoch')}",
                changes and f"not the paper's: {changes}",
                first["differs"],
                floor and f"recorded baseline: {floor}",
                middle.seeds,
            )
            why = "; ".join(filter(None, notes))
            yield _row(about, what, middle.estimate, value, beside, why)
        for record in of_measure:
            if "floor" in record:
                yield _floor(f"{on or name}: {record['floor']}", what, record)


def _floor(name: str, measured: str, record: Record) -> Row:
    return Row(row=name, measure=measured, estimate=_estimate(record), kind="baseline")


def _row(
    name: str, measured: str, estimate: Estimate, printed: float | None, beside: str, why: str
) -> Row:
    return Row(
        row=f"{name}, trained here",
        measure=measured,
        estimate=estimate,
        kind="ours",
        published=printed,
        beside=beside if printed is not None else "",
        why=why,
        signature=f"{name}|published architecture|{'SmolLM2' if name in WRITERS else 'MiniLM'}",
    )


def _middle(records: Sequence[Record]) -> _Fitted:
    ordered = sorted(records, key=lambda record: record["value"])
    middle = ordered[(len(ordered) - 1) // 2]
    return _Fitted(_estimate(middle), tuple(record["value"] for record in ordered))


def _estimate(record: Record) -> Estimate:
    value, low, high = (record[name] for name in ("value", "low", "high"))
    return Estimate(value, low, high, 0.95, int(record["n"]), "the recipe's")


def _records(path: Path) -> list[Record]:
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
