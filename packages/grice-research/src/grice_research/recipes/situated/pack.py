"""Pack what was trained into the models ``context`` and ``situated``.

Figures of the cards come from the bench, if it has run:
``grice bench situatedgen --json > weights/situated/bench.jsonl``.
"""

from __future__ import annotations

import shutil
from argparse import Namespace
from typing import Any

from grice.models.folder import write_card
from grice_research.places import TASK_MODELS, work_folder
from grice_research.recipes.common import rows_of
from grice_research.training_texts import record_texts

WORK = work_folder("situated")
README = "see README.md of grice_research.recipes.situated: "
FACTS = {
    "context": {
        "kind": "context-tagger",
        "summary": "Places, dates, times, events, other names and nouns of a sentence; where the "
        "predicate of a yes/no question starts.",
        "inputs": "a sentence: the token states of the encoder, its spelling, a list of names",
        "outputs": "character spans with a label of LABELS, spans of nouns, a character place",
    },
    "situated": {
        "kind": "contrast-head",
        "summary": "Plausibility of a pair of sentences against the same pair with its places or "
        "times exchanged; fluency; templates and grouping of the embedded baseline.",
        "inputs": "two sentences and their context entities: encoder vectors of each sentence "
        "without the entity and of the entity",
        "outputs": "contrast, fluency and their product, 0 to 1; contrast 0.5 says nothing",
    },
}
TRAINING: dict[str, dict[str, Any]] = {
    "context": {
        "data": [
            "creak train (MIT), strategyqa train and facts (MIT), arc train (CC BY-SA 4.0), "
            "commonsenseqa train (MIT), csqa2 train (CC BY 4.0)",
            "labels: spaCy's English models en_core_web_sm 3.8 and 3.6, en_core_web_md 3.8 (MIT)",
            "names: places, times and events of WordNet 3.0 (WordNet License), cities, states and "
            "countries of GeoNames (CC BY 4.0)",
        ],
        "selection": [
            "F1 of context words on a tenth of the labelled sentences: epoch",
            "questions held out of training: epoch of the predicate's place",
            "errors on released statements that are in neither dev nor test, read by eye to write "
            "the rules for dates, events and places; each rule kept by what it does on those, and "
            "so the third teacher",
        ],
        "excluded": "every statement and question that SituatedGen released, by id and by text "
        "(letters and digits, lower case): 3,043 rows",
        "command": README + "gazetteer, label, tag, label_questions, clauses, pack",
        "seeds": [0],
    },
    "situated": {
        "data": [
            "creak train, true claims (MIT), strategyqa train, questions and facts (MIT), arc "
            "train (CC BY-SA 4.0), commonsenseqa train (MIT), csqa2 train, right ones (CC BY 4.0)",
            "glosses of named places, people, groups and events of WordNet 3.0 (WordNet License)",
            "lists: kinds of nouns of WordNet 3.0 (WordNet License), names of countries and "
            "states of GeoNames (CC BY 4.0)",
        ],
        "selection": [
            "pairs of held-out entities of the training sources: epoch, seed, decay",
            "keywords of pairs mined from the training sources: the sentence that shows a "
            "keyword's kind; clauses were written after outputs for SituatedGen's dev",
        ],
        "excluded": "rows and texts that SituatedGen's dev and test derive from, by id and by text",
        "command": README + "facts, encode, fit, fluency, group, templates, classes, pack",
        "seeds": [0, 1, 2],
    },
}
FILES = {
    "context": ("tagger.npz", "clauses.npz", "names.txt.gz", "cities.txt.gz"),
    "situated": (
        "contrast.npz", "fluency.npz", "together.npz", "templates.jsonl.gz", "classes.txt.gz",
    ),
}  # fmt: skip
MEASURES = {
    "statements_equal": "context", "context_f1": "context", "context_f1_labels": "context",
    "swap_detection": "situated", "plausibility": "situated", "match_exclusive": "situated",
}  # fmt: skip
"""Measures of the bench and the model whose card states them."""


def figures() -> dict[str, list[dict[str, Any]]]:
    """Return the figures of each card; none before the bench has run."""
    quality: dict[str, list[dict[str, Any]]] = {name: [] for name in FILES}
    measured = WORK / "bench.jsonl"
    for row in rows_of(measured) if measured.is_file() else ():
        measure, _, on = row["measure"].partition(" on ")
        if row["value"] is None or row["row"].startswith("table") or measure not in MEASURES:
            continue
        quality[MEASURES[measure]].append({
            "on": f"{row['row']}, {on or 'SituatedGen test'}", "measure": measure,
            **{key: round(row[key], 4) for key in ("value", "low", "high")}, "n": row["n"],
            "command": "grice bench situatedgen",
        })  # fmt: skip
    return quality


def pack(options: Namespace) -> None:
    """Copy the files, write the cards and record the training texts."""
    del options
    labelled = (row for file in ("labels", "questions") for row in rows_of(WORK / f"{file}.jsonl"))
    texts = {
        "context": [row["text"] for row in labelled],
        "situated": [row[4] for row in rows_of(WORK / "facts.jsonl")],
    }
    quality = figures()
    for name, files in FILES.items():
        folder = TASK_MODELS / name
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            shutil.copyfile(WORK / file, folder / file)
        about = {"name": name, **FACTS[name], "version": "1", "licence": "CC-BY-SA-4.0"}
        about["encoder"] = "encoder"
        write_card(folder, about, TRAINING[name], {}, quality[name], files=files)
        record_texts(folder, texts[name])
        size = sum(path.stat().st_size for path in folder.iterdir())
        print(f"{name}: {size:,} bytes")
