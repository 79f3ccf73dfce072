"""The same replies judged by several presets, side by side.

    grice models get medium medium-states
    python bench/beside.py [--presets small medium] [--replies 10] [--seed 0] [FILE …]

Replies are drawn at random of the examples, or of the files that are named. Of a preset that adds
metrics to the default ones, these stand beside.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import grice
from grice.cli.output import show
from grice.cli.terminal import one_line
from grice.scoring.items import responses
from grice.tables import Lines, Table, number

EXAMPLES = Path(__file__).parents[1] / "examples" / "chatbots.jsonl"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, default=[EXAMPLES], metavar="FILE")
    parser.add_argument("--presets", nargs="+", default=["small", "medium"])
    parser.add_argument("--replies", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    talks = {talk.id: talk for file in given.files for talk in grice.read(file)}
    judged = [
        (talk.id, item.turn) for talk in talks.values() for item in responses(talk, ()) if item.turn
    ]
    drawn = random.Random(given.seed).sample(judged, min(given.replies, len(judged)))
    wanted = [talks[name] for name in dict.fromkeys(name for name, _ in drawn)]
    values: dict[str, dict[tuple[str, int | None], grice.Score]] = {}
    for preset in given.presets:
        with grice.load(models=preset) as grader:
            for score in grader.score(wanted):
                if score.turn is not None:
                    values.setdefault(score.metric, {})[score.conversation, score.turn] = score
    for name, turn in drawn:
        before, reply = talks[name].turns[turn - 1], talks[name].turns[turn]
        show(
            [
                Lines([f"{name} #{turn}"], style="bold"),
                Lines([f"{spoken.speaker}: {one_line(spoken.text)}" for spoken in (before, reply)]),
                Table((), [_row(metric, column[name, turn]) for metric, column in values.items()]),
            ]
        )


def _row(metric: str, score: grice.Score) -> tuple[str, str]:
    value = number(score.value) if score.status == "ok" else score.status
    return metric, f"{value}  {one_line(score.reason or '', 60)}".rstrip()


if __name__ == "__main__":
    main()
