"""Label entities and nouns with spaCy's small English models: the teachers of the tagger.

    python -m grice_research.recipes.situated.label --data ../shared/data
    python -m grice_research.recipes.situated.label --beside second --model FOLDER_OF_SMALL_3.6
    python -m grice_research.recipes.situated.label --beside third --model FOLDER_OF_MIDDLE_3.8

Needs spaCy with its English models (MIT): ``en_core_web_sm`` 3.8, and ``en_core_web_sm`` 3.6 and
``en_core_web_md`` 3.8, whose entities stand beside those of the first. Statements that were
released with SituatedGen, which the tagger is measured on, are left out by id and by text.
"""

from __future__ import annotations

import json
from importlib import import_module

from grice_research.places import work_folder
from grice_research.recipes.options import parser_of
from grice_research.recipes.situated.corpora import normalise, released, sentences_of

WORK = work_folder("situated")


def label_again(model: str, name: str) -> None:
    """Put the entities of another teacher beside those of the first."""
    rows = [json.loads(line) for line in (WORK / "labels.jsonl").open(encoding="utf-8")]
    nlp = import_module("spacy").load(model, exclude=["lemmatizer", "tagger", "parser"])
    docs = nlp.pipe((row["text"] for row in rows), batch_size=256)
    with (WORK / f"labels_{name}.jsonl").open("w", encoding="utf-8") as out:
        for row, doc in zip(rows, docs, strict=True):
            entities = [(e.start_char, e.end_char, e.label_) for e in doc.ents]
            out.write(json.dumps({"text": row["text"], "entities": entities}) + "\n")
    print(f"{len(rows):,} sentences labelled again")


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--model", default="en_core_web_sm", help="a spaCy model: name or folder")
    parser.add_argument("--beside", choices=("second", "third"), help="label once more")
    arguments = parser.parse_args()
    if arguments.beside:
        label_again(arguments.model, arguments.beside)
        return
    ids, texts = released(arguments.data)
    kept: dict[str, str] = {}
    left = 0
    for name, text, _ in sentences_of(arguments.data):
        if name in ids or normalise(text) in texts:
            left += 1
        else:
            kept.setdefault(text.strip(), name)
    nlp = import_module("spacy").load(arguments.model, exclude=["lemmatizer"])
    WORK.mkdir(exist_ok=True)
    with (WORK / "labels.jsonl").open("w", encoding="utf-8") as out:
        for doc in nlp.pipe(kept, batch_size=256):
            entities = [(e.start_char, e.end_char, e.label_) for e in doc.ents]
            nouns = [(t.idx, t.idx + len(t)) for t in doc if t.pos_ in ("NOUN", "PROPN")]
            row = {"id": kept[doc.text], "text": doc.text, "entities": entities, "nouns": nouns}
            out.write(json.dumps(row) + "\n")
    print(f"{len(kept):,} sentences labelled, {left:,} left out")


if __name__ == "__main__":
    main()
