"""Records the texts that the bundle ``plausibility`` was trained on, as ``train.py`` does.

    python -m grice_research.recipes.plausibility.texts [--data ../shared/data]

Touches no file of the model: the overlap with evaluated sets is recorded in
:data:`grice_research.training_texts.TABLE`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from grice_research.places import MODELS
from grice_research.recipes.options import parser_of
from grice_research.recipes.plausibility.data import Example, training_examples
from grice_research.training_texts import record_texts


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
    print(*made, sep="\n")


if __name__ == "__main__":
    main()
