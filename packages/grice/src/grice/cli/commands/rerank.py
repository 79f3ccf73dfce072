"""``grice rerank``: the best of several candidates for each reply, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli._candidates import add_candidates, ranked_candidates
from grice.cli._status import DONE, PARTIAL
from grice.cli.output import emit_rows
from grice.errors import plural
from grice.tables import Lines, Table, with_interval

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from grice.tables import View
    from grice_tasks.steering import Blend, Ranked
    from grice_tasks.steering.curve import Curve
    from grice_tasks.steering.rerank import Candidate

HELP = "choose the best of several candidates for each reply, by metrics"
WIDTH = 69
"""Characters of a turn that are shown: a line of a terminal."""


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    add_candidates(parser, words, "a context a line, its candidates ranked")
    flags.add_top(parser, 5)


def run(arguments: argparse.Namespace) -> int:
    """Rank the candidates; the exit status is 4 if records could not be used."""
    from grice.files import write_lines
    from grice.records import json_line

    ranked, blend, broken = ranked_candidates(arguments)
    if arguments.output is not None:
        write_lines(arguments.output, (json_line(item) + b"\n" for item in ranked))
    emit_rows(ranked, _view(ranked, blend, arguments.top), as_json=arguments.json)
    return PARTIAL if broken else DONE


def _view(ranked: Sequence[Ranked], blend: Blend, top: int) -> View:
    from grice.stats.estimate import FEW
    from grice_tasks.steering.curve import curve

    for item in ranked[:top]:
        yield from _ranked_view(item)
    if len(ranked) > top:
        yield Lines(
            ["", f"… and {plural(len(ranked) - top, 'context')}: -o FILE.jsonl"], style="dim"
        )
    others = sum(item.best.index != 0 for item in ranked)
    undecided = sum(item.tied > 1 for item in ranked)
    counts = (
        plural(len(ranked), "context"),
        f"not the first candidate is best in {others:,}",
        f"tied in {undecided:,}",
    )
    yield Lines(["", "; ".join(counts)], style="bold")
    moved = curve(ranked, blend.held_out)
    if moved is not None and moved.contexts >= FEW:
        yield from _curve_view(moved)


def _ranked_view(item: Ranked) -> Iterator[Lines]:
    """Yield the lines of one context: what was said, the best candidate and why, the others."""
    from grice.cli.terminal import one_line

    yield Lines(["", item.conversation], style="bold")
    before = [turn.text for turn in item.turns[-1:]]
    yield Lines([f"> {one_line(text, WIDTH)}" for text in before], indent=3)
    for place, candidate in enumerate(item.candidates):
        text = one_line(candidate.text, WIDTH).strip() or "(empty)"
        yield Lines([f"{_value(candidate)} {text}"], indent=3)
        if place == 0:
            yield Lines(_reasons(candidate), indent=8, style="italic")
        if candidate.vetoed:
            yield Lines([f"vetoed by {', '.join(candidate.vetoed)}"], indent=8, style="italic")
    left_out = (f"{metric} has no part: {why}" for metric, why in item.left_out.items())
    yield Lines(left_out, indent=3, style="dim")


def _value(candidate: Candidate) -> str:
    return "   –" if candidate.value is None else f"{candidate.value:.2f}"


def _reasons(candidate: Candidate) -> Iterator[str]:
    for score in candidate.scores:
        if score.value is not None:
            why = f": {score.reason}" if score.reason else ""
            yield f"{score.metric} {score.value:.2f}{why}"


def _curve_view(moved: Curve) -> Iterator[Lines | Table]:
    measures = list(moved.steps[0].means)
    yield Lines([f"the more is chosen from, {plural(moved.contexts, 'context')}"], style="bold")
    yield Table(
        ("candidates", *measures),
        [
            (f"{step.candidates}", *(f"{step.means[name].value:.3f}" for name in measures))
            for step in moved.steps
        ],
        words=0,
    )
    changes = (
        f"{name}: {with_interval(change, '+.3f')} from one to the most"
        for name, change in moved.changes.items()
    )
    yield Lines(changes, style="dim")
    for turning in moved.turns:
        many = "a random one" if turning.candidates == 1 else f"{turning.candidates} candidates"
        yield Lines(
            [
                f"{turning.metric}, which takes no part, turns down: highest with {many}, "
                f"{with_interval(turning.change, '+.3f')} with the most; what chooses is gamed"
            ],
            style="bold red",
        )
