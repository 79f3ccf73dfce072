"""Write the training statements that the embedded baseline takes whole.

    python -m grice_research.recipes.situated.templates

Reads the sentences of ``facts.py``: those of people (claims, facts, statements), no questions and
no glosses, short enough, with two to five keywords, at least one of them a common noun.
"""

from __future__ import annotations

import gzip
import json
import re

import msgspec

from grice.models.bundle import open_bundle
from grice.models.embedded import EmbeddedEncoder
from grice_research.places import work_folder
from grice_tasks.situatedgen.frames import named
from grice_tasks.situatedgen.recompose import Template
from grice_tasks.situatedgen.records import CONTEXTS, Marked, Statement
from grice_tasks.situatedgen.tagger import MASK, ContextTagger, mark_statements

WORK = work_folder("situated")
LONGEST = 16
RISKY = re.compile(
    r"\?|\b(?:not|never|no|nor|than|different|unlike|without|same|both|only|most|first)\b|n['’]t",
    re.IGNORECASE,
)
"""Words that make a statement false of other places, or of most."""
SOURCES = ("creak", "strategyqa-fact", "csqa2")


def template(marked: Marked) -> Template:
    labels = {e.text: CONTEXTS.get(e.label, "") for e in marked.entities}
    return Template(
        marked.statement, marked.keywords, tuple(labels.get(k, "") for k in marked.keywords)
    )


def fits(pattern: Template, masked: str) -> bool:
    plain = [word for word, kind in zip(pattern.keywords, pattern.kinds, strict=True) if not kind]
    return (
        2 <= masked.count(MASK) <= 5
        and len(pattern.keywords) == masked.count(MASK)
        and any(not named(word) for word in plain)
        and not RISKY.search(pattern.statement)
        and pattern.statement[:1].isupper()
    )


def main() -> None:
    texts: dict[str, str] = {}
    for line in (WORK / "facts.jsonl").open(encoding="utf-8"):
        name, _, _, _, text = json.loads(line)
        if name.split("::")[0] in SOURCES and len(text.split()) <= LONGEST:
            texts[text] = name
    encoder = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)
    tagger = ContextTagger(WORK, lambda ts: [tuple(h) for h, _ in encoder.hidden(ts)], "")
    marked = mark_statements([Statement(name, text) for text, name in texts.items()], tagger)[0]
    made = {statement.masked + statement.statement: template(statement) for statement in marked}
    kept = [
        pattern
        for masked, pattern in made.items()
        if fits(pattern, masked[: -len(pattern.statement)])
    ]
    lines = b"\n".join(msgspec.json.encode(pattern) for pattern in kept)
    target = WORK / "templates.jsonl.gz"
    target.write_bytes(gzip.compress(lines, 9, mtime=0))
    print(f"{len(kept):,} of {len(marked):,} statements, {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
