"""Measure the tagger on each source with every statement of that source left out of its training.

    python -m grice_research.recipes.situated.sources --data ../shared/data

For each of the five sources the tagger is fitted as ``tag.py`` fits it (16,000 sentences, epoch by
a tenth of them), but for the sentences of that source, and measured on its released statements: on
all of them, and on those of dev and test. OpenBookQA trains nothing, so that it is left out of
every fit. The last column leaves out the rules for dates and events and the lists of places, which
were written after errors on released statements that are in neither dev nor test, of all sources.
Token states are kept in ``work/states``, networks in ``work/without``: what is there is
not made again.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import numpy as np
import torch

from grice.models.bundle import open_bundle
from grice.models.embedded import EmbeddedEncoder
from grice.models.models import Models
from grice.stats.estimate import Estimate
from grice_research.benches._situatedgen import (
    Read,
    context_f1,
    evaluated_statements,
    found_in,
    named_entities,
)
from grice_research.places import work_folder
from grice_research.recipes.situated.corpora import SOURCES, rows
from grice_research.recipes.situated.evaluate import as_quality
from grice_research.recipes.situated.states import State, states_of
from grice_research.recipes.situated.tag import chosen, features, fit, labelled, parted
from grice_tasks.situatedgen.models import ContextModels
from grice_tasks.situatedgen.records import Question
from grice_tasks.situatedgen.statements import to_statements
from grice_tasks.situatedgen.tagger import ContextTagger, Names

WORK = work_folder("situated")
MOST, WIDTH = 16_000, 160
COMMAND = "python -m grice_research.recipes.situated.sources"
Labelled = dict[str, object]
Words = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
Line = tuple[str, str, list[tuple[str, str]]]
"""Name, text as the pipeline reads it, and released entities of a statement."""


def statements(data: Path, context: ContextModels) -> dict[str, list[Line]]:
    """Return the released statements of each source; questions are turned by the pipeline."""
    by_source: dict[str, list[Line]] = {}
    for source in SOURCES:
        lines = list(rows(data / f"situatedgen/statements_{source}.jsonl.gz"))
        turned = {line["id"]: str(line["statement"]).strip() for line in lines}
        if source == "strategyqa":
            asked = [Question(r["id"], r["question"], r["answer"], "yes_no") for r in lines]
            turned |= {
                statement.id: statement.statement
                for statement in to_statements(asked, context.clauses)
            }
        by_source[source] = [(r["id"], turned[r["id"]], named_entities(r)) for r in lines]
    return by_source


def of_source(row: Labelled, source: str) -> bool:
    """Say whether a labelled sentence is from a source, its facts included."""
    return str(row["id"]).split("::")[0] in (source, f"{source}-fact")


def fit_without(
    source: str, kept: list[Labelled], every: list[Labelled], words: Words, seeds: int
) -> None:
    """Fit the tagger without a source, once for each seed.

    Args:
        source: What is left out.
        kept: The labelled sentences that are not.
        every: All labelled sentences that any fit reads.
        words: Features, tags, nouns and sentences (their number in ``every``) of the words.
        seeds: How many fits.
    """
    numbers = {row["text"]: i for i, row in enumerate(every)}
    places = ([numbers[row["text"]] for row in part] for part in parted(kept))
    masks = (np.isin(words[3], place) for place in places)
    train, valid = (tuple(word[mask] for word in words) for mask in masks)
    print(f"without {source}: {len(kept):,} sentences, {len(train[1]):,} words", flush=True)
    for seed, folder in enumerate(folders_of(source, seeds)):
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("names.txt.gz", "cities.txt.gz"):
            shutil.copyfile(WORK / name, folder / name)
        if not (folder / "tagger.npz").is_file():
            fit(train, valid, WIDTH, folder / "tagger.npz", seed)


def folders_of(source: str, seeds: int) -> list[Path]:
    return [WORK / "without" / f"{source}_{seed}" for seed in range(seeds)]


def fit_all(seeds: int, encoder: EmbeddedEncoder) -> list[str]:
    """Fit whatever tagger is not there; return the sources that any tagger learns from."""
    labels = labelled()
    trained = [name for name in SOURCES if any(of_source(row, name) for row in labels)]
    folders = [folder for name in trained for folder in folders_of(name, seeds)]
    if all((folder / "tagger.npz").is_file() for folder in folders):
        return trained
    kept = {
        name: chosen([row for row in labels if not of_source(row, name)], MOST) for name in trained
    }
    every = list({str(row["text"]): row for part in kept.values() for row in part}.values())
    states = states_of([str(row["text"]) for row in every], encoder)
    names = Names.load(WORK / "names.txt.gz", WORK / "cities.txt.gz")
    words = features(every, names, lambda texts: [states[text] for text in texts])
    for name in trained:
        fit_without(name, kept[name], every, words, seeds)
    return trained


def shown(estimate: Estimate) -> str:
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    data, seeds = arguments.data, arguments.seeds
    torch.set_num_threads(1)
    encoder = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)
    context = Models(mode="exact", workers=1, cache=None).open("bundle:context")
    given = statements(data, context)
    trained = fit_all(seeds, encoder)
    states = states_of([text for lines in given.values() for _, text, _ in lines], encoder)
    unseen = evaluated_statements(data / "situatedgen")

    def hidden(texts: list[str]) -> list[State]:
        return [states[text] for text in texts]

    quality: list[dict[str, object]] = []
    print("| source left out | statements | seed | F1 without articles | F1 as spelt | "
          "without rules | n |\n|---|---|---|---|---|---|---|")  # fmt: skip
    for source, lines in given.items():
        shipped = [open_bundle("context").folder]
        folders = folders_of(source, seeds) if source in trained else shipped
        texts, gold = [line[1] for line in lines], [line[2] for line in lines]
        for seed, folder in enumerate(folders):
            tagger = ContextTagger(folder, hidden, "")
            by_tagger = tagger.find(texts), tagger.find_without_rules(texts)
            sides = [found_in(texts, entities) for entities in by_tagger]
            for on, part in (
                ("all", range(len(lines))),
                ("dev, test", [i for i, line in enumerate(lines) if line[0] in unseen]),
            ):
                figures = [
                    estimate
                    for side in sides
                    for estimate in context_f1([Read(side[i], gold[i]) for i in part])
                ]
                cells = " | ".join(shown(figures[k]) for k in (1, 0, 3))
                print(f"| {source} | {on} | {seed} | {cells} | {len(part):,} |", flush=True)
                if not seed:
                    of = f"{source} left out of training, {on} statements"
                    quality.append(as_quality(of, "context_f1", figures[1], COMMAND))
    (WORK / "quality_sources.json").write_text(json.dumps(quality, indent=1))


if __name__ == "__main__":
    main()
