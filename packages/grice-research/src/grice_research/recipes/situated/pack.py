"""Pack what was trained into the bundles ``context`` and ``situated`` (all other steps first).

    python -m grice_research.recipes.situated.pack

Figures of the cards come from the bench, if it has run:
``grice bench situatedgen --json > weights/situated/bench.jsonl``.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

from grice.models.bundle import file_sha256
from grice_research.places import TASK_MODELS, work_folder
from grice_research.training_texts import record_texts

WORK = work_folder("situated")
TARGET = TASK_MODELS
DATA = {
    "context": [
        "creak train (MIT), strategyqa train and facts (MIT), arc train (CC BY-SA 4.0), "
        "commonsenseqa train (MIT), csqa2 train (CC BY 4.0)",
        "labels: spaCy's English models en_core_web_sm 3.8 and 3.6, en_core_web_md 3.8 (MIT)",
        "names: places, times and events of WordNet 3.0 (WordNet License), cities, states and "
        "countries of GeoNames (CC BY 4.0)",
    ],
    "situated": [
        "creak train, true claims (MIT), strategyqa train, questions and facts (MIT), arc train "
        "(CC BY-SA 4.0), commonsenseqa train (MIT), csqa2 train, right ones (CC BY 4.0)",
        "glosses of named places, people, groups and events of WordNet 3.0 (WordNet License)",
        "lists: kinds of nouns of WordNet 3.0 (WordNet License), names of countries and states of "
        "GeoNames (CC BY 4.0)",
    ],
}
ABOUT = {
    "context": {
        "kind": "context-tagger",
        "summary": "Places, dates, times, events, other names and nouns of a sentence; where the "
        "predicate of a yes/no question starts.",
        "inputs": "a sentence: the token states of the encoder, its spelling, a list of names",
        "outputs": "character spans with a label of LABELS, spans of nouns, a character place",
        "selection": [
            "F1 of context words on a tenth of the labelled sentences: epoch",
            "questions held out of training: epoch of the predicate's place",
            "errors on released statements that are in neither dev nor test, read by eye to write "
            "the rules for dates, events and places; each rule kept by what it does on those, and "
            "so the third teacher",
        ],
        "excluded": "every statement and question that SituatedGen released, by id and by text "
        "(letters and digits, lower case): 3,043 rows",
        "command": "see README.md of grice_research.recipes.situated: "
        "gazetteer, label, tag, label_questions, clauses, pack",
    },
    "situated": {
        "kind": "contrast-head",
        "summary": "Plausibility of a pair of sentences against the same pair with its places or "
        "times exchanged; fluency; templates and grouping of the embedded baseline.",
        "inputs": "two sentences and their context entities: encoder vectors of each sentence "
        "without the entity and of the entity",
        "outputs": "contrast, fluency and their product, 0 to 1; contrast 0.5 says nothing",
        "selection": [
            "pairs of held-out entities of the training sources: epoch, seed, decay",
            "keywords of pairs mined from the training sources: the sentence that shows a "
            "keyword's kind; clauses were written after outputs for SituatedGen's dev",
        ],
        "excluded": "rows and texts that SituatedGen's dev and test derive from, by id and by text",
        "command": "see README.md of grice_research.recipes.situated: "
        "facts, encode, fit, fluency, group, templates, classes, pack",
    },
}
FILES = {
    "context": ("tagger.npz", "clauses.npz", "names.txt.gz", "cities.txt.gz"),
    "situated": (
        "contrast.npz",
        "fluency.npz",
        "together.npz",
        "templates.jsonl.gz",
        "classes.txt.gz",
    ),
}


def of_context() -> list[str]:
    files = (WORK / "labels.jsonl", WORK / "questions.jsonl")
    return [json.loads(line)["text"] for file in files for line in file.open()]


def of_situated() -> list[str]:
    return [json.loads(line)[4] for line in (WORK / "facts.jsonl").open()]


TEXTS = {"context": of_context, "situated": of_situated}


def toml(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def card(name: str, folder: Path, quality: list[dict[str, object]]) -> str:
    about = ABOUT[name]
    lines = [f"name = {toml(name)}", f"kind = {toml(about['kind'])}", 'version = "1"',
             f"summary = {toml(about['summary'])}", 'licence = "CC-BY-SA-4.0"',
             'encoder = "encoder"', f"inputs = {toml(about['inputs'])}",
             f"outputs = {toml(about['outputs'])}", "", "[training]",
             f"data = {toml(DATA[name])}", f"selection = {toml(about['selection'])}",
             f"excluded = {toml(about['excluded'])}", f"command = {toml(about['command'])}",
             "seeds = [0, 1, 2]" if name == "situated" else "seeds = [0]", ""]  # fmt: skip
    for figure in quality:
        lines += ["[[quality]]", *(f"{key} = {toml(value)}" for key, value in figure.items()), ""]
    lines += ["[files]"]
    lines += [f"{toml(file)} = {toml(file_sha256(folder / file))}" for file in FILES[name]]
    return "\n".join(lines) + "\n"


MEASURES = {
    "statements_equal": "context", "context_f1": "context", "context_f1_labels": "context",
    "swap_detection": "situated", "plausibility": "situated", "match_exclusive": "situated",
}  # fmt: skip
"""Measures of the bench and the model whose card states them."""


def figures() -> dict[str, list[dict[str, object]]]:
    """Return the figures of each card; none before the bench has run."""
    quality: dict[str, list[dict[str, object]]] = {"context": [], "situated": []}
    measured = WORK / "bench.jsonl"
    for line in measured.read_text("utf-8").splitlines() if measured.is_file() else ():
        row = json.loads(line)
        measure, _, on = row["measure"].partition(" on ")
        if row["value"] is None or row["row"].startswith("table") or measure not in MEASURES:
            continue
        quality[MEASURES[measure]].append({
            "on": f"{row['row']}, {on or 'SituatedGen test'}", "measure": measure,
            **{key: round(row[key], 4) for key in ("value", "low", "high")}, "n": row["n"],
            "command": "grice bench situatedgen",
        })  # fmt: skip
    return quality


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=tuple(FILES), default=tuple(FILES))
    chosen = parser.parse_args().only
    quality = figures()
    for name in chosen:
        files = FILES[name]
        folder = TARGET / name
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            shutil.copyfile(WORK / file, folder / file)
        (folder / "card.toml").write_text(card(name, folder, quality[name]), "utf-8")
        record_texts(folder, TEXTS[name]())
        size = sum(path.stat().st_size for path in folder.iterdir())
        print(f"{name}: {size:,} bytes")


if __name__ == "__main__":
    main()
