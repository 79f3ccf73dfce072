r"""Write the replies of a guided model to the contexts of drawn ones and keep them.

    python -m grice_research.recipes.guide.guided GUIDE DRAWN.jsonl OUT.jsonl --strengths 1,4

Tokens are drawn at the temperature that the guide was trained at, by the same random numbers for
every strength and guide. One file takes the replies of all guides; what it holds is not written
again, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import zlib
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from grice.evaluation.candidates import END, chat_prompt
from grice.models.models import Models
from grice.models.protocols import SteerableLM
from grice.progress import track
from grice_research.recipes.guide.draw import TOKENS, Drawn, read_drawn
from grice_tasks.steering.guide import Guide, load_guide
from grice_tasks.steering.guided import GuidedChoice

__all__ = ["Guided", "read_guided", "write_guided"]


class Guided(msgspec.Struct, frozen=True):
    """A reply to a context under a guide, which is named by its metrics."""

    id: str
    guide: str
    strength: float
    text: str


class Given(NamedTuple):
    """What guides, and how strongly."""

    model: SteerableLM
    guide: Guide
    strength: float


def read_guided(path: Path) -> list[Guided]:
    """Return what a file holds."""
    decode = msgspec.json.Decoder(Guided).decode
    return [decode(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def name_of(guide: Guide) -> str:
    """Return the name of a guide among others: its metrics."""
    return " and ".join(guide.settings.metrics)


def write_guided(context: Drawn, given: Given) -> Guided:
    """Return the reply to one context."""
    random = np.random.default_rng(zlib.crc32(context.id.encode())).random
    chooser = GuidedChoice(given.guide, given.strength, random)
    (written,) = given.model.choose(
        [chat_prompt(context.turns)], [chooser], stop=END, max_tokens=TOKENS
    )
    return Guided(context.id, name_of(given.guide), given.strength, written.text)


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
    contexts = read_drawn(asked.drawn)[: asked.contexts]
    done = {(each.id, each.guide, each.strength) for each in read_guided(asked.output)}
    with Models(mode="fast", workers=1, cache=None) as models:
        model = models.open(asked.model, SteerableLM)
        guide = load_guide(asked.guide)
        guide.check(model)
        missing = [
            (context, strength)
            for strength in map(float, asked.strengths.split(","))
            for context in contexts
            if (context.id, name_of(guide), strength) not in done
        ]
        with asked.output.open("ab") as lines:
            for context, strength in track(missing, "replies", len(missing)):
                written = write_guided(context, Given(model, guide, strength))
                lines.write(msgspec.json.encode(written) + b"\n")
                lines.flush()


if __name__ == "__main__":
    main()
