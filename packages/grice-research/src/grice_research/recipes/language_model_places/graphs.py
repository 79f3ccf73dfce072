"""Makes ``graphs-medium``: examples of ExplaGraphs, and what a nat is worth for a stance.

    grice models get medium
    python -m grice_research.recipes.language_model_places.graphs

The examples and the sample that the two numbers are fitted on are of the training part; both ways
to ask for a stance are printed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from grice.folders import cache_folder
from grice.models.bundle import write_card
from grice.models.choices import Option, option_scores
from grice.models.models import Models
from grice.models.protocols import CausalLM
from grice_research.recipes.language_model_places.options import (
    Made,
    Quality,
    measured,
    options_of,
)
from grice_research.recipes.plausibility.measure import auc, interval
from grice_research.training.logistic import fit_logistic
from grice_research.training_texts import record_selection, record_texts
from grice_tasks.explagraphs.check import check_graph
from grice_tasks.explagraphs.language_model import stance_options
from grice_tasks.explagraphs.samples import read_samples

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from grice_tasks.explagraphs.samples import Sample

NAME = "graphs-medium"
COMMAND = "python -m grice_research.recipes.language_model_places.graphs"
EACH = 2
"""Examples of each stance."""
FACTS = 4
SAMPLE = 100
"""Training samples that the weight of a stance is fitted on."""
PENALTY = 0.01


def direct(belief: str, argument: str) -> tuple[Option, Option]:
    """Return a question with its two answers, the other way to ask."""
    asked = f"Belief: {belief}\nArgument: {argument}\nThe argument"
    neutral = "Belief: N/A\nArgument: N/A\nThe argument"
    return (
        Option(asked, "supports the belief.", neutral),
        Option(asked, "counters the belief.", neutral),
    )


def ordered(data: Path) -> list[Sample]:
    """Return the training part without texts of the development part, by the hash of beliefs."""
    folder = data / "explagraphs"
    evaluated = {
        text.lower()
        for sample in read_samples(folder / "dev.jsonl.gz")
        for text in (sample.belief, sample.argument)
    }
    return sorted(
        (
            sample
            for sample in read_samples(folder / "train.jsonl.gz")
            if not {sample.belief.lower(), sample.argument.lower()} & evaluated
        ),
        key=lambda sample: crc32(sample.belief.lower().encode()),
    )


def examples(samples: list[Sample]) -> list[Sample]:
    """Return valid graphs of few facts, of both stances in turn and of different beliefs."""
    chosen: list[Sample] = []
    for number in range(2 * EACH):
        stance = ("support", "counter")[number % 2]
        beliefs = {sample.belief.lower() for sample in chosen}
        chosen.append(
            next(
                sample
                for sample in samples
                if sample.stance == stance
                and sample.belief.lower() not in beliefs
                and sample.graphs[0].count("(") == FACTS
                and check_graph(sample.graphs[0], sample.belief, sample.argument).ok
            )
        )
    return chosen


def card(made: Made, weight: float, bias: float, quality: Quality) -> None:
    """Write the card of the bundle."""
    facts = {
        "name": made.name,
        "kind": "language-model-graphs",
        "version": "1",
        "summary": f"Stances and explanation graphs by {made.base} after four examples",
        "licence": "CC-BY-SA-4.0",
        "inputs": "a belief and an argument",
        "outputs": "a stance and a valid graph",
    }
    training = {
        "data": ["the examples: ExplaGraphs train (CC BY-SA 4.0)"],
        "selection": [f"ExplaGraphs train, {made.sample} other samples (two numbers)"],
        "excluded": "texts of ExplaGraphs dev",
        "command": COMMAND,
    }
    settings = {"base": made.base, "stance_weight": weight, "stance_bias": bias}
    write_card(made.folder, facts, training, settings, quality, files=("examples.jsonl",))


def texts(samples: list[Sample]) -> Iterator[str]:
    """Yield beliefs and arguments."""
    for sample in samples:
        yield from (sample.belief, sample.argument)


def line(sample: Sample) -> dict[str, Any]:
    """Return a sample as a line of a file of samples."""
    return {
        "id": sample.id,
        "belief": sample.belief,
        "argument": sample.argument,
        "stance": sample.stance,
        "graph": sample.graphs[0],
    }


def main() -> None:
    made = options_of(__doc__, NAME, sample=SAMPLE)
    samples = ordered(made.data)
    shown = examples(samples)
    rest = [sample for sample in samples if sample not in shown][: made.sample]
    lines = (json.dumps(line(sample), ensure_ascii=False) for sample in shown)
    (made.folder / "examples.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    labels = np.array([float(sample.stance == "support") for sample in rest])
    with Models(mode="fast", workers=1, cache=cache_folder()) as models:
        model = models.open(made.base, CausalLM)
        areas = {}
        for title, ask in {"supports or counters": direct, "noisy channel": stance_options}.items():
            scores = option_scores(model, [ask(sample.belief, sample.argument) for sample in rest])
            gaps = np.array([support - counter for support, counter in scores])
            areas[title] = interval(auc, gaps, labels)
    fitted = fit_logistic(gaps[:, None], labels, penalties=PENALTY)
    quality = measured("stance, ExplaGraphs train, sample", areas, len(rest), COMMAND)
    card(made, round(float(fitted.weights[0]), 4), round(fitted.bias, 4), quality)
    record_texts(made.folder, texts(shown))
    record_selection(made.folder, texts(rest))


if __name__ == "__main__":
    main()
