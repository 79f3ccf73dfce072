r"""Write the replies of a guided model to the contexts of drawn ones and keep them.

    python -m grice_research.recipes.guide.guided GUIDE DRAWN.jsonl OUT.jsonl --strengths 1,4

Tokens are drawn at the temperature that the guide was trained at, by the same random numbers for
every strength. A run that was stopped goes on behind the last line.
"""

from __future__ import annotations

import argparse
import zlib
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from grice.progress import track
from grice.runtime.models import Models
from grice.runtime.protocols import SteerableLM
from grice.steer.generate import END, chat_prompt
from grice.steer.guide import Guide, load_guide
from grice.steer.guided import GuidedChoice
from grice_research.recipes.guide.draw import TOKENS, Drawn, read_drawn

__all__ = ["Guided", "read_guided", "write_guided"]


class Guided(msgspec.Struct, frozen=True):
    """The replies to a context, by strength."""

    id: str
    texts: dict[str, str]


class Given(NamedTuple):
    """What guides, and how strongly."""

    model: SteerableLM
    guide: Guide
    strengths: tuple[float, ...]


def read_guided(path: Path) -> list[Guided]:
    """Return what a file holds."""
    decode = msgspec.json.Decoder(Guided).decode
    return [decode(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def write_guided(context: Drawn, given: Given) -> Guided:
    """Return the replies to one context."""
    prompt = chat_prompt(context.turns)
    seeds = (np.random.default_rng(zlib.crc32(context.id.encode())) for _ in given.strengths)
    choosers = [
        GuidedChoice(given.guide, strength, partial(random.random))
        for strength, random in zip(given.strengths, seeds, strict=True)
    ]
    written = given.model.choose([prompt] * len(choosers), choosers, stop=END, max_tokens=TOKENS)
    named = zip(given.strengths, written, strict=True)
    return Guided(context.id, {f"{strength:g}": text.text for strength, text in named})


def main() -> None:
    """Write what is not there."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("guide", type=Path)
    parser.add_argument("drawn", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--model", default="model:medium")
    parser.add_argument("--strengths", default="1,4")
    parser.add_argument("--contexts", type=int, default=200)
    asked = parser.parse_args()
    strengths = tuple(float(text) for text in asked.strengths.split(","))
    contexts = read_drawn(asked.drawn)[: asked.contexts]
    done = len(read_guided(asked.output))
    with Models(mode="fast", workers=1, cache=None) as models:
        model = models.open(asked.model, SteerableLM)
        guide = load_guide(asked.guide)
        guide.check(model)
        given = Given(model, guide, strengths)
        with asked.output.open("ab") as lines:
            for context in track(contexts[done:], "contexts", len(contexts) - done):
                lines.write(msgspec.json.encode(write_guided(context, given)) + b"\n")
                lines.flush()


if __name__ == "__main__":
    main()
