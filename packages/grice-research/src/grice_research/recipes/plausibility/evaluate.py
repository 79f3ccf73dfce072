"""Measures the shipped heads, and writes the card's figures.

    python -m grice_research.recipes.plausibility.evaluate [--data ../shared/data]

Every figure stands beside its floor. The metric built on the heads also rests on other bundles:
``grice bench deco`` and ``grice bench conture`` measure it. The folders ``work/seed1`` and
``work/seed2`` (``train.py --seed N --out …``) give the spread over seeds, where they exist. Run
once, after all choices.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from grice.knowledge.lookup import best_known
from grice.knowledge.plausibility import TripleHead, TripleSettings
from grice.knowledge.store import BundledStore
from grice.models.bundle import Bundle, open_bundle
from grice.models.embedded import EmbeddedEncoder
from grice.models.registry import read_settings
from grice.records import Triple
from grice_research.places import MODELS, work_folder
from grice_research.recipes.knowledge.atomic import rows
from grice_research.recipes.options import parser_of
from grice_research.recipes.plausibility.card import Measured, write_quality
from grice_research.recipes.plausibility.data import ACCENT, POPULATION_NAMES
from grice_research.recipes.plausibility.measure import (
    auc,
    interval,
    partial,
    pearson,
    spearman,
    weighted,
)
from grice_research.recipes.plausibility.vectors import KeptEncoder, Vectors

WORK = work_folder("plausibility")
COMMAND = "python -m grice_research.recipes.plausibility.evaluate --data ../shared/data"
Figures = list[Measured]


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--bundle", type=Path, default=MODELS / "plausibility")
    arguments = parser.parse_args()
    engine = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)
    encoder = KeptEncoder(Vectors(WORK / "vectors"), engine)

    figures = population(arguments.data, arguments.bundle, encoder)
    figures += gold_tuples(arguments.data, arguments.bundle, encoder)
    for figure in figures:
        print(
            f"{figure.on} | {figure.measure}: {figure.value:.3f} "
            f"[{figure.low:.3f}, {figure.high:.3f}], n {figure.n} {figure.note}"
        )
    write_quality(arguments.bundle, figures, COMMAND)


def head_of(bundle: Bundle, encoder: KeptEncoder) -> TripleHead:
    return TripleHead(bundle, read_settings(bundle, TripleSettings), encoder)


def population(data: Path, bundle: Path, encoder: KeptEncoder) -> Figures:
    dev, test = (read_population(data, part) for part in ("dev", "tst"))
    triples, labels, names = test
    store = BundledStore(open_bundle("atomic"))
    known = best_known(store, triples, encoder=encoder, heads=2, tails=2)
    prior = {name: float(np.mean(dev[1][dev[2] == name])) for name in sorted(set(dev[2].tolist()))}
    scorers = {
        "plausibility": head_of(open_bundle(bundle), encoder).plausibility(triples),
        "plausibility with known tails": head_of(open_bundle(bundle), encoder).plausibility(
            triples, known
        ),
        "floor: cosine of head and tail as written": cosines(triples, encoder),
        "floor: relation prior from dev": [prior[name] for name in names],
    }
    for folder in sorted(WORK.glob("seed[12]")):
        head = head_of(open_bundle(folder), encoder)
        scorers[f"plausibility, {folder.name}"] = head.plausibility(triples)
    accent = np.isin(names, ACCENT)
    figures = []
    for title, values in scorers.items():
        scores = np.array(values)
        for part, chosen in (("all relations", np.ones(len(names), bool)), ("ACCENT's 12", accent)):
            columns = (scores[chosen], labels[chosen], names[chosen])
            for kind, measure in (
                ("relation-weighted", weighted),
                ("pooled", lambda s, y, _: auc(s, y)),
            ):
                value = interval(measure, *columns, rounds=300)
                figures.append(
                    Measured(
                        "CSKB Population test",
                        f"{kind} AUC, {part}: {title}",
                        *value,
                        int(chosen.sum()),
                    )
                )
    return figures


def read_population(data: Path, part: str) -> tuple[list[Triple], np.ndarray, np.ndarray]:
    rows_of_part = rows(data / "cskb_population" / f"{part}.tsv.gz")
    triples = [
        Triple(r["head"], POPULATION_NAMES.get(r["relation"], r["relation"]), r["tail"])
        for r in rows_of_part
    ]
    labels = np.array([int(r["label"]) for r in rows_of_part])
    return triples, labels, np.array([r["relation"] for r in rows_of_part])


def cosines(triples: list[Triple], encoder: KeptEncoder) -> list[float]:
    heads = encoder.encode([triple.head for triple in triples])
    tails = encoder.encode([triple.tail for triple in triples])
    return [float(head @ tail) for head, tail in zip(heads, tails, strict=True)]


def items(data: Path, name: str) -> list[dict]:
    text = (data / "accent_deco" / f"{name}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def gold_tuples(data: Path, bundle: Path, encoder: KeptEncoder) -> Figures:
    """Judge the triples that people wrote down; a reply without any counts 0.5."""
    replies = items(data, "deco_test")
    gold = [[Triple(*t[:3]) for g in item["tuples"].values() for t in g] for item in replies]
    human = np.array([item["event_cs"] for item in replies])
    machine = np.array([item["system"] != "Human" for item in replies])
    count = np.array([len(triples) for triples in gold], float)
    flat = [triple for triples in gold for triple in triples]
    known = best_known(BundledStore(open_bundle("atomic")), flat, encoder=encoder, heads=2, tails=2)
    heads = {"shipped": bundle, **{f.name: f for f in sorted(WORK.glob("seed[12]"))}}
    figures = []
    for name, folder in heads.items():
        head = head_of(open_bundle(folder), encoder)
        for title, support in (("plausibility", None), ("plausibility with known tails", known)):
            values = iter(head.plausibility(flat, support))
            means = np.array([mean([next(values) for _ in triples]) for triples in gold])
            suffix = "" if name == "shipped" else f", {name}"
            figures += correlations(
                "DECO test, human tuples", title + suffix, means, human, count, machine
            )
    figures += plain("DECO test, human tuples", "floor: number of tuples", count, human, machine)
    return figures


def mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else 0.5


def correlations(
    on: str,
    title: str,
    scores: np.ndarray,
    human: np.ndarray,
    count: np.ndarray,
    machine: np.ndarray,
) -> Figures:
    figures = plain(on, title, scores, human, machine)
    value = interval(partial, scores, human, count)
    figures.append(
        Measured(on, f"Spearman given the number of triples: {title}", *value, len(human))
    )
    return figures


def plain(
    on: str, title: str, scores: np.ndarray, human: np.ndarray, machine: np.ndarray
) -> Figures:
    figures = []
    for name, measure in (("Spearman", spearman), ("Pearson", pearson)):
        figures.append(
            Measured(on, f"{name}: {title}", *interval(measure, scores, human), len(human))
        )
    if not machine.all():
        value = interval(spearman, scores[machine], human[machine])
        figures.append(
            Measured(on, f"Spearman, machine replies: {title}", *value, int(machine.sum()))
        )
    return figures


if __name__ == "__main__":
    main()
