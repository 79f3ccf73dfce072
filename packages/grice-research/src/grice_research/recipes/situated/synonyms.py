"""Write the synonyms of WordNet 3.0 that METEOR matches words by.

    python -m grice_research.recipes.situated.synonyms --wordnet /usr/share/wordnet

The folder is that of the Debian package ``wordnet-base``. A line is a set of synonyms of one word
each; a line that starts with a blank is an irregular form and its lemmas. A word that is in no set
with others stands alone, so that its forms are known.
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

from grice_research.places import PRODUCT_DATA

TARGET = PRODUCT_DATA / "synonyms.txt.gz"
PARTS = ("noun", "verb", "adj", "adv")


def groups(folder: Path) -> list[tuple[str, ...]]:
    """Return the words of each set, those of one word, in lower case."""
    synonym_sets = []
    for part in PARTS:
        for line in (folder / f"data.{part}").read_text("utf-8").splitlines():
            if line.startswith(" "):
                continue
            fields = line.split()
            members = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
            bare = {member.partition("(")[0].lower() for member in members}
            synonym_sets.append(tuple(sorted(word for word in bare if "_" not in word)))
    return synonym_sets


def irregular(folder: Path) -> dict[str, set[str]]:
    """Return the lemmas of irregular forms."""
    by_form: dict[str, set[str]] = {}
    for part in PARTS:
        for line in (folder / f"{part}.exc").read_text("utf-8").splitlines():
            form, *lemmas = line.split()
            if "_" not in form:
                by_form.setdefault(form, set()).update(lemmas)
    return by_form


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    folder = parser.parse_args().wordnet
    sets = groups(folder)
    shared = {words for words in sets if len(words) > 1}
    held = {word for words in shared for word in words}
    alone = {word for words in sets for word in words} - held
    lines = [" ".join(words) for words in sorted(shared)] + sorted(alone)
    lines += [" ".join(("", form, *sorted(lemmas))) for form, lemmas in
              sorted(irregular(folder).items())]  # fmt: skip
    TARGET.write_bytes(gzip.compress("\n".join(lines).encode(), 9, mtime=0))
    print(f"{len(shared):,} sets, {len(alone):,} lone words, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
