"""Conversations of people and manipulated copies, as ``grice train deam`` reads them.

The manipulations are DEAM's four, on the words or on AMR graphs. On graphs, both sides are what a
generator says of the graphs of a parser, as in the paper; the models are those of
:mod:`grice_research.recipes.published.amr`, trained before. A turn of which no graph could be
read stays as it was on both sides, where the paper leaves its conversation out.
"""

from __future__ import annotations

from itertools import accumulate, chain, islice
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from grice.files import make_folder, write_text
from grice.models.models import Models, default_workers
from grice.models.seq2seq import Search, Seq2Seq
from grice.perturb import Material
from grice.perturb.amr_models import generated_texts, parsed_texts
from grice.perturb.run import perturb
from grice.records import Conversation, Turn
from grice_research.recipes.relevance.corpora import evaluated_texts, normalise, read_dialogues

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

SOURCES = ("topical_chat", "synthetic_persona_chat")
"""In the places of Topical-Chat and PersonaChat: the parts at hand that may train."""
FEWEST, MOST = 6, 14
"""Turns of a conversation; of a longer one the first are used."""
MOST_WORDS = 180
"""Words that turns with graphs may hold together, about as many as the classifier reads: of a
longer conversation the first turns are used, which may be fewer than six."""
WORDS = 3
"""A shorter text may stand in an evaluated set as well."""
END = "</UTT>"
SEED = 1000
"""The paper's."""
GREEDY = Search(beams=1, returned=1, max_pieces=200)
"""How the parser writes here: its four beams would take hours for thousands of turns."""


def write_with_words(data: Path, folder: Path, count: int) -> Path:
    """Write so many conversations, each with its copy manipulated on the words behind it."""
    broken = (
        (
            (conversation, perturbed.conversation)
            for conversation in of_source
            if (perturbed := perturb(conversation, "deam", seed=SEED))
        )
        for of_source in _by_source(data)
    )
    each = count // len(SOURCES)
    return _written(folder, chain.from_iterable(islice(pairs, each) for pairs in broken))


def write_by_trained(data: Path, folder: Path, count: int) -> Path:
    """Write conversations with graphs by the models that were trained beside the folder."""
    names = ("amr-parser-0", "amr-generator-0")
    cache = folder / "answers"
    with Models(mode="fast", workers=default_workers(), cache=cache) as models:
        trained = [
            models.open(f"file:{(folder.parent / each).resolve()}", Seq2Seq) for each in names
        ]
        return write_with_graphs(data, folder, count, *trained)


def write_with_graphs(
    data: Path, folder: Path, count: int, parser: Seq2Seq, generator: Seq2Seq
) -> Path:
    """Write conversations as a generator writes them, each with its manipulated copy.

    Args:
        count: How many are read. One is left out if there is nothing to manipulate, or if its copy
            comes out in the same words.
    """
    each = count // len(SOURCES)
    chosen = [_beginning(talk) for of_source in _by_source(data) for talk in of_source[:each]]
    texts = (turn.text for talk in chosen for turn in talk.turns)
    graphs = parsed_texts(parser, texts, GREEDY)
    # Changed turns stay graphs at first, so that the generator reads all of them together.
    material = Material(chosen, graphs.get, str)
    pairs = [
        (conversation, perturbed.conversation)
        for conversation in chosen
        if (perturbed := perturb(conversation, "deam-amr", seed=SEED, material=material))
    ]
    changed = {turn.text for _, broken in pairs for turn in broken.turns}
    graphs |= {text: text for text in sorted(changed.difference(*map(_texts, chosen)))}
    written = dict(zip(graphs, generated_texts(generator, graphs.values()), strict=True))
    regenerated = ((_regenerated(a, written), _regenerated(b, written)) for a, b in pairs)
    return _written(folder, (pair for pair in regenerated if pair[0].turns != pair[1].turns))


def _beginning(conversation: Conversation) -> Conversation:
    words = accumulate(len(turn.text.split()) for turn in conversation.turns)
    read = sum(total <= MOST_WORDS for total in words)
    return replace(conversation, turns=conversation.turns[:read])


def _texts(conversation: Conversation) -> set[str]:
    return {turn.text for turn in conversation.turns}


def _regenerated(conversation: Conversation, written: Mapping[str, str]) -> Conversation:
    """Return a conversation in a generator's words, where there are any."""
    turns = (replace(turn, text=written.get(turn.text, turn.text)) for turn in conversation.turns)
    return replace(conversation, turns=tuple(turns))


def _written(folder: Path, pairs: Iterable[tuple[Conversation, Conversation]]) -> Path:
    make_folder(folder)
    path = folder / "conversations.txt"
    lines = (_line(side, label) for pair in pairs for side, label in zip(pair, (1, 0), strict=True))
    write_text(path, "".join(lines))
    return path


def _by_source(data: Path) -> list[list[Conversation]]:
    """Return the conversations of each source, in random order."""
    rng = np.random.default_rng(0)
    conversations = list(_conversations(data))
    ordered = []
    for source in SOURCES:
        of_source = [conversation for name, conversation in conversations if name == source]
        ordered.append([of_source[i] for i in rng.permutation(len(of_source))])
    return ordered


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
