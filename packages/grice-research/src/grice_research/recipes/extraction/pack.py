"""Sets the scale of each relation on everyday conversations and writes the model ``extraction``.

    python -m grice_research.recipes.extraction.pack [--data ../shared/data]

The cues and what they count are written by hand (``cues.toml``); nothing is fitted. Scores of
different relations become comparable by their mean and spread over replies of conversations that
may train. How often people find a relation where a pair of events can hold it is taken from DECO's
training part, one figure for reactions and one for all others, and moved by how many triples of
the relation people wrote there.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from grice.knowledge import extraction
from grice.knowledge.extraction import (
    KINDS,
    ContextResponse,
    Scale,
    allowed,
    candidates,
    features,
    read_cues,
)
from grice.knowledge.schema import RELATIONS
from grice.models.loader import ModelLoader
from grice_research.places import MODELS
from grice_research.recipes.common import parser_of, rows_of, update_card
from grice_research.recipes.knowledge.atomic import gold_triples
from grice_research.recipes.relevance.corpora import spoken_texts
from grice_research.training_texts import normalised, record_texts

EACH = 150  # everyday replies of each corpus
GAP = 10  # replies between two triples of a relation that is still being asked

RATE = 608 / 1200
"""Share of cells in which ACCENT's T5 gives a triple, from its printed precision and recall."""


class Reply(NamedTuple):
    """A reply with the number of triples that people wrote for it by relation."""

    exchange: ContextResponse
    gold: dict[str, int]


def replies(data: Path, part: str) -> list[Reply]:
    made = []
    for item in rows_of(data / f"accent_deco/{part}.jsonl"):
        turns = [turn.strip() for turn in item["history"].split("</UTT>") if turn.strip()]
        gold: dict[str, int] = Counter(relation for _, relation, *_ in gold_triples(item))
        made.append(Reply(ContextResponse(turns[-1] if turns else "", item["response"]), gold))
    return made


def cells(every: list[Reply]) -> tuple[np.ndarray, np.ndarray]:
    """Return, replies times relations, where people gave a triple, and were asked for one."""
    positive = np.array([[name in reply.gold for name in RELATIONS] for reply in every])
    asked = positive.copy()
    for column in range(len(RELATIONS)):
        rows = np.flatnonzero(positive[:, column])
        for first, last in pairwise(rows):
            if last - first <= GAP:
                asked[first:last, column] = True
    return positive, asked


NOTHING = -1e3  # score of a cell without any pair of events


class Pairs(NamedTuple):
    """All pairs of events of one reply."""

    features: np.ndarray
    allowed: np.ndarray


def read(exchanges: Sequence[ContextResponse]) -> list[Pairs]:
    tagger = ModelLoader(mode="exact", workers=1, cache=None).load("builtin:events")
    by_reply = []
    for mentions, _ in extraction.mentions_in(exchanges, tagger, KINDS):  # type: ignore[arg-type]
        pairs = candidates(mentions, KINDS)
        before = sum(not item.own for item in mentions)
        by_reply.append(Pairs(features(pairs, before), allowed(pairs)))
    return by_reply


def best(by_reply: Sequence[Pairs], weights: np.ndarray) -> np.ndarray:
    """Return for each cell the score of its best pair; ``NOTHING`` without a pair."""
    scores = np.full((len(by_reply), len(RELATIONS)), NOTHING)
    for i, pairs in enumerate(by_reply):
        if len(pairs.features):
            scores[i] = np.where(pairs.allowed, pairs.features @ weights, NOTHING).max(axis=0)
    return scores


CUES = Path(__file__).parent / "cues.toml"
SOURCES = (
    "topical_chat/valid_freq",
    "topical_chat/valid_rare",
    "persuasion_for_good/dialogues",
    "synthetic_persona_chat/valid",
    "convai2017/convai2017",
    "pd_fiction/plays",
    "star/dialogues",
)
SLOPE = 0.7
"""Log odds of one standard deviation: that of an area under the curve of about 0.69, which the
cues have on DECO train."""
FREQUENT = 0.6
"""How much the logarithm of a relation's number of triples in DECO train counts, relative to the
mean relation. People went on until a relation had twenty, so that the numbers lie nearer together
than they would; on DECO train 0.3 to 1.0 do as well or better than 0."""


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--out", type=Path, default=MODELS / "extraction")
    arguments = parser.parse_args()

    everyday, dropped = sampled(arguments.data)
    print(f"{len(everyday)} everyday replies; {dropped} dropped for an evaluated text")
    train = replies(arguments.data, "deco_train")
    known = cells(train)
    weights, _ = read_cues(CUES)
    scores = best(read([reply.exchange for reply in train]), weights)
    scale = scaled(read(everyday), weights, bases(scores, known, train))
    odds = log_odds(scores, scale)
    least = float(1 / (1 + np.exp(-np.quantile(odds, 1 - RATE))))
    counted = f"{len(everyday)} replies; dropped for an evaluated text: {dropped}"
    write(arguments.out, scale, least, counted)
    texts = (text for each in everyday for text in (each.previous, each.reply))
    record_texts(arguments.out, texts)


