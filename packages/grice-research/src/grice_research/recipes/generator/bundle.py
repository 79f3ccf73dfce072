"""Writes the bundle of a trained generator: engine files, calibration, card, fingerprint of texts.

    python -m grice_research.recipes.generator.bundle [--data ../shared/data]

Prints what the calibration was chosen by: the area under the curve on the development part of CSKB
Population, for likelihood alone, for likelihood against how usual the tail is, and for the fit.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer

from grice.knowledge.generative import GenerativeKnowledge, GenerativeSettings
from grice.models.bundle import file_sha256, open_bundle
from grice.models.embedded import EmbeddedGenerator
from grice.models.registry import read_settings
from grice_research.places import MODELS
from grice_research.recipes.generator.convert import write_engine
from grice_research.recipes.generator.data import Material, material
from grice_research.recipes.generator.model import Shape, TailModel
from grice_research.recipes.generator.train import WORK
from grice_research.recipes.options import parser_of
from grice_research.recipes.plausibility.card import SOURCES as TEACHER_SOURCES
from grice_research.recipes.plausibility.data import ACCENT, read_population, training_examples
from grice_research.recipes.plausibility.measure import weighted
from grice_research.recipes.plausibility.texts import learned
from grice_research.training_texts import record_selection, record_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

FILES = ("config.json", "model.bin", "shared_vocabulary.json", "tokenizer.json")
SOURCES = {
    "atomic2018": "ATOMIC (Sap et al. 2019), samples (CC BY 4.0)",
    "atomic2020": "ATOMIC-2020 (Hwang et al. 2021), samples of train and dev (CC BY 4.0)",
    "event2mind": "Event2Mind train (MIT)",
    "conceptnet": "ConceptNet-100K train, HasSubevent and Causes (CC BY-SA 4.0)",
}
COMMAND = "python -m grice_research.recipes.generator.train --data ../shared/data"


class Calibration(NamedTuple):
    """Plausibility is a logistic function: weights of both likelihoods, and what is added."""

    given: float
    usual: float
    bias: float


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--run", type=Path, default=WORK / "seed0")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=MODELS / "comet")
    arguments = parser.parse_args()
    torch.set_num_threads(1)

    tokenizer = Tokenizer.from_file(str(arguments.run / "tokenizer.json"))
    shape = Shape(tokenizer.get_vocab_size())
    model = TailModel(shape, 0.0)
    model.load_state_dict(torch.load(arguments.run / "model.pt", weights_only=True))
    write_engine(model, tokenizer, arguments.out)
    heads = material(arguments.data)
    write_card(arguments.out, heads, arguments.seed, Calibration(1.0, 0.0, 0.0))
    write_card(
        arguments.out,
        heads,
        arguments.seed,
        calibrated(arguments.data, open_knowledge(arguments.out)),
    )
    record_texts(arguments.out, seen(arguments.data, heads))
    record_selection(arguments.out, looked_at(arguments.data))
    for name in FILES:
        print(f"{name}: {(arguments.out / name).stat().st_size / 1e6:.2f} MB")


def open_knowledge(folder: Path) -> GenerativeKnowledge:
    bundle = open_bundle(folder)
    generator = EmbeddedGenerator(bundle, mode="exact", threads=1)
    return GenerativeKnowledge(bundle, read_settings(bundle, GenerativeSettings), generator)


def calibrated(data: Path, knowledge: GenerativeKnowledge) -> Calibration:
    """Fit the weights within relations: how plausible a relation is as such is left out of it."""
    triples, labels, names = read_population(data, "dev")
    likelihoods = knowledge.likelihoods(triples)
    kept = np.array([likelihood is not None for likelihood in likelihoods])
    values = np.array([likelihood for likelihood in likelihoods if likelihood is not None])
    labels, names = labels[kept], names[kept]
    for title, scores in {
        "likelihood": values[:, 0],
        "likelihood against usual": values[:, 0] - values[:, 1],
    }.items():
        print_areas(title, scores, labels, names)
    relations, codes = np.unique(names, return_inverse=True)
    inputs = torch.from_numpy(values).double()
    wanted = torch.from_numpy(labels).double()
    weights = torch.zeros(2, dtype=torch.double, requires_grad=True)
    levels = torch.zeros(len(relations), dtype=torch.double, requires_grad=True)
    optimiser = torch.optim.LBFGS([weights, levels], max_iter=300)

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        logits = inputs @ weights + levels[torch.from_numpy(codes)]
        value = torch.nn.functional.binary_cross_entropy_with_logits(logits, wanted)
        value.backward()
        return value

    optimiser.step(loss)
    given, usual = weights.detach().tolist()
    scores = values @ np.array([given, usual])
    print_areas(f"{given:.3f} * likelihood + {usual:.3f} * usual", scores, labels, names)
    return Calibration(round(given, 4), round(usual, 4), round(float(-np.median(scores)), 4))


def print_areas(title: str, scores: np.ndarray, labels: np.ndarray, names: np.ndarray) -> None:
    accent = np.isin(names, ACCENT)
    every = weighted(scores, labels, names)
    twelve = weighted(scores[accent], labels[accent], names[accent])
    print(f"CSKB dev, weighted AUC: {title}: {every:.4f} all, {twelve:.4f} ACCENT's 12")


def seen(data: Path, heads: Material) -> Iterator[str]:
    """Yield every text of both parts of the training, the held-out ones included."""
    for head in (*heads.training, *heads.validation):
        yield head.text
        for _, tail in head.tails:
            yield tail
    yield from learned(training_examples(data)[0])


def looked_at(data: Path) -> Iterator[str]:
    """Yield the texts that the calibration was fitted on."""
    triples, _, _ = read_population(data, "dev")
    for triple in triples:
        yield from (triple.head, triple.tail)


def write_card(out: Path, split_heads: Material, seed: int, calibration: Calibration) -> None:
    reasons = "; ".join(
        f"{reason}: {count}" for reason, count in sorted(split_heads.dropped.items())
    )
    shown = {name: text for name, text in TEACHER_SOURCES.items() if name not in SOURCES}
    heads = len(split_heads.training)
    lines = [
        'name = "comet"',
        'kind = "generative-knowledge"',
        'version = "2"',
        f'summary = "Writes tails of ATOMIC-2020\'s relations; learned from {heads} events."',
        'licence = "CC-BY-SA-4.0"',
        'inputs = "an event and a relation; or a triple"',
        'outputs = "tails by beam search; plausibility 0 to 1, 0.5: that of the median triple of'
        ' CSKB Population dev"',
        "",
        "[training]",
        "data = [",
        *(f'  "{SOURCES[name]}: {split_heads.sources[name]} triples",' for name in SOURCES),
        *(f'  "sentence vectors only: {text}",' for text in shown.values()),
        "]",
        "selection = [",
        f'  "{len(split_heads.validation)} of the heads, held out",',
        '  "CSKB Population dev (three numbers of the calibration)",',
        "]",
        'excluded = "heads (in a crude lemma form) and texts of CSKB Population, of the tests of'
        " ATOMIC and ATOMIC-2020, of human DECO triples, DECO and ConTurE turns; rows dropped: "
        f'{reasons}"',
        f'command = "{COMMAND}"',
        f"seeds = [{seed}]",
        "",
        "[settings]",
        'schema = "atomic2020"',
        "# In int8 a text's bits do not depend on its neighbours in the batch, so this",
        "# model runs in int8 in both modes.",
        'arithmetic = "int8"',
        "max_tokens = 12",
        f"max_prompt_tokens = {Shape(0).source_length}",
        f"max_scored_tokens = {Shape(0).target_length - 2}",
        f"given = {calibration.given}",
        f"usual = {calibration.usual}",
        f"bias = {calibration.bias}",
        "",
        "[files]",
        *(f'"{name}" = "{file_sha256(out / name)}"' for name in FILES),
    ]
    (out / "card.toml").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
