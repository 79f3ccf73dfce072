"""Chatbot turns that people voted on or rated: what the order of review is fitted on."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from grice.records import Conversation, Turn
from grice_research.benches import abc_eval, breakdowns
from grice_research.benches.planted_flaws import read_logs
from grice_research.recipes.relevance.corpora import is_held_out
from grice_research.recipes.sense.mixture import CHATBOTS, training_items
from grice_research.recipes.sense.pairs import written_items
from grice_research.recipes.sense.sources import shortened
from grice_research.training_texts import normalised

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

LOGS, PAIRS = "logs", "pairs"
DEVELOPMENT = "development_logs.jsonl"
CONVAI = "convai2017/convai2017.jsonl.gz"

LETTERS = 20
"""Shorter texts ("I don't know.") are everybody's and stay."""
BAD, GOOD = 1, 2
"""Ratings of messages of convai2017; 0 is none."""


class Marked(NamedTuple):
    """A chatbot turn that people judged."""

    corpus: str
    system: str
    group: str
    talk: Conversation
    turn: int
    flawed: float
    votes: int

    @property
    def text(self) -> str:
        """What was said."""
        return self.talk.turns[self.turn].text


def read_marked(data: Path) -> list[Marked]:
    """Return the turns that may train: none of them stands in a set that the order is measured on.

    Of ``dbdc3`` the seven tenths that are no validation part. Of ``convai2017`` bots' messages that
    a person rated, in the conversations that relevance has not learned from, without those of the
    published study and without those that stand in ``dbdc3``. Of both only conversations that have
    no reply from which the heads of ``sense`` learned. Of the pairs written for ``sense`` those
    that its heads have not learned from. Of written logs those for development.
    """
    evaluated, learned = _evaluated(data), _learned(data)
    people = [*_voted(data), *_rated(data)]
    seen = {turn.group for turn in people if not learned.isdisjoint(_exchanges(turn.talk))}
    every = [*(turn for turn in people if turn.group not in seen), *_written(), *_logs()]
    return [marked for marked in every if _key(marked.text) not in evaluated]


def _learned(data: Path) -> set[tuple[str, str]]:
    """Return the chatbots' replies that ``sense`` learned from, each with the turn before."""
    items = training_items(data, CHATBOTS)
    readings = (reading for name in CHATBOTS for item in items[name] for reading in item.readings)
    return {(("", *reading.history)[-1], reading.reply) for reading in readings}


def _exchanges(talk: Conversation) -> Iterator[tuple[str, str]]:
    """Yield each turn of a conversation with the turn before, as the heads of ``sense`` read it."""
    return pairwise(["", *(shortened(turn.text) for turn in talk.turns)])


def _key(text: str) -> str:
    """Return what a text is known by; empty if it is too short."""
    key = normalised(text)
    return key if len(key) >= LETTERS else ""


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _keys(row: Mapping[str, Any]) -> set[str]:
    return {_key(turn["text"]) for turn in row["turns"]} - {""}


def _evaluated(data: Path) -> set[str]:
    """Return the longer texts of the sets that the order is measured on."""
    texts = {key for row in _rows(data / abc_eval.FILE) for key in _keys(row)}
    texts |= {_key(turn.text) for talk in read_logs().talks for turn in talk.turns} - {""}
    for row in _rows(data / breakdowns.FILE):
        if breakdowns.is_validation(row["id"]):
            texts |= _keys(row)
    return texts


def _voted(data: Path) -> Iterator[Marked]:
    """Yield the turns of the training part of dbdc3, with the share of votes for a breakdown."""
    for row in _rows(data / breakdowns.FILE):
        if breakdowns.is_validation(row["id"]):
            continue
        turns = tuple(Turn(turn["speaker"], turn["text"]) for turn in row["turns"])
        places = tuple(label["turn"] for label in row["labels"])
        talk = Conversation(row["id"], turns, targets=places)
        for label in row["labels"]:
            votes = label["O"] + label["T"] + label["X"]
            yield Marked(
                "dbdc3", row["system"], talk.id, talk, label["turn"], label["X"] / votes, votes
            )


def _rated(data: Path) -> Iterator[Marked]:
    """Yield messages of bots that a person rated good or bad."""
    known = {key for row in _rows(data / breakdowns.FILE) for key in _keys(row)}
    for row in _rows(data / CONVAI):
        keys = _keys(row)
        in_dbdc3 = bool(keys) and 2 * len(keys & known) >= len(keys)
        if row["meta"]["amt50"] or in_dbdc3 or not is_held_out("convai2017", row["id"]):
            continue
        users, ratings = row["meta"]["users"], row["meta"]["utt_eval"]
        turns = tuple(Turn(turn["speaker"], turn["text"]) for turn in row["turns"])
        places = tuple(
            place
            for place, (turn, rating) in enumerate(zip(turns, ratings, strict=True))
            if rating and users.get(turn.speaker) == "Bot" and turn.text.strip()
        )
        talk = Conversation(row["id"], turns, targets=places)
        for place in places:
            yield Marked(
                "convai2017", "unknown", talk.id, talk, place, float(ratings[place] == BAD), 1
            )


def _written() -> Iterator[Marked]:
    """Yield the readings of written items: each reply after histories that it suits or does not."""
    for number, item in enumerate(written_items()):
        if not item.validation:
            continue
        bad = {worse for _, worse in item.comparisons}
        for place, reading in enumerate(item.readings):
            texts = (*reading.history, reading.reply)
            turns = tuple(Turn("AB"[i % 2], text) for i, text in enumerate(texts))
            talk = Conversation(f"pair-{number}-{place}", turns, targets=(len(turns) - 1,))
            flawed = float(place in bad)
            yield Marked(PAIRS, item.kind, f"pair-{number}", talk, len(turns) - 1, flawed, 1)


def _logs() -> Iterator[Marked]:
    """Yield the replies of the logs that were written for development, with their key."""
    keyed = read_logs(DEVELOPMENT)
    places = ((talk, turn) for talk in keyed.talks for turn in talk.targets or ())
    for (talk, turn), flaw in zip(places, keyed.flaws, strict=True):
        yield Marked(LOGS, flaw or "none", talk.id, talk, turn, float(bool(flaw)), 1)
