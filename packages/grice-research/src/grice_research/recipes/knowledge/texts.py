"""Records the texts that the bundle ``atomic`` holds, as ``build.py`` does.

    python -m grice_research.recipes.knowledge.texts

Touches no other file of the bundle and, of the card, only the two lines that state them.
"""

from __future__ import annotations

import argparse
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from grice.evaluation.trained import record_texts
from grice.knowledge.wording import head_text
from grice_research.places import MODELS


def held(folder: Path) -> Iterator[str]:
    """Yield heads, as written and as the encoder reads them, and tails."""
    with closing(sqlite3.connect(folder / "triples.sqlite")) as store:
        for (text,) in store.execute("SELECT text FROM heads ORDER BY id"):
            yield from (text, head_text(text))
        for (text,) in store.execute("SELECT text FROM tails ORDER BY id"):
            yield text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=MODELS / "atomic")
    arguments = parser.parse_args()
    made = record_texts(arguments.out, held(arguments.out))
    print(f"{len(made.hashes):,} hashes, {made.seen:.1%} of the texts can be told")


if __name__ == "__main__":
    main()
