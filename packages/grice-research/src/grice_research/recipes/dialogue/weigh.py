"""Replies with a known answer, and how well likelihoods alone tell good from bad ones.

    python -m grice_research.recipes.dialogue.weigh --data ../shared/data

Good and bad are true replies against random and against damaged ones, and messages of bots and of
all that people called good or bad, all of held-out conversations. ``train.py bundle`` writes the
figures into the card.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import lemminflect
import numpy as np

from grice.models.embedded import EmbeddedGenerator
from grice.models.loader import ModelLoader
from grice.models.ranker import FluencyModel
from grice_research.places import work_folder
from grice_research.recipes.common import figure_of, parser_of, write_rows
from grice_research.recipes.relevance.corpora import (
    Dialogue,
    evaluated_texts,
    normalise,
    read_dialogues,
)
from grice_research.roc import roc_areas

TRUE = 2400  # true replies that are drawn, of each corpus alike as far as it goes
TURNS = 4
# fmt: off
GLUE = frozenset((
    "a", "an", "the", "is", "are", "was", "were", "am", "be", "been", "to", "of", "in", "on", "at",
    "for", "with", "and", "but", "or", "not", "do", "does", "did", "have", "has", "had", "will",
    "would", "can", "could", "it", "he", "she", "they", "we", "i", "you", "my", "your", "that",
    "this", "there",
))
# fmt: on
PIECES = re.compile(r"\s*\S+")


class Trial(NamedTuple):
    kind: str
    history: tuple[str, ...]
    reply: str
    label: int
    group: str
    author: str = "person"


def trials(data: Path) -> list[Trial]:
    """Return true replies of held-out conversations, others in their place, and rated messages."""
    random = np.random.default_rng(0)
    evaluated = evaluated_texts(data)
    by_source: dict[str, list[Trial]] = {}
    held = [dialogue for dialogue in read_dialogues(data) if dialogue.held_out]
    for dialogue in held:
        for place in range(1, len(dialogue.turns)):
            reply, before = dialogue.turns[place], dialogue.turns[max(0, place - TURNS) : place]
            usable = not {normalise(text) for text in (reply, *before)} & evaluated
            if usable and dialogue.by_person[place] and normalise(reply):
                made = Trial("true", before, reply, 1, dialogue.id)
                by_source.setdefault(dialogue.source, []).append(made)
    each = TRUE // len(by_source)
    kept = []
    for source in sorted(by_source):
        rows = random.permutation(len(by_source[source]))[:each]
        some = [by_source[source][i] for i in rows]
        others = random.permutation(len(some))
        for trial, other in zip(some, others, strict=True):
            kept.append(trial)
            if normalise(some[other].reply) != normalise(trial.reply):
                kept.append(trial._replace(kind="random", reply=some[other].reply, label=0))
            if (broken := damaged(trial.reply, random)) is not None:
                kept.append(trial._replace(kind="damaged", reply=broken, label=0))
    return [*kept, *messages(held, evaluated)]


def messages(held: list[Dialogue], evaluated: set[str]) -> Iterator[Trial]:
    """Yield the messages of held-out conversations that people called good or bad."""
    for dialogue in held:
        authors = dict(zip(dialogue.turns, dialogue.by_person, strict=True))
        for message in dialogue.rated:
            known = [normalise(text) in evaluated for text in message.history]
            first = max((i + 1 for i, seen in enumerate(known) if seen), default=0)
            if first == len(known) or normalise(message.text) in evaluated:
                continue
            # A message may be the beginning of a turn.
            by = next((p for text, p in authors.items() if text.startswith(message.text)), True)
            about = (int(message.good), dialogue.id, "person" if by else "bot")
            yield Trial("message", message.history[first:], message.text, *about)


def damaged(text: str, random: np.random.Generator) -> str | None:
    """Return the text with one or two slips of a learner or of a generator; None if too short."""
    words = [piece.strip() for piece in PIECES.findall(text)]
    if len(words) < 4:
        return None
    made = words
    for _ in range(1 + (len(words) > 12)):
        made = SLIPS[random.integers(len(SLIPS))](made, random)
    return None if made == words else " ".join(made)


def _dropped(words: list[str], random: np.random.Generator) -> list[str]:
    places = [i for i, word in enumerate(words) if word.lower() in GLUE]
    place = places[random.integers(len(places))] if places else int(random.integers(len(words)))
    return words[:place] + words[place + 1 :]


def _swapped(words: list[str], random: np.random.Generator) -> list[str]:
    place = int(random.integers(len(words) - 1))
    return [*words[:place], words[place + 1], words[place], *words[place + 2 :]]


def _doubled(words: list[str], random: np.random.Generator) -> list[str]:
    start = int(random.integers(len(words) - 1))
    end = start + int(random.integers(1, 3))
    return words[:end] + words[start:end] + words[end:]


def _bent(words: list[str], random: np.random.Generator) -> list[str]:
    for place in random.permutation(len(words)):
        forms = {form for tag in lemminflect.getAllInflections(words[place]).values()
                 for form in tag} - {words[place]}  # fmt: skip
        if words[place].isalpha() and words[place].lower() not in GLUE and forms:
            bent = sorted(forms)[random.integers(len(forms))]
            return [*words[:place], bent, *words[place + 1 :]]
    return _swapped(words, random)


def _borrowed(words: list[str], random: np.random.Generator) -> list[str]:
    """Say a word of the reply in the place of another."""
    here, there = random.choice(len(words), 2, replace=False)
    return [words[there] if i == here else word for i, word in enumerate(words)]


SLIPS = (_dropped, _dropped, _swapped, _doubled, _bent, _borrowed)


WORK = work_folder("dialogue")
ON = {
    "random": "true replies against random ones",
    "damaged": "true replies against damaged ones",
    "bots' messages": "bots' messages that people called good against bad ones",
    "all messages": "messages that people called good against bad ones",
}
COMMAND = "python -m grice_research.recipes.dialogue.weigh --data ../shared/data"


def main() -> None:
    every = trials(parser_of(__doc__).parse_args().data)
    loader = ModelLoader(mode="exact", workers=1, cache=None)
    model = f"file:{WORK / 'seed0/bundle'}"
    oddness = FluencyModel(loader.folder(model), loader.load(model, EmbeddedGenerator))
    odd = np.array(oddness.disfluency([trial.reply for trial in every]))
    kinds = np.array([trial.kind for trial in every])
    messages = kinds == "message"
    tasks = {
        "random": np.isin(kinds, ("true", "random")),
        "damaged": np.isin(kinds, ("true", "damaged")),
        "bots' messages": messages & np.array([trial.author == "bot" for trial in every]),
        "all messages": messages,
    }
    figures = []
    for name, chosen in tasks.items():
        rows = np.flatnonzero(chosen)
        labels = [float(every[row].label) for row in rows]
        groups = [every[row].group for row in rows]
        if len(set(labels)) == 2:
            area = roc_areas({"odd": -odd[rows]}, labels, groups=groups).areas["odd"]
            on, measure = f"held out: {ON[name]}", "area under the curve, oddness"
            figures.append(figure_of(on, measure, area, COMMAND, len(rows)))
            print(json.dumps(figures[-1]))
    WORK.mkdir(parents=True, exist_ok=True)
    write_rows(WORK / "weighed.jsonl", figures)


if __name__ == "__main__":
    main()
