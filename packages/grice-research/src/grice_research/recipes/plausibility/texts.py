"""Records the texts that the bundle ``plausibility`` was trained on, as ``train.py`` does.

    python -m grice_research.recipes.plausibility.texts [--data ../shared/data]

Touches no other file of the bundle and, of the card, only the two lines that state them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from grice.evaluation.trained import record_texts
from grice_research.places import MODELS
from grice_research.recipes.options import parser_of
from grice_research.recipes.plausibility.data import Example, training_examples


def learned(examples: Iterable[Example]) -> Iterator[str]:
    """Yield heads and tails as the encoder read them; the held-out ones set scale and bias."""
    for example in examples:
        yield from (example.head, example.tail, example.event)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--out", type=Path, default=MODELS / "plausibility")
    arguments = parser.parse_args()
    examples, _ = training_examples(arguments.data)
    made = record_texts(arguments.out, learned(examples))
    print(f"{len(made.hashes):,} hashes, {made.seen:.1%} of the texts can be told")


if __name__ == "__main__":
    main()
