"""What heads and larger models say of labelled and of rated replies, kept in the work folder.

    python -m grice_research.recipes.relevance.measured likelihood --language-model DIR --name small
    python -m grice_research.recipes.relevance.measured head
    python -m grice_research.recipes.relevance.measured engagement

A stopped run goes on with the sets that it has not yet been through.
"""

from __future__ import annotations

import argparse
import json
import time
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grice.evaluation.datasets import known_sets, load_rated
from grice_research.places import work_folder
from grice_research.recipes.options import parser_of
from grice_research.recipes.relevance.likelihoods import LAYOUTS, measure, open_model

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

__all__ = ["LEARNED", "RATED", "WORK", "Items", "Kept", "items_of"]

WORK = work_folder("relevance")
LEARNED = ("deco_train", "fine_tuning", "mismatched")
RATED = (
    "replies_600",
    "grade_dailydialog",
    "grade_empatheticdialogues",
    "holistic_context",
    "dailydialog_gupta",
    "dailydialog_zhao",
    "fed_turn",
    "usr_topicalchat",
)
"""Rated sets of replies that the bench reads; looked at once, at the end."""
TURNS = 4
PART = 120
"""Replies between two writings of the file."""

Reply = tuple[tuple[str, ...], str]


class Items(NamedTuple):
    """Replies with their histories.

    Attributes:
        name: One of :data:`LEARNED` or a rated set.
        replies: (history, reply), at most four turns of history.
        labels: Of each 0 or 1, or a mean rating; of rated sets nothing.
    """

    name: str
    replies: list[Reply]
    labels: NDArray[np.float64] | None = None


def items_of(name: str, data: Path) -> Items:
    """Return the items of a name; those of a rated set in the order of its file."""
    if name == "deco_train":
        return _deco(data)
    if name == "fine_tuning":
        return _fine_tuning(data)
    if name == "mismatched":  # each reply after another's history
        pairs = _fine_tuning(data).replies
        others = [*pairs[1:], pairs[0]]
        replies = [(before, reply) for (before, _), (_, reply) in zip(pairs, others, strict=True)]
        return Items(name, replies, np.zeros(len(replies)))
    rated = load_rated(known_sets()[name], data)
    replies = []
    for item in rated.items:
        texts = [turn.text for turn in item.conversation.turns]
        replies.append((tuple(texts[max(0, len(texts) - 1 - TURNS) : -1]), texts[-1]))
    return Items(name, replies)


def _deco(data: Path) -> Items:
    """Return the replies of DECO's training part, its rated events' plausibility as label."""
    text = (data / "accent_deco/deco_train.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    replies = []
    for row in rows:
        turns = [turn.strip() for turn in row["history"].split("</UTT>")]
        response = row["response"].replace("</UTT>", " ")
        replies.append((tuple(turn for turn in turns if turn), " ".join(response.split())))
    return Items("deco_train", replies, np.array([row["event_cs"] for row in rows]))


def _fine_tuning(data: Path) -> Items:
    """Return the study's labelled DailyDialog pairs that stand in no evaluated set."""
    from grice_research.recipes.engagement.labels import labelled_replies, without_evaluated

    labels, _ = without_evaluated(list(labelled_replies(data, research=True)), data, research=True)
    kept = [label for label in labels if label.group.startswith("dd-")]
    return Items(
        "fine_tuning",
        [(tuple(reply.pair.left), reply.pair.right) for reply in kept],
        np.array([reply.label for reply in kept], np.float64),
    )


class Kept:
    """Numbers by reply, in a file of the work folder.

    Args:
        name: Of the measurement.
    """

    def __init__(self, name: str) -> None:
        self._file = WORK / "large" / f"{name}.json"
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self.rows: dict[str, list[float]] = {}
        if self._file.exists():
            self.rows = json.loads(self._file.read_text("utf-8"))

    def missing(self, replies: Sequence[Reply]) -> list[Reply]:
        """Return the different replies that have no numbers."""
        return [reply for key, reply in {_key(reply): reply for reply in replies}.items()
                if key not in self.rows]  # fmt: skip

    def add(self, replies: Sequence[Reply], rows: Sequence[Sequence[float]]) -> None:
        """Keep the numbers of replies."""
        for reply, row in zip(replies, rows, strict=True):
            self.rows[_key(reply)] = [round(float(value), 5) for value in row]
        part = self._file.with_suffix(".part")
        part.write_text(json.dumps(self.rows), "utf-8")
        part.rename(self._file)

    def of(self, replies: Sequence[Reply]) -> NDArray[np.float64]:
        """Return the numbers of replies, shape (n, numbers)."""
        return np.array([self.rows[_key(reply)] for reply in replies])


def _key(reply: Reply) -> str:
    return sha256("\0".join((*reply[0], reply[1])).encode()).hexdigest()[:20]


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("step", choices=["likelihood", "head", "engagement"])
    parser.add_argument("--sets", default=",".join((*LEARNED, *RATED)))
    parser.add_argument("--name", help="of the language model, and of the layout if it is another")
    parser.add_argument("--layout", default="lines", choices=LAYOUTS, help="of the conversation")
    parser.add_argument("--language-model", type=Path, help="folder of the language model")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    name = options.name if options.step == "likelihood" else options.step
    if not name:
        parser.error("likelihood needs --name, of the language model")
    kept = Kept(name)
    numbers_of = None
    for set_name in options.sets.split(","):
        missing = kept.missing(items_of(set_name, options.data).replies)
        if missing:
            numbers_of = numbers_of or _measure(options)
            began = time.monotonic()
            missing.sort()  # replies to one history in a row
            for start in range(0, len(missing), PART):
                part = missing[start : start + PART]
                kept.add(part, numbers_of(part))
                done, seconds = start + len(part), time.monotonic() - began
                print(f"{set_name}: {done:,} of {len(missing):,}, {seconds:.0f} s", flush=True)


def _measure(options: argparse.Namespace) -> Callable[[Sequence[Reply]], Sequence[Sequence[float]]]:
    if options.step == "likelihood":
        model = open_model(options.language_model, options.threads)
        return partial(measure, model, LAYOUTS[options.layout])
    from grice.models.models import Models
    from grice.models.protocols import Pair

    names = {"head": f"file:{WORK / 'research_fluent'}", "engagement": "bundle:engagement"}
    head = Models(mode="exact", workers=1, cache=None).open(names[options.step])

    def odds(replies: Sequence[Reply]) -> list[list[float]]:
        sure = np.clip(head.classify([Pair(*reply) for reply in replies]), 1e-6, 1 - 1e-6)
        return np.log(sure / (1 - sure))[:, None].tolist()

    return odds


if __name__ == "__main__":
    main()
