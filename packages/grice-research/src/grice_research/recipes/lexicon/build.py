"""Build ``packages/grice/src/grice/data/lexicon.tsv.gz``: readings and verb forms of English words.

    pip install lemminflect==0.2.3
    python -m grice_research.recipes.lexicon.build

The content is that of LemmInflect's tables (MIT, Copyright 2019 Brad Jascob; they derive from the
NIH SPECIALIST Lexicon). Kept is what grice asks for, in a form that is read in a tenth of the
time. One line per word: the word; its readings (n noun, v verb, a adjective, r adverb); the
lemmas of its verb reading; and for a verb lemma its third person singular and its past participles.
"""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import lemminflect

from grice_research.places import PRODUCT_DATA

OUT = PRODUCT_DATA / "lexicon.tsv.gz"
READINGS = {"NOUN": "n", "VERB": "v", "ADJ": "a", "ADV": "r"}


def words() -> list[str]:
    table = Path(lemminflect.__file__).parent / "resources" / "lemma_lu.csv.gz"
    with gzip.open(table, "rt", encoding="utf-8", newline="") as lines:
        return sorted({row[0] for row in csv.reader(lines) if row})


def line(word: str) -> str:
    readings = lemminflect.getAllLemmas(word)
    lemmas = readings.get("VERB", ())
    flags = "".join(flag for name, flag in READINGS.items() if name in readings)
    third = participles = ""
    if word in lemmas:
        third = (lemminflect.getInflection(word, "VBZ") or (word,))[0]
        participles = "/".join(lemminflect.getInflection(word, "VBN"))
    return "\t".join((word, flags, "/".join(lemmas), third, participles)).rstrip("\t")


def main() -> None:
    content = "".join(f"{line(word)}\n" for word in words())
    OUT.write_bytes(gzip.compress(content.encode(), mtime=0))
    print(f"{content.count(chr(10)):,} words, {OUT.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
