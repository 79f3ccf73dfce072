"""Chatbot turns that people voted on or rated: what the order of review is fitted on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

import grice
from grice.data import Conversation, Score, Turn, json_line
from grice.evaluation.review import observed
from grice.scoring.api import Grader
from grice_research.benches import abc_eval, breakdowns
from grice_research.benches.planted_flaws import read_logs
from grice_research.places import work_folder
from grice_research.recipes.common import rows_of
from grice_research.recipes.relevance.corpora import is_held_out
from grice_research.recipes.sense.sources import chatbot_items, shortened, written_items
from grice_research.training_texts import normalised

LOGS, PAIRS = "logs", "pairs"
DEVELOPMENT = "development_logs.jsonl"
CONVAI = "convai2017/convai2017.jsonl.gz"

LETTERS = 20  # shorter texts ("I don't know.") are everybody's and stay
BAD = 1  # rating of a message of convai2017; 2 is good, 0 none


class Marked(NamedTuple):
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
    """Return the turns that may train: none of them stands in a set that the order is measured on.

    Of ``dbdc3`` the seven tenths that are no validation part. Of ``convai2017`` bots' messages that
    a person rated, in the conversations that relevance has not learned from, without those of the
    published study and without those that stand in ``dbdc3``. Of both only conversations that have
    no reply from which the heads of ``sensibleness`` learned. Of the pairs written for it those
    that they have not learned from. Of written logs those for development.
    """
    evaluated, learned = _evaluated(data), _learned(data)
    people = [*_voted(data), *_rated(data)]
    seen = {turn.group for turn in people if not learned.isdisjoint(_exchanges(turn.talk))}
    every = [*(turn for turn in people if turn.group not in seen), *_written(), *_logs()]
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
    """Return the longer texts of the sets that the order is measured on."""
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
            yield Marked(PAIRS, item.kind, f"pair-{number}", talk, len(turns) - 1, flawed)


def _logs() -> Iterator[Marked]:
    """Yield the replies of the logs that were written for development, with their key."""
    keyed = read_logs(DEVELOPMENT)
    places = ((talk, turn) for talk in keyed.talks for turn in talk.targets or ())
    for (talk, turn), flaw in zip(places, keyed.flaws, strict=True):
        yield Marked(LOGS, flaw or "none", talk.id, talk, turn, float(bool(flaw)))


Floats = NDArray[np.float64]

RIDGE = 0.01  # of the weights of witnesses; controls are not held back


class Fit(NamedTuple):
    """Weights of witnesses, at least 0, and of controls."""

    weights: Floats
    controls: Floats


def standardised(columns: Floats, centers: Floats, scales: Floats) -> Floats:
    """Return how bad each witness finds each turn, in standard deviations; 0 where it is silent."""
    return np.nan_to_num((centers - columns) / scales)


def fit(
    witnesses: Floats, controls: Floats, flawed: Floats, weight: Floats, equality: float = 0.0
) -> Fit:
    """Return the weights that maximise the likelihood of the shares of people who marked a turn."""
    count = witnesses.shape[1]
    design = np.concatenate([witnesses, controls], axis=1)
    share = weight / weight.sum()

    def loss(guess: Floats) -> tuple[float, Floats]:
        odds, own = design @ guess, guess[:count]
        apart = own - own.mean()
        value = share @ (np.logaddexp(0, odds) - flawed * odds)
        value += (RIDGE * own @ own + equality * apart @ apart) / 2
        slope = design.T @ (share * (expit(odds) - flawed))
        slope[:count] += RIDGE * own + equality * apart
        return float(value), slope

    bounds = [(0.0, None)] * count + [(None, None)] * controls.shape[1]
    fitted = minimize(loss, np.zeros(design.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds).x
    return Fit(fitted[:count], fitted[count:])


WINDOW = 20
"""Conversations scored at once; a run that is stopped goes on from the answers of its models."""


def column_of(marked: Sequence[Marked], metric: str, preset: str) -> Floats:
    """Return what a witness says of each turn; NaN where it says nothing."""
    folder = work_folder("review")
    folder.mkdir(parents=True, exist_ok=True)
    talks = {turn.talk.id: turn.talk for turn in marked}
    turns: dict[str, list[int]] = {}
    for turn in marked:
        turns.setdefault(turn.talk.id, []).append(turn.turn)
    with grice.load(metric, workers=1, cache=folder / "cache", models=preset) as grader:
        groups = _scored(grader, metric, list(talks.values()), folder / f"{metric}.jsonl")
    seen = {
        (name, turn): what.get(metric)
        for name, wanted in turns.items()
        for turn, what in observed(groups[name], wanted).items()
    }
    scores = (seen.get((turn.talk.id, turn.turn)) for turn in marked)
    values = [None if score is None else score.value for score in scores]
    return np.array([np.nan if value is None else value for value in values])


def _scored(
    grader: Grader, metric: str, talks: Sequence[Conversation], file: Path
) -> dict[str, list[Score]]:
    """Return a metric's scores by conversation: those kept, if they are of this metric and all."""
    groups: dict[str, list[Score]] = {}
    if file.is_file():
        for line in file.read_bytes().splitlines():
            score = msgspec.json.decode(line, type=Score)
            groups.setdefault(score.conversation, []).append(score)
    kept = next((group[0].signature for group in groups.values()), None)
    if kept == grader.signatures[metric] and all(talk.id in groups for talk in talks):
        return groups
    scorer = next(loaded for loaded in grader.scorer.metrics if loaded.metric.name == metric)
    groups = {}
    for start in range(0, len(talks), WINDOW):
        window = talks[start : start + WINDOW]
        for talk, scores in zip(window, scorer.score(window, ()), strict=True):
            groups[talk.id] = list(scores)
        print(f"{metric}: {min(start + WINDOW, len(talks))} of {len(talks)}", flush=True)
    lines = (json_line(score) for group in groups.values() for score in group)
    file.write_bytes(b"\n".join(lines))
    return groups
