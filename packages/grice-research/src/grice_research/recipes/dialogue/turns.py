"""What is said after what: replies with the turns before them, from the corpora of relevance."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grice_research.recipes.relevance.corpora import evaluated_texts, normalise, read_dialogues

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from grice_research.recipes.relevance.corpora import Dialogue

LAST, BEFORE = 28, 12
"""Words that are read of the end of the last turn, and of the turn before it."""
BETWEEN = " | "

SHARES = {
    "star": 0.4,
    "schema_guided": 0.4,
    "taskmaster4": 0.5,
    "irc": 0.4,
    "novels": 0.8,
    "magazines": 0.8,
    "plays": 0.5,
}
"""How much of a corpus is seen in one epoch, 1 for the others."""


class Utterance(NamedTuple):
    """A reply and what the model reads of the turns before it."""

    query: str
    reply: str
    corpus: str


class Utterances(NamedTuple):
    """All replies, those of held-out conversations apart."""

    training: list[Utterance]
    validation: list[Utterance]


def asked(history: Sequence[str]) -> str:
    """Return the end of the last turn, then the end of the turn before it.

    The last turn stands first, for the engine cuts long prompts at their end.
    """
    parts = [
        " ".join(text.split()[-words:])
        for text, words in zip(reversed(history), (LAST, BEFORE), strict=False)
    ]
    return BETWEEN.join(part for part in parts if part)


def read_utterances(data: Path) -> Utterances:
    """Return every reply of a person that stands in no evaluated set; nor do its two turns."""
    evaluated = evaluated_texts(data)
    training: list[Utterance] = []
    validation: list[Utterance] = []
    for dialogue in read_dialogues(data):
        (validation if dialogue.held_out else training).extend(_utterances(dialogue, evaluated))
    return Utterances(training, validation)


def _utterances(dialogue: Dialogue, evaluated: set[str]) -> Iterator[Utterance]:
    seen = [normalise(turn) in evaluated for turn in dialogue.turns]
    for place in range(1, len(dialogue.turns)):
        if seen[place] or seen[place - 1] or not dialogue.by_person[place]:
            continue
        first = place - 2 if place > 1 and not seen[place - 2] else place - 1
        yield Utterance(asked(dialogue.turns[first:place]), dialogue.turns[place], dialogue.source)
