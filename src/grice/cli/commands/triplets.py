"""``grice triplets``: the commonsense links of your conversations, as JSON lines or drawn."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli._options import _positive as positive

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.triplets.models import TripletModels

HELP = "explicit and implicit commonsense links between the words of a conversation"

MODEL = "bundle:triplets"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001
    """Declare the arguments."""
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
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.jsonl")
    parser.add_argument(
        "--model", default=MODEL, metavar="MODEL", help=f"heads to use (default {MODEL})"
    )


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
    """Print or write a line per link; the exit status is 2 if records could not be read."""
    from typing import cast

    from grice.cli._options import cache_folder
    from grice.cli._output import write_lines, write_text
    from grice.cli._reading import conversations
    from grice.cli._terminal import warn
    from grice.errors import RecordError
    from grice.knowledge.schema import load_schema
    from grice.records import to_json
    from grice.scoring.models import Models, default_workers
    from grice.triplets.drawing import links_page
    from grice.triplets.find import find_links

    for name in arguments.relation:
        load_schema("cider")[name]
    models = Models(mode="exact", workers=default_workers(), cache=cache_folder())
    broken = 0
    shown = []
    lines: list[bytes] = []
    try:
        heads = cast("TripletModels", models.open(arguments.model))
        for record in conversations(arguments.files, arguments.format):
            if isinstance(record, RecordError):
                broken += 1
                warn(str(record))
                continue
            links = find_links(
                record, heads, least=arguments.least, most=arguments.most,
                implicit=not arguments.explicit, relations=arguments.relation,
            )  # fmt: skip
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
    if arguments.output is not None:
        write_lines(arguments.output, lines)
    if arguments.html is not None:
        write_text(arguments.html, links_page(shown))
    return 2 if broken else 0