def sampled(data: Path) -> tuple[list[ContextResponse], int]:
    """Return replies with the turn before, drawn by a fixed seed, and how many were dropped."""
    parts = ("conture_subset", "deco_test", "deco_train", "none_samples")
    evaluated = set(map(normalised, spoken_texts(data, parts))) - {""}
    chosen: list[ContextResponse] = []
    dropped = 0
    for name in SOURCES:
        kept = []
        for before, reply in exchanges(data / f"{name}.jsonl.gz"):
            if normalised(before) in evaluated or normalised(reply) in evaluated:
                dropped += 1
            elif 5 <= len(reply.split()) <= 60 and before.strip():
                kept.append(ContextResponse(before, reply))
        kept = sorted(set(kept))
        random.Random(name).shuffle(kept)
        chosen += kept[:EACH]
    return chosen, dropped


def exchanges(path: Path) -> Iterator[tuple[str, str]]:
    for conversation in rows_of(path):
        if conversation.get("meta", {}).get("amt50"):
            continue
        for before, after in pairwise(conversation["turns"]):
            if before.get("speaker") != after.get("speaker"):
                yield before["text"].strip(), after["text"].strip()


def bases(
    scores: np.ndarray, known: tuple[np.ndarray, np.ndarray], train: list[Reply]
) -> dict[str, float]:
    """Return the log odds of each relation where a pair can hold it.

    A pair can hold a reaction only if a mood is told, and then people mostly find one.
    """
    written = np.array([sum(reply.gold.get(name, 0) for reply in train) for name in RELATIONS])
    odds = FREQUENT * np.log(written / written.mean())
    for reaction in (False, True):
        columns = [i for i, name in enumerate(RELATIONS) if name.endswith("React") == reaction]
        positive, asked = (part[:, columns] for part in known)
        rate = positive[asked & (scores > NOTHING)[:, columns]].mean()
        odds[columns] += np.log(rate / (1 - rate))
    return {name: round(float(value), 2) for name, value in zip(RELATIONS, odds, strict=True)}


def scaled(pairs: list[Pairs], weights: np.ndarray, base: dict[str, float]) -> dict[str, Scale]:
    """Return the scale of each relation over everyday replies."""
    scores = best(pairs, weights)
    scale = {}
    for column, name in enumerate(RELATIONS):
        some = scores[scores[:, column] > NOTHING, column]
        centre, spread = round(float(some.mean()), 3), round(float(some.std()), 3)
        scale[name] = Scale(centre, spread, base[name], SLOPE)
    return scale


def log_odds(scores: np.ndarray, scale: dict[str, Scale]) -> np.ndarray:
    odds = scores.copy()
    for column, name in enumerate(RELATIONS):
        some = scores[:, column] > NOTHING
        bend = scale[name]
        apart = (scores[some, column] - bend.centre) / bend.spread
        odds[some, column] = bend.base + bend.slope * apart
    return odds


def write(out: Path, scale: dict[str, Scale], least: float, counted: str) -> None:
    out.mkdir(parents=True, exist_ok=True)
    lines = [CUES.read_text("utf-8").rstrip()]
    for name, bend in scale.items():
        lines += ["", f"[scale.{name}]"]
        lines += [f"{field} = {getattr(bend, field)}" for field in bend.__struct_fields__]
    (out / "cues.toml").write_text("\n".join(lines) + "\n", "utf-8")
    least_of = {"least": round(least, 4)}
    update_card(out, "extraction", files=["cues.toml"], settings=least_of, excluded=counted)


if __name__ == "__main__":
    main()
