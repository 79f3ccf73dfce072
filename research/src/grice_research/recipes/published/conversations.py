"""Conversations of people and manipulated copies, as ``grice train deam`` reads them.

The manipulations are DEAM's four on the words: no parser of AMR is at hand. Neither side went
through a generator, which in the paper both did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grice.files import write_text
from grice.perturb.run import perturb
from grice.records import Conversation, Turn
from grice_research.recipes.relevance.corpora import evaluated_texts, normalise, read_dialogues

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SOURCES = ("topical_chat", "synthetic_persona_chat")
"""In the places of Topical-Chat and PersonaChat: the parts at hand that may train."""
FEWEST, MOST = 6, 14
"""Turns of a conversation; of a longer one the first are used."""
WORDS = 3
"""A shorter text may stand in an evaluated set as well."""
END = "</UTT>"


def write_conversations(data: Path, path: Path, count: int) -> None:
    """Write so many conversations, each with its manipulated copy behind it, evenly by source."""
    lines: list[str] = []
    rng = np.random.default_rng(0)
    conversations = list(_conversations(data))
    for source in SOURCES:
        of_source = [conversation for name, conversation in conversations if name == source]
        pairs = (
            (conversation, perturbed.conversation)
            for i in rng.permutation(len(of_source))
            if (perturbed := perturb(conversation := of_source[i], "deam", seed=1000))
        )
        for pair, _ in zip(pairs, range(count // len(SOURCES)), strict=False):
            lines += [_line(side, label) for side, label in zip(pair, (1, 0), strict=True)]
    write_text(path, "".join(lines))


def _conversations(data: Path) -> Iterator[tuple[str, Conversation]]:
    evaluated = evaluated_texts(data)
    for dialogue in read_dialogues(data):
        texts = dialogue.turns[:MOST]
        if dialogue.source not in SOURCES or len(texts) < FEWEST:
            continue
        if any(len(t.split()) >= WORDS and normalise(t) in evaluated for t in texts):
            continue
        turns = tuple(Turn(speaker="AB"[i % 2], text=text) for i, text in enumerate(texts))
        yield dialogue.source, Conversation(id=dialogue.id, turns=turns)


def _line(conversation: Conversation, label: int) -> str:
    texts = (" ".join(turn.text.split()) for turn in conversation.turns)
    return "".join(f"{text}{END}" for text in texts) + f"{label}\n"
