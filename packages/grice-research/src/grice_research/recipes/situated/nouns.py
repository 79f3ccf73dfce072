"""Write the nouns and irregular plurals of WordNet 3.0 that MATCH finds lemmas with.

    python -m grice_research.recipes.situated.nouns --wordnet /usr/share/wordnet

The folder is that of the Debian package ``wordnet-base``: ``index.noun`` and ``noun.exc``.
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

from grice_research.places import PRODUCT_DATA

TARGET = PRODUCT_DATA / "nouns.txt.gz"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    folder = parser.parse_args().wordnet
    index = (folder / "index.noun").read_text("utf-8").splitlines()
    nouns = {line.split()[0] for line in index if not line.startswith(" ")}
    irregular: dict[str, list[str]] = {}
    for line in (folder / "noun.exc").read_text("utf-8").splitlines():
        plural, *lemmas = line.split()
        if "_" not in plural:
            irregular.setdefault(plural, []).extend(lemmas)
    lines = sorted(noun for noun in nouns if "_" not in noun)
    lines += [" ".join((plural, *lemmas)) for plural, lemmas in sorted(irregular.items())]
    TARGET.write_bytes(gzip.compress("\n".join(lines).encode(), 9, mtime=0))
    print(f"{len(lines):,} lines, {TARGET.stat().st_size:,} bytes: {TARGET}")


if __name__ == "__main__":
    main()
