"""Mark where the predicate of yes/no questions starts, with spaCy's small English model.

    python -m grice_research.recipes.situated.label_questions --data ../shared/data

Questions that were released with SituatedGen are left out by id and by text.
"""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

from grice_research.places import work_folder
from grice_research.recipes.options import parser_of
from grice_research.recipes.relevance.corpora import rows_of as rows
from grice_research.recipes.situated.corpora import normalise, released, sentences_of

WORDS = (
    "is are was were am do does did can could will would shall should may might must has have had"
)
AUXILIARIES = frozenset(WORDS.split())
SUBJECTS = ("nsubj", "nsubjpass", "csubj", "csubjpass", "expl")
WORK = work_folder("situated")


def predicate_start(doc: Any) -> int | None:  # noqa: ANN401 - a parse of spaCy
    """Return where the first word behind the subject starts; None if the parse shows none."""
    root = next(token for token in doc if token.head == token)
    subjects = [t for t in root.children if t.dep_ in SUBJECTS and t.i > 0]
    if not subjects:
        return None
    last = max(token.i for token in subjects[0].subtree)
    return doc[last + 1].idx if 0 < last + 1 < len(doc) and doc[last + 1].text != "?" else None


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--model", default="en_core_web_sm", help="an importable spaCy model")
    arguments = parser.parse_args()
    ids, texts = released(arguments.data)
    pool = [(name, text) for name, text, _ in sentences_of(arguments.data)]
    filtered = rows(arguments.data / "strategyqa/train_filtered.jsonl.gz")
    pool += [(f"strategyqa::train_filtered::{i}", q["question"]) for i, q in enumerate(filtered)]
    kept = [
        text.strip()
        for name, text in pool
        if text.strip().endswith("?")
        and text.split()[0].lower() in AUXILIARIES
        and name not in ids
        and normalise(text) not in texts
    ]
    kept = list(dict.fromkeys(kept))
    nlp = import_module(arguments.model).load(exclude=["lemmatizer", "ner"])
    count = 0
    with (WORK / "questions.jsonl").open("w", encoding="utf-8") as out:
        for doc in nlp.pipe(kept, batch_size=256):
            start = predicate_start(doc)
            if start is not None:
                count += 1
                out.write(json.dumps({"text": doc.text, "start": start}) + "\n")
    print(f"{count:,} of {len(kept):,} questions marked")


if __name__ == "__main__":
    main()
