"""Histories with their true replies, and false replies for them, as rows of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grice_research.recipes.relevance.corpora import Dialogue, normalise

Ints = NDArray[np.int64]

TURNS = 4
MISSING = -1  # index of a turn that is not there; matrix ends with a row of zeros


class Mix(NamedTuple):
    """Which share of the false replies is of which kind; the rest is random, same corpus."""

    other_corpus: float = 0.0
    same_conversation: float = 0.0


class Examples(NamedTuple):
    """Parallel arrays, one entry per reply, conversations in a row."""

    history: Ints
    reply: Ints
    corpus: Ints
    conversation: Ints
    held_out: NDArray[np.bool_]
    good: Ints

    def where(self, rows: NDArray[np.bool_]) -> Examples:
        return Examples(*(column[rows] for column in self))


def texts_of(dialogues: Iterable[Dialogue], excluded: set[str]) -> set[str]:
    texts: set[str] = set()
    for dialogue in dialogues:
        texts.update(dialogue.turns)
        for message in dialogue.rated:
            texts.update((*message.history, message.text))
    return {text for text in texts if normalise(text) not in excluded}


def collect(
    dialogues: Sequence[Dialogue], index: dict[str, int], corpora: Sequence[str]
) -> tuple[Examples, Examples]:
    """Return all replies, and the replies that people rated.

    A text without a vector (an evaluated one) is no reply, and a history begins after it.
    """
    plain: list[tuple[object, ...]] = []
    rated: list[tuple[object, ...]] = []
    for number, dialogue in enumerate(dialogues):
        common = (corpora.index(dialogue.source), number, dialogue.held_out)
        for position in range(1, len(dialogue.turns)):
            before = dialogue.turns[max(0, position - TURNS) : position]
            row = _row(before, dialogue.turns[position], index)
            if row and dialogue.by_person[position]:
                plain.append((*row, *common, -1))
        for message in dialogue.rated:
            row = _row(message.history, message.text, index)
            if row:
                rated.append((*row, *common, int(message.good)))
    return _stack(plain), _stack(rated)


def _row(before: Sequence[str], reply: str, index: dict[str, int]) -> tuple[list[int], int] | None:
    history: list[int] = []
    for text in reversed(before):
        if text not in index:
            break
        history.insert(0, index[text])
    if not history or reply not in index:
        return None
    return [MISSING] * (TURNS - len(history)) + history, index[reply]


def _stack(rows: list[tuple[object, ...]]) -> Examples:
    columns = Examples(*(np.array(column, np.int64) for column in zip(*rows, strict=True)))
    return columns._replace(held_out=columns.held_out.astype(bool))


ONE_TURN, TWO_TURNS = 0.3, 0.15  # shares of histories that are cut to their last turn, and to two


def shorten(history: Ints, rng: np.random.Generator) -> Ints:
    """Cut a share of the histories to their last turn, and a share to the last two."""
    history = history.copy()
    chance = rng.random(len(history))
    history[chance < ONE_TURN, :-1] = MISSING
    history[(chance >= ONE_TURN) & (chance < ONE_TURN + TWO_TURNS), :-2] = MISSING
    return history


def draw_negatives(examples: Examples, rows: Ints, mix: Mix, rng: np.random.Generator) -> Ints:
    """Return for each of the rows the index of a reply that was said somewhere else."""
    order = np.argsort(examples.corpus, kind="stable")
    bounds = np.searchsorted(examples.corpus[order], np.arange(examples.corpus.max() + 2))

    own = examples.corpus[rows]
    replies = examples.reply[order[rng.integers(bounds[own], bounds[own + 1])]]
    kinds = np.searchsorted(np.cumsum(mix), rng.random(len(rows)), side="right")
    chosen = kinds == OTHER_CORPUS
    replies[chosen] = rng.choice(examples.reply, chosen.sum())
    chosen = kinds == SAME_CONVERSATION
    replies[chosen] = _same_conversation(examples, rows[chosen], rng)
    same = replies == examples.reply[rows]
    replies[same] = rng.choice(examples.reply, same.sum())
    return replies


OTHER_CORPUS, SAME_CONVERSATION = range(2)


def _same_conversation(examples: Examples, rows: Ints, rng: np.random.Generator) -> Ints:
    starts = np.searchsorted(examples.conversation, examples.conversation[rows], "left")
    ends = np.searchsorted(examples.conversation, examples.conversation[rows], "right")
    return examples.reply[rng.integers(starts, ends)]
