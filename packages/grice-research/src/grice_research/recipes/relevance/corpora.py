"""Which conversations the relevance head learns from, and which texts it must never see."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from grice_research.benches.breakdowns import FILE as BREAKDOWNS
from grice_research.benches.breakdowns import is_validation
from grice_research.recipes.common import rows_of, strings_in
from grice_research.training_texts import normalised as normalise

HELD_OUT = 0.06  # share of the conversations (novels: of the books) that are never trained on

HELD_OUT_RATED = 0.30
"""The same for the conversations whose messages people rated: they also choose the settings."""


class Source(NamedTuple):
    """One corpus file: where it is, which rows may be used, what share of them is."""

    name: str
    file: str
    licence: str
    share: float = 1.0
    splits: str = ""  # all if empty


_LISTED = tomllib.loads((Path(__file__).parent / "corpora.toml").read_text("utf-8"))["sources"]
SOURCES = tuple(Source(**each) for each in _LISTED)

# everyday_conversations is left out: it was written by Llama 3.1, whose licence asks that a model
# trained on its output carry its name.

MIN_CONFIDENCE = {"novels": 0.9, "magazines": 0.65}
"""Novels have inferred speakers; below this the order of turns is less sure."""


class Message(NamedTuple):
    """A message that a participant rated: the turns before it, its text, good or bad."""

    history: tuple[str, ...]
    text: str
    good: bool


class Dialogue(NamedTuple):
    """One conversation; messages that a speaker sent in a row are one turn.

    ``by_person`` is false for the turns of the chatbots of ConvAI 2017, which are no examples of
    good replies.
    """

    source: str
    id: str
    turns: tuple[str, ...]
    by_person: tuple[bool, ...]
    held_out: bool
    rated: tuple[Message, ...]


def read_dialogues(data: Path) -> Iterator[Dialogue]:
    """Yield every conversation that may train, in a fixed order."""
    for source in SOURCES:
        for row in rows_of(data / f"{source.file}.jsonl.gz"):
            if _is_used(source, row):
                yield _dialogue(source, row)


EVALUATED = ("abc_eval", "accent_deco", "dailydialog_plusplus", "deam", "predictive_engagement",
             "rated", "topical_chat/test", "wow_plus_plus")  # fmt: skip
"""Folders, or beginnings of file names, of the sets that metrics are measured on."""


def evaluated_texts(data: Path) -> set[str]:
    """Return the normalised texts of the evaluated sets, with those of breakdowns measured on."""
    files = [
        path
        for place in EVALUATED
        for path in sorted({*data.glob(f"{place}/*.jsonl*"), *data.glob(f"{place}*.jsonl*")})
    ]
    rows = [row for path in files for row in rows_of(path)]
    rows += [row for row in rows_of(data / BREAKDOWNS) if is_validation(row["id"])]
    return {normalise(text) for row in rows for text in strings_in(row)} - {""}


def spoken_texts(data: Path, names: Iterable[str]) -> Iterator[str]:
    """Yield the turns of some files of DECO and ConTurE, and of all rated sets."""
    files = [data / f"accent_deco/{name}.jsonl" for name in names]
    for path in (*files, *sorted((data / "rated").glob("*.gz"))):
        for row in rows_of(path):
            for text in strings_in(row):
                yield from text.split("</UTT>")


def redial_windows(data: Path) -> Iterator[tuple[str, list[str], dict[str, Any]]]:
    """Yield the windows of AB-ReDial: conversation, texts up to the rated reply, the record."""
    for row in rows_of(data / "ab_redial/ab_redial.jsonl.gz"):
        for window in row["windows"]:
            turns = (*window["context"], window["response"])
            texts = (turn if isinstance(turn, str) else turn["text"] for turn in turns)
            yield row["id"], [" ".join(text.split()) for text in texts], window


def _fraction(*key: str) -> float:
    """Map a key to [0, 1), evenly and the same on every machine."""
    return int.from_bytes(sha256("\0".join(key).encode()).digest()[:8], "big") / 2**64


def _is_used(source: Source, row: dict[str, Any]) -> bool:
    meta = row.get("meta") or {}
    return (
        (not source.splits or row["split"] in source.splits.split())
        and not meta.get("amt50", False)
        and meta.get("conf", 1.0) >= MIN_CONFIDENCE.get(source.name, 0.0)
        and _fraction("share", row["id"]) < source.share
    )


def _dialogue(source: Source, row: dict[str, Any]) -> Dialogue:
    meta = row.get("meta") or {}
    ratings = meta.get("utt_eval") or []
    users = meta.get("users") or {}
    turns: list[str] = []
    by_person: list[bool] = []
    rated: list[Message] = []
    speaker = None
    for i, turn in enumerate(row["turns"]):
        text = " ".join(turn["text"].split())
        if not text:
            continue
        starts = turn["speaker"] != speaker
        if starts and turns and i < len(ratings) and ratings[i]:
            rated.append(Message(tuple(turns[-4:]), text, ratings[i] == 2))
        if starts:
            turns.append(text)
            by_person.append(users.get(turn["speaker"]) != "Bot")
        else:
            turns[-1] += " " + text
        speaker = turn["speaker"]
    held_out = is_held_out(source.name, meta.get("book", row["id"]))
    return Dialogue(source.name, row["id"], tuple(turns), tuple(by_person), held_out, tuple(rated))


def is_held_out(source: str, unit: str) -> bool:
    """Return whether a unit of a corpus, such as a conversation by its id, is never trained on."""
    share = HELD_OUT_RATED if source.startswith("convai") else HELD_OUT
    return _fraction("held out", unit) < share
