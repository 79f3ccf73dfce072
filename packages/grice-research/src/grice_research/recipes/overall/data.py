"""Replies of people, the reference of ``quality``, and chatbot turns that people judged."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

import grice
from grice.data import Conversation, Turn
from grice_research.benches import abc_eval, breakdowns
from grice_research.benches.planted_flaws import read_logs
from grice_research.places import work_folder
from grice_research.recipes.common import rows_of
from grice_research.recipes.relevance.corpora import (
    Dialogue,
    evaluated_texts,
    is_held_out,
    read_dialogues,
)
from grice_research.recipes.sense.sources import chatbot_items, shortened
from grice_research.training_texts import normalised

LOGS = "logs"
DEVELOPMENT = "development_logs.jsonl"
CONVAI = "convai2017/convai2017.jsonl.gz"

LETTERS = 20  # shorter texts ("I don't know.") are everybody's and stay
BAD = 1  # rating of a message of convai2017; 2 is good, 0 none


class Marked(NamedTuple):
    """A turn with the share of people who objected to it."""

    corpus: str
    system: str
    group: str
    talk: Conversation
    turn: int
    flawed: float

    @property
    def text(self) -> str:
        return self.talk.turns[self.turn].text


def read_marked(data: Path) -> list[Marked]:
    """Return the turns that may train: none stands in a set that the quality is measured on.

    Of ``dbdc3`` the seven tenths that are no validation part. Of ``convai2017`` bots' messages that
    a person rated, in the conversations that relevance has not learned from, without those of the
    published study and without those that stand in ``dbdc3``. Of both only conversations that have
    no reply from which the heads of ``sensibleness`` learned. Of written logs those for
    development.
    """
    evaluated, learned = _evaluated(data), _learned(data)
    people = [*_voted(data), *_rated(data)]
    seen = {turn.group for turn in people if not learned.isdisjoint(_exchanges(turn.talk))}
    every = [*(turn for turn in people if turn.group not in seen), *_logs()]
    return [marked for marked in every if _key(marked.text) not in evaluated]


def _learned(data: Path) -> set[tuple[str, str]]:
    """Return the chatbots' training replies of ``sensibleness``, each with the turn before."""
    readings = (reading for item in chatbot_items(data) for reading in item.readings)
    return {(("", *reading.history)[-1], reading.reply) for reading in readings}


def _exchanges(talk: Conversation) -> Iterator[tuple[str, str]]:
    """Yield each turn with the turn before, in the form that ``sensibleness`` reads."""
    return pairwise(["", *(shortened(turn.text) for turn in talk.turns)])


def _key(text: str) -> str:
    """Return what a text is known by; empty if it is too short."""
    key = normalised(text)
    return key if len(key) >= LETTERS else ""


def _keys(row: Mapping[str, Any]) -> set[str]:
    return {_key(turn["text"]) for turn in row["turns"]} - {""}


def _evaluated(data: Path) -> set[str]:
    """Return the longer texts of the sets that the quality is measured on."""
    texts = {key for row in rows_of(data / abc_eval.FILE) for key in _keys(row)}
    texts |= {_key(turn.text) for talk in read_logs().talks for turn in talk.turns} - {""}
    for row in rows_of(data / breakdowns.FILE):
        if breakdowns.is_validation(row["id"]):
            texts |= _keys(row)
    return texts


def _voted(data: Path) -> Iterator[Marked]:
    """Yield the turns of the training part of dbdc3, with the share of votes for a breakdown."""
    for row in rows_of(data / breakdowns.FILE):
        if breakdowns.is_validation(row["id"]):
            continue
        turns = tuple(Turn(turn["speaker"], turn["text"]) for turn in row["turns"])
        places = tuple(label["turn"] for label in row["labels"])
        talk = Conversation(row["id"], turns, targets=places)
        for label in row["labels"]:
            share = label["X"] / (label["O"] + label["T"] + label["X"])
            yield Marked("dbdc3", row["system"], talk.id, talk, label["turn"], share)


def _rated(data: Path) -> Iterator[Marked]:
    """Yield messages of bots that a person rated good or bad."""
    known = {key for row in rows_of(data / breakdowns.FILE) for key in _keys(row)}
    for row in rows_of(data / CONVAI):
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
            bad = float(ratings[place] == BAD)
            yield Marked("convai2017", "unknown", talk.id, talk, place, bad)


def _logs() -> Iterator[Marked]:
    """Yield the replies of the logs that were written for development, with their key."""
    keyed = read_logs(DEVELOPMENT)
    places = ((talk, turn) for talk in keyed.talks for turn in talk.targets or ())
    for (talk, turn), flaw in zip(places, keyed.flaws, strict=True):
        yield Marked(LOGS, flaw or "none", talk.id, talk, turn, float(bool(flaw)))


PEOPLE = (
    "casino", "persuasion_for_good", "schema_guided", "star", "synthetic_persona_chat",
    "topical_chat",
)  # fmt: skip
"""Sources of conversations of people, or written like those of people."""
REPLIES, TURNS = 80, 16
"""Replies of each source, and turns of a conversation that are read."""


def read_people(data: Path) -> list[Marked]:
    """Return replies of people in conversations that the metrics were not trained on.

    They are the second speaker's; those that stand in an evaluated set are left out.
    """
    evaluated = evaluated_texts(data)
    by_source: dict[str, list[Dialogue]] = {name: [] for name in PEOPLE}
    for dialogue in read_dialogues(data):
        if dialogue.held_out and dialogue.source in by_source and len(dialogue.turns) > 3:
            by_source[dialogue.source].append(dialogue)
    people: list[Marked] = []
    for source, dialogues in by_source.items():
        random.Random(0).shuffle(dialogues)
        chosen: list[Marked] = []
        for dialogue in dialogues:
            if len(chosen) >= REPLIES:
                break
            turns = tuple(Turn("AB"[i % 2], text) for i, text in enumerate(dialogue.turns[:TURNS]))
            talk = Conversation(f"{source}-{dialogue.id}", turns)
            chosen += [
                Marked(source, "people", talk.id, talk, place, 0.0)
                for place in range(1, len(turns), 2)
                if _key(turns[place].text) not in evaluated
            ]
        people += chosen
    return people


Floats = NDArray[np.float64]
WINDOW = 20  # conversations scored at once; a stopped run continues from the cached answers


def values_of(marked: Sequence[Marked], metrics: Sequence[str], preset: str) -> dict[str, Floats]:
    """Return the value of each metric on each turn by the models of a preset; NaN without one."""
    talks: dict[str, Conversation] = {}
    for turn in marked:
        talk = talks.setdefault(turn.talk.id, replace(turn.talk, targets=()))
        talks[talk.id] = replace(talk, targets=(*(talk.targets or ()), turn.turn))
    found: dict[tuple[str, int | None, str], float] = {}
    cache = work_folder("overall") / "cache"
    with grice.load(*metrics, workers=1, cache=cache, models=preset) as grader:
        every = list(talks.values())
        for start in range(0, len(every), WINDOW):
            for score in grader.score(every[start : start + WINDOW]):
                if score.status == "ok" and score.value is not None:
                    found[score.conversation, score.turn, score.metric] = score.value
            print(f"{preset}: {min(start + WINDOW, len(every))} of {len(every)}", flush=True)
    return {
        name: np.array([found.get((turn.talk.id, turn.turn, name), np.nan) for turn in marked])
        for name in metrics
    }
