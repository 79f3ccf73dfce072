"""Tries ways by which ``substance`` may tell refused graphs from accepted ones.

python -m grice_research.recipes.graphs.substance_routes [--data ../shared/data]

On the topics of ``substance`` alone: what is learned is learned on one half of them and measured
on the other. Only what shipped before and what ships now is then measured on judged versions of
the other topics. Both tables go to ``work/substance_routes.json`` and, as Markdown, to the
terminal.
"""

from __future__ import annotations

import json

import numpy as np
import torch

from grice.numeric import sigmoid
from grice.records import Triple
from grice_research.recipes.graphs.figures import Draws, area
from grice_research.recipes.graphs.judges import LABELS, STANCE
from grice_research.recipes.graphs.kernel import fit_kernel, scores
from grice_research.recipes.graphs.making import SHARES, TEACHER, Pairs, form, proposals, read
from grice_research.recipes.graphs.space import WORK
from grice_research.recipes.graphs.substance import (
    PARTS,
    SETTINGS,
    Part,
    Shelf,
    Taught,
    by_other_half,
    fit_calibrated,
    fit_generator,
    judged_versions,
    open_shelf,
    readings_of,
    scale_of,
    taught,
    with_parts,
)
from grice_research.recipes.options import parser_of
from grice_tasks.explagraphs.features import Features, Reading
from grice_tasks.explagraphs.graph import Graph
from grice_tasks.explagraphs.wording import fact_text, relation_names

SEEN = ("accepted", "failed", "gold", "chosen", "nonsense")
FORMER = Part("former", "gold", SHARES, tuple(SHARES), 0.7)
HARDER = FORMER._replace(shares={**SHARES, "failed": 4.0})
JUDGED = Part("judged", "accepted", {"failed": 1.0}, ("failed",), 0.9)
Values = dict[str, np.ndarray]


def likely(given: Taught, part: Part) -> np.ndarray:
    crossed = by_other_half(given, part, 0)
    scale = scale_of(given, part, crossed)
    chances: np.ndarray = sigmoid(scale[0] * crossed + scale[1])
    return chances


def fact_row(fact: Triple, belief: str, features: Features) -> tuple[list[float], np.ndarray]:
    axes, head, tail = (features.axes(text) for text in (fact_text(fact), fact.head, fact.tail))
    counts = [
        *(float(fact.relation == name) for name in relation_names()),
        features.good(fact.head),
        features.good(fact.tail),
        float(features.vector(fact.head) @ features.vector(fact.tail)),
    ]
    return counts, np.concatenate([axes, head, tail, axes * features.axes(belief)])


def by_fact(given: Taught, features: Features) -> np.ndarray:
    """Return mean and least score of facts, by whether people accepted the graphs they stand in.

    Shape ``(graphs, 2)``.
    """
    owner, counts, vectors = [], [], []
    for place, (instance, graph) in enumerate(given.graphs):
        for fact in graph.edges if given.kinds[place] in SEEN else ():
            row, vector = fact_row(fact, instance.belief, features)
            owner.append(place)
            counts.append(row)
            vectors.append(vector)
    at, rows, beside = np.array(owner), np.array(counts), np.stack(vectors)
    labels = (given.kinds[at] == "accepted").astype(int)
    pooled = np.zeros((len(given.kinds), 2))
    for instance in TEACHER:
        out = given.halves[at] == instance
        pick = np.isin(given.kinds[at], ("accepted", "failed")) & ~out
        head = fit_kernel(rows[pick], beside[pick], labels[pick], classes=2, share=0.3,
                          **SETTINGS)  # type: ignore[arg-type]  # fmt: skip
        odds = scores(head, rows[out], beside[out])[:, 1]
        for place in np.unique(at[out]):
            mine = odds[at[out] == place]
            pooled[place] = mine.mean(), mine.min()
    return pooled


