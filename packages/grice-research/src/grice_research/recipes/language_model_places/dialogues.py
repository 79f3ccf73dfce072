"""Makes ``dialogues-medium``: what the likelihoods of turns are worth for coherence.

    grice models get medium
    python -m grice_research.recipes.language_model_places.dialogues

The weights are fitted on conversations of people, each intact and broken once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from grice.evaluation.trained import record_selection
from grice.folders import cache_folder
from grice.metrics.coherence.language_model import LanguageDialogueSettings, LanguageModelDialogues
from grice.metrics.coherence.protocol import Dialogue
from grice.models.bundle import write_card
from grice.models.models import Models
from grice.models.protocols import CausalLM
from grice_research.recipes.coherence.data import broken, intact
from grice_research.recipes.language_model_places.options import (
    Made,
    Quality,
    measured,
    options_of,
)
from grice_research.recipes.plausibility.measure import auc, interval
from grice_research.training.logistic import fit_logistic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice_research.recipes.coherence.data import Sample

NAME = "dialogues-medium"
COMMAND = "python -m grice_research.recipes.language_model_places.dialogues"
SAMPLE = 40
"""Conversations, each read intact and broken."""
KINDS = ("turn-order", "half-swap", "section-replacement", "turn-insertion", "turn-replacement",
         "contradiction")  # fmt: skip
MOST_WORDS = 120
PERMUTATIONS = 2
PENALTY = 0.03
START = {"weight_mean": 1.0, "weight_worst": 0.0, "weight_gain": 0.0, "bias": 0.0,
         "weight_turn": 1.0, "bias_turn": 0.0}  # fmt: skip


def card(made: Made, settings: dict[str, float], quality: Quality) -> None:
    """Write the card of the bundle."""
    facts = {
        "name": made.name,
        "kind": "language-model-dialogues",
        "version": "1",
        "summary": f"Coherence of conversations by the likelihood of their turns to {made.base}",
        "licence": "Apache-2.0",
        "inputs": "a conversation",
        "outputs": "0 to 1: as likely an intact conversation as a broken one is 0.5",
    }
    training = {
        "data": ["nothing but six numbers"],
        "selection": [f"{made.sample} conversations of people, as listed for bundle:coherence, "
                      "intact and broken"],
        "excluded": "conversations with a text of an evaluated set",
        "command": COMMAND,
    }  # fmt: skip
    stated = {"base": made.base, "permutations": PERMUTATIONS, **settings}
    write_card(made.folder, facts, training, stated, quality, files=())


def dialogue(sample: Sample) -> Dialogue:
    """Return a sample as the metric reads it."""
    return Dialogue(tuple("AB"[speaker] for speaker in sample.speakers), sample.turns)


def main() -> None:
    made = options_of(__doc__, NAME, sample=SAMPLE)
    whole = sorted(intact(made.data), key=lambda sample: crc32(sample.id.encode()))
    short = [
        sample for sample in whole if sum(len(text.split()) for text in sample.turns) <= MOST_WORDS
    ]
    chosen = short[: made.sample]
    samples = [*chosen, *_broken(chosen)]
    labels = np.array([float(not sample.kind) for sample in samples])
    settings = LanguageDialogueSettings(base=made.base, permutations=PERMUTATIONS, **START)
    with Models(mode="fast", workers=1, cache=cache_folder()) as models:
        model = LanguageModelDialogues(models.open(made.base, CausalLM), settings, NAME)
        likely = model.likely([dialogue(sample) for sample in samples])
    values = np.array([(each.mean, each.worst, each.gain) for each in likely])
    areas = {
        title: interval(auc, column, labels)
        for title, column in zip(("mean", "worst", "gain"), values.T, strict=True)
    }
    quality = measured("intact or broken (weighed on them)", areas, len(labels), COMMAND)
    fitted = fit_logistic(values, labels, penalties=PENALTY)
    turns = np.concatenate([each.turns[1:] for each in likely])
    names = ("weight_mean", "weight_worst", "weight_gain")
    weights = {name: round(float(value), 4)
               for name, value in zip(names, fitted.weights, strict=True)}  # fmt: skip
    # A turn of the usual likelihood has 0.5; a nat is worth a unit of log odds.
    turn = {"weight_turn": 1.0, "bias_turn": round(-float(np.median(turns)), 4)}
    card(made, {**weights, "bias": round(fitted.bias, 4), **turn}, quality)
    record_selection(made.folder, (text for sample in chosen for text in sample.turns))


def _broken(chosen: list[Sample]) -> Iterator[Sample]:
    """Yield each conversation broken once, in another way than the one before it."""
    ways: dict[str, list[Sample]] = {}
    for sample in broken(chosen, KINDS, seed=0):
        ways.setdefault(sample.id, []).append(sample)
    for number, versions in enumerate(ways.values()):
        yield versions[number % len(versions)]


if __name__ == "__main__":
    main()
