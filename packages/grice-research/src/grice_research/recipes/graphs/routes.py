"""Tries ways to a better judge of meaning: accuracy on judged versions beside word counts.

python -m grice_research.recipes.graphs.routes [--data ../shared/data]

Every way is measured on held-out topics; what it needs to choose (an offset for ``incorrect``, how
much each of several judges counts) it chooses on the other folds. The table goes to
``work/routes.json`` and, as Markdown, to the terminal.
"""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from grice.stats import mean
from grice_research.recipes.graphs.data import denied, instances
from grice_research.recipes.graphs.encode import encoder
from grice_research.recipes.graphs.judges import (
    SECA,
    Example,
    Rows,
    best_offset,
    fit_rows,
    logistic,
    meaning_examples,
    rows_of,
    tfidf_held_out,
)
from grice_research.recipes.graphs.kernel import scores
from grice_research.recipes.graphs.space import WORK, Kept, make_space, topic_folds
from grice_research.recipes.options import parser_of
from grice_tasks.explagraphs.features import Features
from grice_tasks.explagraphs.wording import fact_text

READ = ("judged", "flipped")
MADE = ("perturbed", "flipped", "denied", "unverified")
SMALL = {**SECA, "features": 1536}


class Route(NamedTuple):
    """One way.

    Attributes:
        name: What is done.
        kinds: Which made graphs are learned from beside the judged ones.
        beside: Blocks beside what the judge reads; see :func:`blocks`.
        settings: Of the kernel.
        seeds: Whose mean is taken.
    """

    name: str
    kinds: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    settings: dict[str, float] = SMALL
    seeds: tuple[int, ...] = (0,)


TEXTS = ("graph", "joint")
ROUTES = (
    Route("judged graphs only"),
    Route("the same, cosines of belief and denied belief to the graph as text", (), ("cosines",)),
    Route("judged graphs only, vector of the graph as text", (), ("graph",)),
    Route("judged graphs only, that and belief with graph in one text", (), TEXTS),
    Route("the same, 3,072 features", (), TEXTS, SECA),
    Route("judged graphs only, mean of three seeds", (), (), SMALL, (0, 1, 2)),
    Route("judged graphs, denied beliefs beside", ("denied",)),
    Route("made graphs beside, 3,072 features (ships)", MADE, (), SECA),
    Route("made graphs beside, 1,536 features, mean of three seeds", MADE, (), SMALL, (0, 1, 2)),
)
SHIPS, JOINED = ROUTES[7], (ROUTES[4], ROUTES[8])


def as_text(example: Example) -> str:
    return ". ".join(fact_text(fact) for fact in example.reading.graph.edges)


def joint(example: Example) -> str:
    return f"{example.reading.belief} {as_text(example)}"


def blocks(example: Example, features: Features) -> dict[str, np.ndarray]:
    """Return what may be read beside: ``cosines``, ``graph`` and ``joint``.

    Zeros for graphs that no way reads so.
    """
    if example.kind not in READ:
        width = len(features.axes(example.reading.belief))
        return {"cosines": np.zeros(3), "graph": np.zeros(width), "joint": np.zeros(width)}
    belief, graph = example.reading.belief, features.vector(as_text(example))
    near = float(graph @ features.vector(belief))
    other = float(graph @ features.vector(denied(belief) or belief))
    return {
        "cosines": np.array([near, other, near - other], np.float32),
        "graph": features.axes(as_text(example)),
        "joint": features.axes(joint(example)),
    }


def held_out(rows: Rows, route: Route) -> np.ndarray:
    """Return the scores of each row by heads that saw none of its topic, and these kinds."""
    taught = np.isin(rows.kinds, ("judged", *route.kinds))
    out_of_fold = np.zeros((len(rows.labels), 3))
    for fold in np.unique(rows.folds):
        out = rows.folds == fold
        for seed in route.seeds:
            head = fit_rows(rows.pick(taught & ~out), route.settings, 3, seed)
            out_of_fold[out] += scores(head, rows.counts[out], rows.vectors[out]) / len(route.seeds)
    return out_of_fold


def with_offset(odds: np.ndarray, rows: Rows) -> np.ndarray:
    """Return scores with the offset for ``incorrect`` that suits the other folds best."""
    shifted, judged = odds.copy(), rows.kinds == "judged"
    for fold in np.unique(rows.folds):
        others = judged & (rows.folds != fold)
        shifted[rows.folds == fold, 2] += best_offset(odds[others], rows.labels[others])
    return shifted