def explained(shelf: Shelf, given: Taught) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what each graph explains, three classes, and the stance of its texts, by other halves.

    Also the gold stance of each. The judge of three classes sees no argument, as that of SeCA.
    """
    pick = np.flatnonzero(np.isin(given.kinds, SEEN))
    pairs = [given.graphs[place] for place in pick]
    meaning = read(
        shelf.kept, [Reading(instance.belief, None, g) for instance, g in pairs], shelf.features
    )
    stance = read(
        shelf.kept,
        [Reading(instance.belief, instance.argument, Graph(())) for instance, _ in pairs],
        shelf.features,
    )
    kinds, halves = given.kinds[pick], given.halves[pick]
    gold = np.array([LABELS[instance.stance] for instance, _ in pairs])
    labels = np.where(kinds == "failed", 2, gold)
    three, two = np.zeros((len(given.kinds), 3)), np.zeros((len(given.kinds), 2))
    for half in TEACHER:
        out = halves == half
        judged = np.isin(kinds, ("accepted", "failed")) & ~out
        written = (kinds == "gold") & ~out
        head = fit_kernel(*(part[judged] for part in meaning), labels[judged], classes=3,
                          share=0.7, **SETTINGS)  # type: ignore[arg-type]  # fmt: skip
        three[pick[out]] = scores(head, *(part[out] for part in meaning))
        head = fit_kernel(*(part[written] for part in stance), gold[written], classes=2,
                          **STANCE)  # type: ignore[arg-type]  # fmt: skip
        two[pick[out]] = scores(head, *(part[out] for part in stance))
    picked = np.zeros(len(given.kinds), int)
    picked[pick] = gold
    return three, np.clip(two, 0, 1), picked


def routes(shelf: Shelf, given: Taught) -> dict[str, np.ndarray]:
    written, accepted = (likely(given, part) for part in PARTS)
    judged = likely(given, JUDGED)
    facts = by_fact(given, shelf.features)
    three, two, gold = explained(shelf, given)
    every = np.arange(len(gold))
    agreed = (np.clip(three[:, :2], 0, 1) * two).sum(axis=1)
    return {
        "one judge, gold against made and refused at half weight (before)": likely(given, FORMER),
        "the same, refused graphs at four times the weight": likely(given, HARDER),
        "mean plausibility of facts": given.counts[:, -4],
        "weakest fact": given.counts[:, -3],
        "weakest fact on the best path from argument to belief": given.counts[:, -2],
        "facts judged by whose graphs people accepted, mean": facts[:, 0],
        "the same, weakest": facts[:, 1],
        "judge of accepted against refused graphs alone": judged,
        "judge of meaning (no argument), taught on the same graphs": -three[:, 2],
        "what the graph explains, weighed by the predicted stance": agreed,
        "the same with the gold stance (a ceiling, not allowed)": three[every, gold],
        "written times accepted": written * accepted,
        "lower of written and judge of accepted against refused alone": np.minimum(written, judged),
        "lower of written and accepted (ships)": np.minimum(written, accepted),
    }


def kinds_of(given: Taught) -> dict[str, Pairs]:
    return {
        kind: [
            pair
            for pair, own_kind in zip(given.graphs, given.kinds, strict=True)
            if own_kind == kind
        ]
        for kind in SEEN
    }


def unseen(shelf: Shelf, given: Taught, graphs: dict[str, Pairs]) -> dict[str, Values]:
    """Return values of judged versions of other topics, before and now, by kind."""
    facts = form("facts", shelf.kept, shelf.rows(TEACHER), shelf.known, 0)
    rows = {kind: with_parts(facts, shelf.kept, readings_of(pairs), shelf.features)
            for kind, pairs in graphs.items()}  # fmt: skip
    former = fit_calibrated(given, FORMER, 0)
    parts = [fit_calibrated(given, part, 0) for part in PARTS]
    return {
        "before": {kind: former(*read) for kind, read in rows.items()},
        "ships": {
            kind: np.minimum(*(part(*read) for part in parts)) for kind, read in rows.items()
        },
    }


def table(by_kind: dict[str, Values], graphs: dict[str, Pairs]) -> list[dict[str, object]]:
    """Print and return a row of each way, differences from the first; beliefs are redrawn.

    Args:
        by_kind: What each way says of the graphs of each kind.
        graphs: Those graphs.
    """
    draws = Draws(graphs)
    drawn = list(zip(draws.counts("accepted"), draws.counts("failed"), strict=True))
    lines: list[dict[str, object]] = []
    first = None
    for name, kind in by_kind.items():
        right, wrong = kind["accepted"], kind["failed"]
        value = area(right, wrong)
        several = np.array([area(np.repeat(right, a), np.repeat(wrong, b)) for a, b in drawn])
        first = (value, several) if first is None else first
        low, high = np.percentile(several, [2.5, 97.5])
        least, most = np.percentile(several - first[1], [2.5, 97.5])
        row = {"route": name, "auc": value, "low": float(low), "high": float(high),
               "above": value - first[0], "above_low": float(least), "above_high": float(most),
               "n": len(right) + len(wrong)}  # fmt: skip
        shown = (f"| {name} | {value:.3f} [{low:.3f}, {high:.3f}] | {value - first[0]:+.3f} "
                 f"[{least:+.3f}, {most:+.3f}] |")  # fmt: skip
        if "nonsense" in kind:
            row |= {"nonsense": area(right, kind["nonsense"]),
                    "gold_over_chosen": area(kind["gold"], kind["chosen"])}  # fmt: skip
            shown += f" {row['nonsense']:.3f} | {row['gold_over_chosen']:.3f} |"
        lines.append(row)
        print(shown, flush=True)
    print(f"n {lines[0]['n']}", flush=True)
    return lines


def main() -> None:
    parser = parser_of(__doc__)
    torch.set_num_threads(1)
    shelf = open_shelf(parser.parse_args().data)
    making, beliefs, choice = fit_generator(shelf)
    made = proposals(making, shelf.rows(TEACHER), shelf.features, beliefs)
    given = taught(shelf, made, choice)
    seen = {name: {kind: values[given.kinds == kind] for kind in SEEN}
            for name, values in routes(shelf, given).items()}  # fmt: skip
    lines = table(seen, kinds_of(given))
    versions = judged_versions(shelf)
    lines += table(unseen(shelf, given, versions), versions)
    (WORK / "substance_routes.json").write_text(json.dumps(lines, indent=1))


if __name__ == "__main__":
    main()
