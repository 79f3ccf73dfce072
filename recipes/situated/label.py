"""Label entities and nouns with spaCy's small English model: the teacher of the tagger.

    python recipes/situated/label.py --data ../shared/data

Needs spaCy and ``en_core_web_sm`` (MIT). Statements that were released with SituatedGen, which
the tagger is measured on, are left out by id and by text.
"""

from __future__ import annotations

import argparse
import json
from importlib import import_module
from pathlib import Path

from corpora import normalise, released, sentences_of

WORK = Path(__file__).parent / "work"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="en_core_web_sm", help="an importable spaCy model")
    arguments = parser.parse_args()
    ids, texts = released(arguments.data)
    kept: dict[str, str] = {}
    left = 0
    for name, text, _ in sentences_of(arguments.data):
        if name in ids or normalise(text) in texts:
            left += 1
        else:
            kept.setdefault(text.strip(), name)
    nlp = import_module(arguments.model).load(exclude=["lemmatizer"])
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