def joined(parts: list[np.ndarray], rows: Rows) -> np.ndarray:
    """Return what a logistic regression on the scores of several judges says.

    It learns from the held-out scores of judged graphs of the other folds.
    """
    both = np.concatenate(parts, axis=1)
    judged = rows.kinds == "judged"
    both = (both - both[judged].mean(axis=0)) / both[judged].std(axis=0)
    out_of_fold = np.zeros((len(rows.labels), 3))
    for fold in np.unique(rows.folds):
        train, test = judged & (rows.folds != fold), rows.folds == fold
        out_of_fold[test] = logistic(
            csr_matrix(both[train]),
            rows.labels[train],
            csr_matrix(both[test]),
            3,
            np.ones(train.sum()),
        )
    return out_of_fold


class Floor(NamedTuple):
    """What every way stands beside: which judged rows word counts have right, and the beliefs."""

    right: np.ndarray
    beliefs: list[str]


def line(name: str, odds: np.ndarray, rows: Rows, floor: Floor) -> dict[str, object]:
    """Return and print one row of the table; scores that are NaN are of graphs not asked for."""
    judged = rows.kinds == "judged"
    flipped = (rows.kinds == "flipped") & np.isfinite(odds[:, 0])
    right = odds.argmax(axis=1) == rows.labels
    accepted = judged & (rows.labels != 2)
    stance = odds[:, :2].argmax(axis=1) == rows.labels
    gain = right[judged].astype(float) - floor.right
    both = [
        mean(hits.astype(float).tolist(), groups=floor.beliefs) for hits in (right[judged], gain)
    ]
    row = {
        "route": name,
        **{
            f"{key}{end}": getattr(estimate, part)
            for key, estimate in zip(("accuracy", "above"), both, strict=True)
            for end, part in (("", "value"), ("_low", "low"), ("_high", "high"))
        },
        "stance": float(stance[accepted].mean()),
        "flipped": float(right[flipped].mean()) if flipped.any() else None,
        "n": both[0].n,
    }
    shown = [f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]" for estimate in both]
    last = f"{row['flipped']:.2f}" if flipped.any() else ""
    print(f"| {name} | {shown[0]} | {shown[1]} | {row['stance']:.3f} | {last} |", flush=True)
    return row


def main() -> None:
    parser = parser_of(__doc__)
    data = parser.parse_args().data
    corpus, _ = instances(data)
    kept = Kept()
    fold = topic_folds(kept, corpus)
    features = Features(make_space(kept, corpus, data), kept)
    examples = meaning_examples(corpus, fold)
    read = [example for example in examples if example.kind in READ]
    kept.vectors.add(
        [text for example in read for text in (as_text(example), joint(example))], encoder()
    )
    kept.table = kept.vectors.table()
    rows = rows_of(examples, features)
    beside = [blocks(example, features) for example in examples]
    judged = rows.kinds == "judged"
    some = [example for example, pick in zip(examples, judged, strict=True) if pick]
    beliefs = [example.reading.belief.lower() for example in some]
    words = np.full((len(examples), 3), np.nan)
    words[judged] = tfidf_held_out(some, 3)
    floor = Floor((words[judged].argmax(axis=1) == rows.labels[judged]).astype(float), beliefs)
    print(f"TF-IDF {floor.right.mean():.3f}, n {len(floor.right)}", flush=True)
    table, kept_scores = [], {}
    for route in ROUTES:
        counts, vectors = [rows.counts], [rows.vectors]
        for name in route.beside:
            block = np.stack([features_of_route[name] for features_of_route in beside])
            (counts if name == "cosines" else vectors).append(block)
        given = rows._replace(counts=np.concatenate(counts, axis=1),
                             vectors=np.concatenate(vectors, axis=1))  # fmt: skip
        kept_scores[route.name] = held_out(given, route)
        table.append(line(route.name, with_offset(kept_scores[route.name], rows), rows, floor))
    for name, parts in (
        ("judge that ships and TF-IDF, joined", [kept_scores[SHIPS.name], words]),
        (
            "two judges and TF-IDF, joined",
            [*(kept_scores[joined_route.name] for joined_route in JOINED), words],
        ),
    ):
        table.append(line(name, joined(parts, rows), rows, floor))
    (WORK / "routes.json").write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
