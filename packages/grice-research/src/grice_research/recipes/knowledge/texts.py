"""Records the texts that the bundle ``atomic`` holds, as ``build.py`` does.

    python -m grice_research.recipes.knowledge.texts

Touches no file of the model: the overlap with evaluated sets is recorded in
:data:`grice_research.training_texts.TABLE`.
"""

from __future__ import annotations

import argparse
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from grice.knowledge.wording import head_text
from grice_research.places import MODELS
from grice_research.training_texts import record_texts


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
    print(*made, sep="\n")


if __name__ == "__main__":
    main()
