"""Makes ``links-medium``: links of a conversation that a language model chooses.

    grice models get medium
    python -m grice_research.recipes.language_model_places.links

One number is set, on conversations of people: it gives as many links as what ships.
"""

from __future__ import annotations

import math
from itertools import islice
from typing import TYPE_CHECKING

import grice
from grice.folders import cache_folder
from grice.models.bundle import write_card
from grice.models.models import Models
from grice.models.protocols import CausalLM
from grice.records import Conversation
from grice_research.recipes.language_model_places.options import options_of
from grice_research.training_texts import record_selection
from grice_tasks.cider.find import Wanted, find_all
from grice_tasks.cider.language_model import LanguageLinkSettings, LikelihoodLinks
from grice_tasks.cider.models import TripletModels

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NAME = "links-medium"
COMMAND = "python -m grice_research.recipes.language_model_places.links"
SHIPPED = "bundle:triplets"
SAMPLE, TURNS = 20, 12
"""Conversations, and the turns of each that are read."""


def conversations(data: Path, count: int) -> list[Conversation]:
    """Return the beginnings of so many conversations of people."""
    read = grice.read(data / "persuasion_for_good" / "dialogues.jsonl.gz")
    return [Conversation(talk.id, talk.turns[:TURNS]) for talk in islice(read, count)]


def implicit(talks: Sequence[Conversation], base: str) -> tuple[int, list[float]]:
    """Return how many links between the lines ships finds, and the confidence of the model's."""
    settings = LanguageLinkSettings(parts=(base, SHIPPED), weight=1.0, bias=0.0)
    with Models(mode="fast", workers=1, cache=cache_folder()) as models:
        heads = models.open(SHIPPED, TripletModels)
        judge = LikelihoodLinks(models.open(base, CausalLM), settings)
        shipped = [link for links in find_all(talks, heads) for link in links]
        everything = find_all(talks, heads._replace(judged=judge), Wanted(least=0.0))
        judged = [link for links in everything for link in links]
    return (
        sum(not link.explicit for link in shipped),
        [link.confidence for link in judged if not link.explicit],
    )


def main() -> None:
    made = options_of(__doc__, NAME, sample=SAMPLE)
    talks = conversations(made.data, made.sample)
    count, confidences = implicit(talks, made.base)
    if not count:
        raise SystemExit("what ships finds no link between the lines: take more conversations")
    # Between the surest that counts and the next one; links are as many as those that ship.
    surest = sorted(confidences, reverse=True)[count - 1 : count + 1]
    bias = round(-sum(math.log(value / (1 - value)) for value in surest) / len(surest), 2)
    print(f"{count} links between the lines ship; {len(confidences)} judged; bias {bias}")
    facts = {
        "name": made.name,
        "kind": "language-model-links",
        "version": "1",
        "summary": f"Links of a conversation that {made.base} chooses of those that ship proposes",
        "licence": "Apache-2.0",
        "inputs": "a conversation",
        "outputs": "links, each with a confidence",
    }
    training = {
        "data": ["nothing but a number"],
        "selection": [f"{made.sample} conversations of persuasion_for_good (Apache-2.0)"],
        "command": COMMAND,
    }
    settings = {"parts": [made.base, SHIPPED], "weight": 1.0, "bias": bias}
    write_card(made.folder, facts, training, settings, files=())
    record_selection(made.folder, (turn.text for talk in talks for turn in talk.turns))


if __name__ == "__main__":
    main()
