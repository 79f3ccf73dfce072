"""What people said of single replies, out of every set that may train."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from grice.models.protocols import Pair
from grice_research.recipes.relevance.corpora import EVALUATED, evaluated_texts, normalise

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "EVALUATED",
    "SOURCES",
    "LabelledReply",
    "labelled_replies",
    "without_evaluated",
]

SOURCES = {
    "topical_chat ratings of replies": "CDLA-Sharing 1.0",
    "convai2017 ratings of people's messages": "Apache-2.0",
    "convai2017 ratings of bots' messages": "Apache-2.0",
    "convai2017 ratings of conversations": "Apache-2.0",
    "ab_redial interest of replies": "MIT",
}


GOOD = ("Good", "Excellent")
"""Of Topical-Chat's Poor, Not Good, Passable, Good and Excellent."""

INTERESTING = 2
"""Mean of 1 to 3 from which a reply of AB-ReDial counts as interesting: the middle."""

ENGAGING = 3
"""Conversation ratings of 1 to 5 from which a conversation counts as engaging, as published."""


class LabelledReply(NamedTuple):
    """One label.

    Attributes:
        source: Where it comes from; a key of :data:`SOURCES`.
        pair: The turn before and the reply.
        label: 1 engaging, 0 not.
        group: The conversation.
    """

    source: str
    pair: Pair
    label: int
    group: str


def labelled_replies(data: Path) -> Iterator[LabelledReply]:
    """Yield every label, in a fixed order."""
    yield from _topical_chat(data)
    yield from _convai2017(data)
    yield from _ab_redial(data)


def without_evaluated(labels: list[LabelledReply], data: Path) -> tuple[list[LabelledReply], str]:
    """Return the labels whose texts no evaluated set holds, and in words what was left out."""
    evaluated = evaluated_texts(data)
    kept = [
        label
        for label in labels
        if not any(normalise(text) in evaluated for text in (*label.pair.left, label.pair.right))
    ]
    return kept, (
        f"{len(labels) - len(kept):,} of {len(labels):,} labelled replies, where the reply or the "
        f"turn before it stands (letters and digits in lower case) among the {len(evaluated):,} "
        f"strings of the evaluated sets ({', '.join(EVALUATED)}) or is one of the 50 conversations "
        f"of the published study, are left out"
    )


def _topical_chat(data: Path) -> Iterator[LabelledReply]:
    for name in ("valid_freq", "valid_rare"):
        for row in _rows(data / f"topical_chat/{name}.jsonl.gz"):
            texts = [" ".join(turn["text"].split()) for turn in row["turns"]]
            ratings = row["meta"]["turn_rating"]
            for before, text, rating in zip(texts, texts[1:], ratings[1:], strict=False):
                if rating and before and text:
                    source = "topical_chat ratings of replies"
                    yield LabelledReply(
                        source, Pair((before,), text), int(rating in GOOD), row["id"]
                    )


def _convai2017(data: Path) -> Iterator[LabelledReply]:
    for row in _rows(data / "convai2017/convai2017.jsonl.gz"):
        if row["meta"]["amt50"]:
            continue
        turns = _joined(row)
        engaging = int(_engagement(row) >= ENGAGING) if len(turns) > 1 else 0
        users = row["meta"]["users"]
        for (_, before, _), (speaker, text, ratings) in pairwise(turns):
            pair = Pair((before,), text)
            yield LabelledReply("convai2017 ratings of conversations", pair, engaging, row["id"])
            if ratings:
                good = int(sum(ratings) / len(ratings) > 1.5)  # 1 bad, 2 good
                author = "bots'" if users.get(speaker) == "Bot" else "people's"
                yield LabelledReply(
                    f"convai2017 ratings of {author} messages", pair, good, row["id"]
                )


def _engagement(row: dict[str, Any]) -> float:
    """Return the rating of the conversation by a person, 1 to 5.

    An entry stands under the id of who was rated. A bot rates nobody: its entry about the human
    is 0, and the human's rating is the one under the bot's id.
    """
    given = row["meta"]["eval"]
    bots = [name for name, kind in row["meta"]["users"].items() if kind == "Bot"]
    rated = [given[name]["engagement"] for name in (bots or given)]
    return float(round(sum(rated) / len(rated)))


def _joined(row: dict[str, Any]) -> list[tuple[str, str, list[int]]]:
    """Return speaker, text and ratings of each turn; messages in a row are one turn."""
    turns: list[tuple[str, str, list[int]]] = []
    ratings = row["meta"].get("utt_eval") or [0] * len(row["turns"])
    for turn, rating in zip(row["turns"], ratings, strict=False):
        text = " ".join(turn["text"].split())
        given = [rating] if rating else []
        if not text:
            continue
        if turns and turns[-1][0] == turn["speaker"]:
            speaker, before, earlier = turns[-1]
            turns[-1] = (speaker, f"{before} {text}", earlier + given)
        else:
            turns.append((turn["speaker"], text, given))
    return turns


def _ab_redial(data: Path) -> Iterator[LabelledReply]:
    for row in _rows(data / "ab_redial/ab_redial.jsonl.gz"):
        for window in row["windows"]:
            *_, before = (" ".join(_text(turn).split()) for turn in window["context"])
            reply = " ".join(_text(window["response"]).split())
            votes = window["interestingness"]
            if before and reply and votes:
                label = int(sum(votes) / len(votes) > INTERESTING)
                yield LabelledReply(
                    "ab_redial interest of replies", Pair((before,), reply), label, row["id"]
                )


def _text(turn: str | dict[str, str]) -> str:
    return turn if isinstance(turn, str) else turn["text"]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
