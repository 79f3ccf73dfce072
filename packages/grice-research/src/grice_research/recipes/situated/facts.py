"""Collect and tag the statements that teach which place or time goes with what.

    python -m grice_research.recipes.situated.facts --data DATA --wordnet /usr/share/wordnet

Writes ``work/facts.jsonl``: name, sentence without the entity, entity, kind, sentence. Texts that
SituatedGen's dev and test derive from are left out by id and text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from grice.models.bundle import open_bundle
from grice.models.embedded import EmbeddedEncoder
from grice_research.places import work_folder
from grice_research.recipes.options import parser_of
from grice_research.recipes.relevance.corpora import rows_of as rows
from grice_research.recipes.situated.corpora import evaluated, normalise, sentences_of
from grice_tasks.situatedgen.models import without
from grice_tasks.situatedgen.records import Question, contexts_in
from grice_tasks.situatedgen.statements import ClauseFinder, to_statements
from grice_tasks.situatedgen.tagger import ContextTagger, Names, spelt_spans

WORK = work_folder("situated")
LETTERS = "abcde"
INSTANCES = ("04", "11", "14", "15", "17", "18", "06")


def questions(data: Path) -> Iterator[Question]:
    """Yield the questions of the training parts with their answers."""
    for i, row in enumerate(rows(data / "strategyqa/train.jsonl.gz")):
        key = i if row.get("release_index") is None else row["release_index"]
        yield Question(f"strategyqa::train::{key}", row["question"], row["answer"], "yes_no")
    for i, row in enumerate(rows(data / "strategyqa/train_filtered.jsonl.gz")):
        name = f"strategyqa::train_filtered::{i}"
        yield Question(name, row["question"], row["answer"], "yes_no")
    for i, row in enumerate(rows(data / "commonsenseqa/train.jsonl.gz")):
        yield Question(f"commonsenseqa::train::{i}", row["stem"], row["choices"][row["answer"]])
    for level in ("easy", "challenge"):
        for i, row in enumerate(rows(data / f"arc/{level}_train.jsonl.gz")):
            name = f"arc::{level.capitalize()}::Train::{i}"
            yield Question(name, row["stem"], row["choices"][row["answer"]])


def glosses(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield what WordNet 3.0 says of each named place, person, event and work."""
    for line in (folder / "data.noun").read_text("utf-8").splitlines():
        if line.startswith(" "):
            continue
        head, _, gloss = line.partition(" | ")
        parts = head.split()
        if parts[1] in INSTANCES and "@i" in parts:
            name = parts[4].replace("_", " ")
            meaning = re.split(r"; (?=[\"'])", gloss)[0].strip()
            yield f"wordnet::{parts[0]}", f"{name} is {meaning}"


def may_have_context(text: str, names: Names) -> bool:
    """Say whether a listed place or event or a spelt date stands in a text: a quick first look."""
    marks = {mark for marks_of_name, _ in names.look(text).values() for mark in marks_of_name}
    return bool(marks & {"P", "E"}) or bool(spelt_spans(text))


def collect(data: Path, wordnet: Path, clauses: ClauseFinder) -> tuple[dict[str, str], int]:
    """Return the sentences that hold, by name, and how many were left out."""
    ids, texts = evaluated(data)
    pool = [(name, text) for name, text, holds in sentences_of(data) if holds]
    asked = [
        question
        for question in questions(data)
        if question.id not in ids and normalise(question.question) not in texts
    ]
    left = sum(1 for _ in questions(data)) - len(asked)
    pool += [(statement.id, statement.statement) for statement in to_statements(asked, clauses)]
    pool += list(glosses(wordnet))
    kept: dict[str, str] = {}
    seen: set[str] = set()
    for name, text in pool:
        form = normalise(text)
        if name in ids or form in texts:
            left += 1
        elif form not in seen and len(text) < 250:
            seen.add(form)
            kept[f"{name}#{len(kept)}"] = text.strip()
    return kept, left


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    arguments = parser.parse_args()
    encoder = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)

    def hidden(texts: list[str]) -> list[tuple]:
        return [tuple(hidden_states) for hidden_states, _ in encoder.hidden(texts)]

    tagger = ContextTagger(WORK, hidden, "")
    kept, left = collect(arguments.data, arguments.wordnet, ClauseFinder(WORK, hidden, ""))
    print(f"{len(kept):,} sentences, {left:,} left out", flush=True)
    facts = []
    listed = Names.load(WORK / "names.txt.gz")
    kept = {name: text for name, text in kept.items() if may_have_context(text, listed)}
    print(f"{len(kept):,} may have context", flush=True)
    names, texts = list(kept), list(kept.values())
    for begin in range(0, len(texts), 512):
        block = texts[begin : begin + 512]
        for name, text, marks in zip(names[begin:], block, tagger.find(block), strict=False):
            for span, kind in contexts_in(marks.entities):
                entity = text[span.start : span.end]
                facts.append((name, without(text, entity), entity, kind, text))
        print(begin, len(facts), flush=True)
    (WORK / "facts.jsonl").write_text("".join(json.dumps(fact) + "\n" for fact in facts))
    print(f"{len(facts):,} facts", flush=True)


if __name__ == "__main__":
    main()
