"""Repairs after a complaint beside replies that repeat themselves, and the weights that part them.

    python -m grice_research.recipes.repetition.repairs [--split development|closed] [--fit]

Reads the conversations of ``packages/grice/tests/metrics/repairs.jsonl``: each ends with a
complaint, and has a reply that repairs the flaw and up to two that repeat it. Prints the replies
that each rule takes for repairs: ``repetition`` at one half or more, ``repetition`` without its
complaints (they are replaced by a turn that is none), and trivial rules. Intervals are Wilson's.
With ``--fit`` the weights of the metric are fitted again, on the half for development alone.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, cast

import msgspec
import numpy as np

import grice
from grice.cli.output import show
from grice.metrics.repetition import HALF
from grice.models.models import Models
from grice.models.protocols import Encoder
from grice.records import Conversation, Turn
from grice.scoring.items import responses
from grice.stats.clusters import wilson_interval
from grice.tables import Table
from grice.text.content import content_words
from grice_research.surface import likenesses_of, repetition_signs, repetition_value, texts_of
from grice_research.training.logistic import fit_logistic

FILE = Path("packages/grice/tests/metrics/repairs.jsonl")
"""In the root of the repository."""
KINDS = ("repair", "repetition", "rewording")
NO_COMPLAINT = "I see."
APOLOGY = re.compile(r"sorry|apolog|my bad|my mistake|oops|you['’]re right", re.IGNORECASE)
UNLIKE = 0.1
"""A reply that scored so much without its complaint is taken for a repair by the simplest rule."""
PENALTY = 1.0


class Item(NamedTuple):
    """A reply with its conversation, and what it is."""

    conversation: str
    kind: str
    turns: tuple[Turn, ...]

    def talk(self, complaint: str | None = None) -> Conversation:
        """Return the conversation, with another turn in place of the complaint if one is given."""
        *turns, last, reply = self.turns
        asked = last if complaint is None else Turn(last.speaker, complaint)
        return Conversation(
            f"{self.conversation}:{self.kind}",
            (*turns, asked, reply),
            targets=(len(self.turns) - 1,),
        )


def read_items(split: str) -> list[Item]:
    """Return the replies of a half."""
    records = map(msgspec.json.decode, FILE.read_bytes().splitlines())
    return [
        Item(
            record["id"],
            kind,
            (
                *(Turn(turn["speaker"], turn["text"]) for turn in record["turns"]),
                Turn("assistant", record[kind]),
            ),
        )
        for record in records
        if record["split"] == split
        for kind in KINDS
        if kind in record
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--split", default="development", choices=("development", "closed"))
    parser.add_argument("--fit", action="store_true")
    given = parser.parse_args()
    if given.fit:
        fit(read_items("development"))
        return
    items = read_items(given.split)
    with grice.load("repetition") as grader:
        after = [grader.score(item.talk())[0].value or 0.0 for item in items]
        before = [grader.score(item.talk(NO_COMPLAINT))[0].value or 0.0 for item in items]
    rules: dict[str, Sequence[bool]] = {
        "repetition": [value >= HALF for value in after],
        "without complaints": [value >= HALF for value in before],
        f"without complaints, from {UNLIKE} on": [value >= UNLIKE for value in before],
        "a word of apology": [bool(APOLOGY.search(item.turns[-1].text)) for item in items],
        "every reply": [True] * len(items),
    }
    rows = [(name, *_row(items, taken)) for name, taken in rules.items()]
    show([Table(("taken for a repair by", "precision", *KINDS), rows)])


def _row(items: Sequence[Item], taken: Sequence[bool]) -> list[str]:
    """Return the precision of a rule, and the share of each kind that it takes for repairs."""
    right = [item.kind == "repair" for item, yes in zip(items, taken, strict=True) if yes]
    shares = [
        [yes for item, yes in zip(items, taken, strict=True) if item.kind == kind] for kind in KINDS
    ]
    return [_share(right), *map(_share, shares)]


def _share(values: Sequence[bool]) -> str:
    if not values:
        return "–"
    low, high = wilson_interval(sum(values) / len(values), len(values))
    return f"{sum(values)}/{len(values)} {sum(values) / len(values):.2f} [{low:.2f}, {high:.2f}]"


def fit(items: Sequence[Item]) -> None:
    """Print the weights of the signs; that of a request to say it again is set, not fitted."""
    models = Models(mode="fast", workers=1, cache=None)
    encoder = cast("Encoder", models.open("bundle:encoder"))
    rows, labels = [], []
    for item in items:
        (response,) = responses(item.talk())
        texts = list(dict.fromkeys(texts_of(response)))
        alike = likenesses_of(response, dict(zip(texts, encoder.encode(texts), strict=True)))
        nearest = max(alike, key=lambda likeness: likeness.alike)
        value = repetition_value(alike, content_words(response.text))
        *signs, requested = repetition_signs(response, nearest, value, item.turns[-2].text)
        if not requested:
            rows.append(signs)
            labels.append(float(item.kind == "repair"))
    x, y = np.array(rows), np.array(labels)
    mean, scale = x.mean(0), x.std(0)
    line = fit_logistic((x - mean) / scale, y, penalties=PENALTY / len(y))
    weights = line.weights / scale
    print(weights.round(2).tolist(), round(line.bias - float(weights @ mean), 2))


if __name__ == "__main__":
    main()
