"""``grice triplets``: the commonsense links of your conversations, as JSON lines or drawn.

``grice triplets stats`` counts annotated links, ``grice triplets convert`` brings them from and to
brat's stand-off files. A file of conversations with one of these names is ``./stats``.
"""

from __future__ import annotations

import sys
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli._status import PARTIAL
from grice.cli.options import positive
from grice.errors import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from grice.records import Conversation
    from grice.triplets.records import Dialogue
    from grice.triplets.statistics import Value

HELP = "explicit and implicit commonsense links between the words of a conversation"

MODEL = "bundle:triplets"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments: those of links, or those of the action that is named first."""
    named = [word for word in words if not word.startswith("-")][1:2]
    if named in (["stats"], ["convert"]):
        _configure_annotated(parser, named[0])
        return
    parser.epilog = (
        "grice triplets stats FILE counts annotated links beside the published counts; "
        "grice triplets convert FILE -o OUT brings them from and to brat."
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="your conversations")
    parser.add_argument("--format", metavar="NAME", help="format of the files (see grice list)")
    parser.add_argument(
        "--least", type=_share, metavar="P", help="confidence at least (default: the model's level)"
    )
    parser.add_argument(
        "--most", type=positive, default=12, metavar="N",
        help="links per conversation (default 12)",
    )  # fmt: skip
    parser.add_argument(
        "--relation", action="append", default=[], metavar="NAME", help="only this relation"
    )
    parser.add_argument(
        "--explicit", action="store_true", help="only links that a connective in one sentence says"
    )
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="a self-contained page with arcs, too"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE.jsonl", help="write here instead of to stdout"
    )
    parser.add_argument(
        "--model", default=MODEL, metavar="MODEL", help=f"heads to use (default {MODEL})"
    )


def _configure_annotated(parser: argparse.ArgumentParser, action: str) -> None:
    parser.add_argument("action", choices=(action,), help="count, or bring from and to brat")
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE",
        help="CIDER's JSON lines, gzipped or not, or a folder of brat's .txt and .ann files",
    )  # fmt: skip
    parser.add_argument(
        "--invalid", choices=("refuse", "skip"), default="refuse",
        help="a triplet that cannot be ends the command (default), or is named and left out",
    )  # fmt: skip
    if action == "stats":
        parser.add_argument("--json", action="store_true", help="print JSON lines")
        return
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="OUT",
        help="a name that ends in .jsonl or .jsonl.gz, or a folder for brat's files",
    )  # fmt: skip


def _share(text: str) -> float:
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
        return _stats(arguments) if arguments.action == "stats" else _convert(arguments)
    from grice.cli._reading import conversations
    from grice.cli.options import cache_folder
    from grice.cli.terminal import warn
    from grice.errors import ModelError, RecordError
    from grice.files import write_lines, write_text
    from grice.knowledge.schema import load_schema
    from grice.records import to_json
    from grice.runtime.models import Models, default_workers
    from grice.triplets.drawing import links_page
    from grice.triplets.find import Wanted, find_all
    from grice.triplets.models import TripletModels

    for name in arguments.relation:
        load_schema("cider")[name]
    wanted = Wanted(
        least=arguments.least, most=arguments.most, implicit=not arguments.explicit,
        relations=frozenset(arguments.relation),
    )  # fmt: skip
    models = Models(mode="fast", workers=default_workers(), cache=cache_folder())
    broken = silent = 0
    shown = []
    lines: list[bytes] = []

    def readable() -> Iterator[Conversation]:
        nonlocal broken
        for record in conversations(arguments.files, arguments.format):
            if isinstance(record, RecordError):
                broken += 1
                warn(str(record))
            else:
                read.append(record)
                yield record

    read: deque[Conversation] = deque()
    try:
        heads = models.open(arguments.model)
        if not isinstance(heads, TripletModels):
            raise ModelError(f"{arguments.model} finds no links: name a bundle such as {MODEL}")
        for links in find_all(readable(), heads, wanted):
            record = read.popleft()
            silent += not links
            for link in links:
                line = to_json(link) + "\n"
                if arguments.output is None:
                    sys.stdout.write(line)
                else:
                    lines.append(line.encode())
            if arguments.html is not None:
                shown.append((record, links))
    finally:
        models.close()
    if silent:
        warn(f"no link that is sure enough in {counted(silent, 'conversation')}")
    if arguments.output is not None:
        write_lines(arguments.output, lines)
    if arguments.html is not None:
        write_text(arguments.html, links_page(shown))
    return PARTIAL if broken else 0


def _annotated(arguments: argparse.Namespace) -> tuple[list[Dialogue], int]:
    """Return the annotated dialogues of all files, and how many triplets were left out."""
    from grice.cli.terminal import warn
    from grice.triplets.brat import read_brat
    from grice.triplets.files import read_dialogues

    found: list[Dialogue] = []
    left_out = 0
    for path in arguments.files:
        read = read_brat if path.is_dir() else read_dialogues
        dialogues, problems = read(path, invalid=arguments.invalid)
        found += dialogues
        left_out += len(problems)
        for problem in problems:
            warn(f"{path}: {problem}")
    return found, left_out


def _stats(arguments: argparse.Namespace) -> int:
    """Print every count beside the printed one; the exit status is 4 if triplets were left out."""
    from grice.cli.tables import print_lines, print_table
    from grice.records import to_json
    from grice.triplets.statistics import compare_counts

    dialogues, left_out = _annotated(arguments)
    counted = compare_counts(dialogues)
    if arguments.json:
        sys.stdout.writelines(f"{to_json(one._asdict())}\n" for one in counted)
        return PARTIAL if left_out else 0
    marks = {None: "", True: "yes", False: "no"}
    print_table(
        ("count", "found", "CIDER's paper", "same"),
        [(one.name, _shown(one.found), _shown(one.printed), marks[one.same]) for one in counted],
    )
    print_lines(f"{one.name}: {one.why}" for one in counted if one.why)
    return PARTIAL if left_out else 0


def _shown(value: Value | None) -> str:
    if value is None:
        return "–"
    if isinstance(value, tuple):
        return "/".join(map(str, value))
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _convert(arguments: argparse.Namespace) -> int:
    """Write annotated dialogues in the other form; the exit status is 4 if some were left out."""
    from grice.cli.terminal import warn
    from grice.triplets.brat import write_brat
    from grice.triplets.files import write_dialogues

    dialogues, left_out = _annotated(arguments)
    out: Path = arguments.output
    if out.name.endswith((".jsonl", ".jsonl.gz")):
        write_dialogues(out, dialogues)
    else:
        write_brat(out, dialogues)
    triplets = sum(len(one.triplets) for one in dialogues)
    warn(f"{out}: {counted(len(dialogues), 'dialogue')}, {counted(triplets, 'triplet')}")
    return PARTIAL if left_out else 0
