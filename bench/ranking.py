"""Fit the weights of ``grice check --rank`` on written logs for development, and measure its order.

    GRICE_DATA=../shared/data GRICE_MODELS=FOLDER python bench/ranking.py small medium [--fit]

The weights are a logistic regression on replies in which no default rule finds a flaw. Measured on
other logs and on chatbots' replies that people judged: precision of the first 30 and recall of the
first 60 of 200 replies drawn as whole conversations, and the calibration error in ten bins.
``--fit`` records the weights in grice/evaluation/ranking.json; the figures stand in docs/rules.md.
``--rules`` records figures of the rules that read scores in scored.json: a finding is right if the
reply has a flaw of its kind, or breaks the conversation down where kinds are not marked.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, product
from pathlib import Path

import numpy as np
from msgspec.structs import asdict
from rules import Counts, figures
from scipy.optimize import minimize

from grice import Conversation
from grice.evaluation import ranking
from grice.readers import from_objects
from grice.scoring.api import Scores
from grice.scoring.loaded import judged_turns
from grice.stats.estimate import wilson_interval
from grice_research.benches import abc_eval, breakdowns
from grice_research.benches.planted_flaws import read_logs
from grice_research.places import work_folder

ROOT = Path(__file__).parents[1]
LOGS = ROOT / "packages/grice-research/src/grice_research/data/check_logs"
RECORD, SCORED = map(Path(ranking.__file__).with_name, ("ranking.json", "scored.json"))
FITTED = ("development_logs", "check_logs, development")
MEASURED = ("planted_flaws", "check_logs, closed", "dbdc3", "abc_eval")
COSINE, AGAIN, SIZE, DRAWS, BINS = "cosine_last_turn", "D302 D314", 200, 1000, 10
DATA = Path(os.environ.get("GRICE_DATA", ""))
KINDS = {
    "irrelevant": "D312 D315", "repeats": "D314 D301 T111", "contradicts": "D313", "dull": "D316",
    "contradicts user": "D313", "senseless": "D311", "asks again": AGAIN, "rude": "V601",
    "needless refusal": "D303", "template left in": "T105", "cut off": "T108", "empty": "T101",
    "raw JSON": "T102", "other language": "T107",
}  # fmt: skip
"""Rules that name a kind of planted flaw."""
BEHAVIOURS = ("D313", "D313", "D311", "D314", "D311 D312 D315 D316", "D311 D312")
"""Rules that name each of the six flaws of ABC-Eval."""
Key = dict[tuple[str, int], str | float]


def keyed(name: str) -> tuple[Sequence[Conversation], Key]:
    """Return the conversations of a set, and how flawed each reply is, or by which flaws."""
    if name.startswith("check_logs"):
        lines = (LOGS / f"{name[12:]}.jsonl").read_text("utf-8").replace("D302", AGAIN).splitlines()
        logs = [(from_objects(log["messages"], log["id"]), log) for log in map(json.loads, lines)]
        flaws = {
            (talk.id, turn): " ".join(f["rule"] for f in log["flaws"] if f["turn"] == turn)
            for talk, log in logs for turn in judged_turns(talk)
        }  # fmt: skip
        return [talk for talk, _ in logs], flaws
    if name == "abc_eval":
        marked = abc_eval.read_marked(DATA)
        talks = marked.talks
        votes = zip(*(marked.votes[each] for each in abc_eval.SIX), strict=True)
        values = [" ".join(c for c, n in zip(BEHAVIOURS, row, strict=True) if n) for row in votes]
    elif name == "dbdc3":
        marked = breakdowns.read_voted(DATA)
        talks, values = marked.talks, marked.majority
    else:
        marked = read_logs(f"{name}.jsonl")
        talks, values = marked.talks, marked.flaws
    places = ((talk.id, turn) for talk in talks for turn in talk.targets)
    return talks, dict(zip(places, values, strict=True))


def scored(name: str, preset: str) -> Iterator[tuple[Conversation, Scores]]:
    """Yield each conversation of a set with its scores, the cosine included."""
    talks, _ = keyed(name)
    cache = work_folder("ranking") / "cache"
    with ranking.load_parts(preset, COSINE, cache=cache, workers=1) as grader:
        for talk in talks:
            yield talk, grader.score(talk)


def fit(preset: str) -> ranking.Weights:
    """Return the weights of a logistic regression, with a penalty of one on all but the bias."""
    rows, labels = [], []
    parts = ranking.read_parts(ranking.open_folder(f"quality-{preset}"))
    for name in FITTED:
        key = keyed(name)[1]
        for talk, scores in scored(name, preset):
            seen = ranking.by_turn_of(scores)
            flawed = {f.turn for f in ranking.find_flaws(talk, ranking.selected(ranking.ALL), seen)}
            background = ranking.Background(talk, seen)
            for turn in seen.keys() - flawed:
                signs = ranking.signs_of(ranking.Reply(background, turn))
                rows.append(ranking.features_of(parts, seen[turn], signs))
                labels.append(bool(key[talk.id, turn]))
    names = [part.metric for part in parts] + sorted(set().union(*rows) - {p.metric for p in parts})
    x, y = np.array([[row.get(name, 0.0) for name in names] for row in rows]), np.array(labels)

    def loss(w: np.ndarray) -> float:
        odds = x @ w[1:] + w[0]
        return np.logaddexp(0, np.where(y, -odds, odds)).sum() + (w[1:] ** 2).sum() / 2

    bias, *weights = (round(float(w), 3) for w in minimize(loss, np.zeros(len(names) + 1)).x)
    return ranking.Weights(bias, dict(zip(names, weights, strict=True)))


def measured(name: str, preset: str) -> Iterator[str]:
    """Yield the cells of a set: replies, flawed, orders, calibration, right reasons."""
    key = keyed(name)[1]
    everyone = ("all",) if name in MEASURED[2:] else ()
    ranker, cosine, length = ranking.Ranker(len(key), speakers=everyone), {}, {}
    for talk, scores in scored(name, preset):
        ranker.add(talk, [score for score in scores if score.metric != COSINE])
        for score in scores:
            if score.metric == COSINE:
                cosine[talk.id, score.turn] = score.value
                length[talk.id, score.turn] = len(talk.turns[score.turn].text)
    items = ranker.ranking().items
    places = {p: i for i in items if (p := (i.conversation, i.turn)) in key}
    order = {place: rank for rank, place in enumerate(places)}
    groups = {}
    for place in places:
        groups.setdefault(place[0], []).append(place)
    rng, names = np.random.default_rng(0), list(groups)
    draws = []
    for _ in range(DRAWS):
        drawn = []
        while len(drawn) < SIZE:
            drawn += groups[names[rng.integers(len(names))]]
        draws.append(drawn)
    yield f"{len(places):,}"
    yield f"{sum(bool(key[place]) for place in places):,}"
    for by in (order, length, cosine):
        first = [[bool(key[p]) for p in sorted(drawn, key=by.get)] for drawn in draws]
        yield interval([np.mean(each[:30]) for each in first])
        yield interval([sum(each[:60]) / max(1, sum(each)) for each in first])
    yield interval([error([(places[p].probability, bool(key[p])) for p in d]) for d in draws],
                   error([(i.probability, bool(key[p])) for p, i in places.items()]))  # fmt: skip
    first = [(key[place], item.findings) for place, item in list(places.items())[:60]]
    hits = [(kind, found) for kind, found in first if kind and isinstance(kind, str)]
    named = [(kind, found) for kind, found in hits if any(f.code[0] != "U" for f in found[:2])]
    right = [any(f.code in KINDS.get(kind, kind) for f in found[:2]) for kind, found in named]
    yield share(right) if named else "–"
    codes = [{*KINDS.get(kind, kind).split()} for kind in key.values() if kind and hits]
    usual = Counter(chain.from_iterable(codes)).most_common(1)
    yield "".join(f"{code}: {share([code in each for each in codes])}" for code, _ in usual) or "–"


def precise(sets: Sequence[str], preset: str) -> dict[str, dict[str, float]]:
    """Return the figures of the rules that read scores, by code."""
    own, natural, planted, replies = ranking.scored_rules(preset), Counts(), Counts(), 0
    for name in sets:
        key, everyone = keyed(name)[1], ("all",) if name in MEASURED[2:] else ()
        ranker = ranking.Ranker(rules=(*ranking.selected(ranking.ALL), *own), speakers=everyone)
        found = [f for talk, scores in scored(name, preset) for f in ranker.add(talk, scores)]
        places = {(flaw.conversation, flaw.turn, flaw.code) for flaw in found}
        listed = {flaw[:2] for flaw in places if flaw[2] in {rule.code for rule in own}}
        cells = share([key[reply] for reply in listed]), share(list(key.values()))
        print(f"| `{preset}`, listed | {name} | {' | '.join(cells)} |", flush=True)
        replies += len(key) * bool(everyone)
        for (place, kind), code in product(key.items(), [rule.code for rule in own]):
            flawed = code in KINDS.get(kind, kind) if isinstance(kind, str) else bool(kind)
            hit = (*place, code) in places
            natural.update({(code, flawed): hit, (code, "flawed"): flawed} if everyone else {})
            marks = {True: flawed, None: flawed and hit, False: hit and not flawed, "replies": 1}
            planted.update({} if everyone else {(code, mark): n for mark, n in marks.items()})
    return {rule.code: figures(rule, natural, planted, replies) for rule in own}


def error(pairs: Sequence[tuple[float, bool]]) -> float:
    """Return the expected calibration error in bins of equal size."""
    p, y = np.array(sorted(pairs)).T
    bins = zip(np.array_split(p, BINS), np.array_split(y, BINS), strict=True)
    return sum(len(a) * abs(a.mean() - b.mean()) for a, b in bins) / len(p)


def interval(values: Sequence[float], value: float | None = None) -> str:
    """Return a mean, or a value, with the 95 % interval of draws."""
    low, high = np.quantile(values, (0.025, 0.975))
    return f"{np.mean(values) if value is None else value:.2f} [{low:.2f}, {high:.2f}]"


def share(marks: Sequence[object]) -> str:
    """Return how many of some are true, and their share with its 95 % interval."""
    count, n = sum(map(bool, marks)), len(marks)
    low, high = wilson_interval(count / n, n)
    return f"{count} of {n}, {count / n:.2f} [{low:.2f}, {high:.2f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("presets", nargs="+")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--rules", action="store_true")
    parser.add_argument("--sets", nargs="*", default=MEASURED)
    given = parser.parse_args()
    for preset in given.presets:
        if given.fit or given.rules:
            path = RECORD if given.fit else SCORED
            made = asdict(fit(preset)) if given.fit else precise(given.sets, preset)
            every = json.loads(path.read_text("utf-8")) | {f"quality-{preset}": made}
            path.write_text(json.dumps(every, indent=1) + "\n", "utf-8")
            ranking.weights_of.cache_clear()
        for name in given.sets * (not given.rules):
            print(f"| `{preset}` | {name} | {' | '.join(measured(name, preset))} |", flush=True)


if __name__ == "__main__":
    main()
