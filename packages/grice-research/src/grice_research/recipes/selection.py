"""Records the texts that chose settings of shipped bundles without training them.

    python -m grice_research.recipes.selection [--data ../shared/data] [BUNDLE ...]

What each bundle's card lists under ``selection`` beside held-out parts of its training corpora,
which :func:`grice_research.training_texts.record_texts` has recorded. Touches no file of a bundle.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path

from grice.models.bundle import shipped_bundles
from grice_research.recipes.options import parser_of
from grice_research.training_texts import record_selection


def deco_train(data: Path) -> Iterator[str]:
    """Yield the replies and the turns before them of the training part of DECO."""
    for line in (data / "accent_deco" / "deco_train.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        yield row["response"]
        yield from (turn.strip() for turn in row["history"].split("</UTT>"))


def population_dev(data: Path) -> Iterator[str]:
    """Yield heads and tails of the development part of CSKB Population."""
    with gzip.open(data / "cskb_population" / "dev.tsv.gz", "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            yield from (row["head"], row["tail"])


LOOKED_AT: dict[str, tuple[Callable[[Path], Iterator[str]], ...]] = {
    "events": (deco_train,),
    "extraction": (deco_train,),
    "plausibility": (deco_train, population_dev),
}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("bundles", nargs="*", default=sorted(LOOKED_AT))
    arguments = parser.parse_args()
    for name in arguments.bundles:
        texts = (text for source in LOOKED_AT[name] for text in source(arguments.data))
        made = record_selection(shipped_bundles()[name], texts)
        print(*made, sep="\n")


if __name__ == "__main__":
    main()
