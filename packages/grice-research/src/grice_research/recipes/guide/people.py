r"""Write what people said to contexts of Topical-Chat, and what they said elsewhere, as replies.

    python -m grice_research.recipes.guide.people DATA OUT.jsonl --contexts 200

The replies of a context are its own and that of the next context: labelled by metrics, they teach a
guide without any drawing (as FUDGE learns from texts that are there; Yang and Klein, NAACL 2021).
They are of the validation split, and no context holds a text of a set that is evaluated.
"""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path

import msgspec
from msgspec.structs import replace

from grice_research.recipes.guide.draw import contexts
from grice_research.recipes.relevance.corpora import evaluated_texts


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--contexts", type=int, default=200)
    given = parser.parse_args()
    found = contexts(given.data, "valid", evaluated_texts(given.data))
    chosen = list(islice(found, given.contexts))
    lines = (
        msgspec.json.encode(replace(own, texts=(own.reply.text, other.reply.text))) + b"\n"
        for own, other in zip(chosen, [*chosen[1:], chosen[0]], strict=True)
    )
    given.output.write_bytes(b"".join(lines))


if __name__ == "__main__":
    main()
