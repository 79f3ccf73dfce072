"""``grice cider``: the commonsense links of your conversations, as JSON lines or drawn.

``grice cider stats`` counts annotated links. A file of conversations with that name is ``./stats``.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli.output import emit_rows
from grice.cli.streams import DONE, PARTIAL
from grice.errors import did_you_mean, plural
from grice.tables import Lines, Table
from grice_tasks import flags
from grice_tasks.flags import add_model

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from grice.errors import RecordError
    from grice.tables import View
    from grice_tasks.cider.find import ConversationLinks
    from grice_tasks.cider.statistics import Counted, Value

HELP = "find explicit and implicit commonsense links within a conversation"

MODEL = "builtin:triplets"
ACTIONS = ("stats",)


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments: those of links, or those of the action that is named first."""
    named = next(iter([word for word in words if not word.startswith("-")][1:2]), "")
    if named in ACTIONS:
        _configure_stats(parser)
        return
    near = did_you_mean(named, ACTIONS)
    if near.startswith("; did") and not os.path.exists(named):  # noqa: PTH110 - may be any text
        parser.error(f"{named}: no such file, and no action{near}")
    parser.epilog = "grice cider stats FILE counts annotated links beside the published counts."
    flags.add_files(parser, "your conversations")
    flags.add_input(parser)
    parser.add_argument(
        "--least",
        type=_fraction,
        metavar="P",
        help="confidence at least (default: the model's level)",
    )
    flags.add_number(parser, "--most", "N", "links per conversation", 12)
    flags.add_list(parser, "--relation", "NAME", "only this relation")
    flags.add_switch(parser, "--explicit", "only links that a connective in one sentence says")
    flags.add_report(parser)
    flags.add_output(parser, "FILE.jsonl", "a link a line; default: standard output")
    add_model(parser, MODEL)


def _fraction(text: str) -> float:
    from argparse import ArgumentTypeError

    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ArgumentTypeError(f"{text!r}: a number from 0 to 1 is needed")
    return value


def run(arguments: argparse.Namespace) -> int:
    """Print or write a line per link; the exit status is 4 if records could not be read."""
    if "action" in arguments:
        return _run_stats(arguments)
    from grice.cli.streams import warn
    from grice.data import to_json
    from grice.errors import RecordError
    from grice.files import write_lines, write_text
    from grice_tasks.cider.page import links_page

    broken = silent = 0
    linked: list[ConversationLinks] = []
    lines: list[bytes] = []
    for item in _links(arguments):
        if isinstance(item, RecordError):
            broken += 1
            warn(str(item))
            continue
        silent += not item.links
        for link in item.links:
            line = f"{to_json(link)}\n"
            if arguments.output is None:
                sys.stdout.write(line)
            else:
                lines.append(line.encode())
        if arguments.report is not None:
            linked.append(item)
    if silent:
        warn(f"no link that is sure enough in {plural(silent, 'conversation')}")
    if arguments.output is not None:
        write_lines(arguments.output, lines)
    if arguments.report is not None:
        write_text(arguments.report, links_page(linked))
    return PARTIAL if broken else DONE


def _links(arguments: argparse.Namespace) -> Iterator[ConversationLinks | RecordError]:
    from grice.cli.options import all_records, opened, opened_models
    from grice.errors import ModelError
    from grice.progress import track
    from grice.readers import part_read
    from grice_tasks.cider.find import Wanted, find_links
    from grice_tasks.cider.models import TripletModels

    wanted = Wanted(
        least=arguments.least,
        most=arguments.most,
        implicit=not arguments.explicit,
        relations=tuple(arguments.relation),
    )
    reference = arguments.model or MODEL
    with opened_models() as models:
        if models.task(reference) != "links":
            raise ModelError(f"{reference} finds no links: name a model such as {MODEL}")
        heads = models.load(reference, TripletModels)
        readings = opened(arguments.files, arguments)
        linked = find_links(all_records(readings), heads, wanted)
        yield from track(linked, "conversations", part=partial(part_read, readings))


def _configure_stats(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``grice cider stats``."""
    parser.add_argument("action", choices=ACTIONS, help="count annotated links")
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="CIDER's JSON lines, gzipped or not",
    )
    parser.add_argument(
        "--invalid",
        choices=("refuse", "skip"),
        default="refuse",
        help="end the command at an invalid triplet (default), or name it and leave it out",
    )
    flags.add_json(parser)


def _run_stats(arguments: argparse.Namespace) -> int:
    """Print every count beside the printed one; the exit status is 4 if triplets were left out."""
    from grice.cli.streams import warn
    from grice_tasks.cider.files import read_dialogues
    from grice_tasks.cider.statistics import compare_counts

    dialogues, problems = read_dialogues(*arguments.files, invalid=arguments.invalid)
    for problem in problems:
        warn(problem)
    counts = compare_counts(dialogues)
    rows = (count._asdict() for count in counts)
    emit_rows(rows, _counts_view(counts), as_json=arguments.json)
    return PARTIAL if problems else DONE


def _counts_view(counts: Sequence[Counted]) -> View:
    marks = {None: "", True: "yes", False: "no"}
    rows = [
        (count.name, _shown(count.value), _shown(count.printed), marks[count.same])
        for count in counts
    ]
    yield Table(("count", "found", "CIDER's paper", "same"), rows)
    yield Lines(f"{count.name}: {count.why}" for count in counts if count.why)


def _shown(value: Value | None) -> str:
    if value is None:
        return "–"
    if isinstance(value, tuple):
        return "/".join(map(str, value))
    return f"{value:.2f}" if isinstance(value, float) else str(value)
