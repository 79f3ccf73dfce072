"""``grice kb``: look into knowledge, and keep your own in one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli._kb_models import SHIPPED
from grice.cli.parser import add_everywhere

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

HELP = "look into the knowledge behind commonsense, and keep your own"

KB = f"a file of your own; default the shipped knowledge, {SHIPPED}"
PARTS = (
    ("head", "an event, such as 'PersonX bakes a cake'"),
    ("relation", "such as xWant"),
    ("tail", "what follows from the head, or goes before it"),
)


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001
    """Declare the arguments of each action."""
    actions = parser.add_subparsers(metavar="ACTION", required=True, dest="action")

    def action(name: str, about: str) -> argparse.ArgumentParser:
        subparser = actions.add_parser(name, help=about, description=about)
        add_everywhere(subparser)
        return subparser

    build = action("build", "make a file of knowledge from files of triples")
    flags.add_files(build, "triples, gzipped or not")
    flags.add_output(build, "MY.kb", "the file of knowledge", required=True)
    build.add_argument("--schema", default="", metavar="NAME", help="relations: name or TOML file")
    build.add_argument(
        "--on", metavar="KB", help=f"lie on top of this knowledge, such as {SHIPPED}"
    )
    flags.add_switch(build, "--replace", "replace MY.kb if it is there")

    info = action("info", "what a file of knowledge, or the shipped one, holds")
    info.add_argument("kb", nargs="?", default=SHIPPED, metavar="KB", help=KB)
    info.add_argument(
        "--history", type=flags.positive, default=5, metavar="N", help="last N changes"
    )

    find = action("find", "triples that hold all words, or words that begin so")
    find.add_argument("text", nargs="+", metavar="WORD", help="what head and tail hold")
    flags.add_switch(find, "--near", "instead: heads nearest to the words as an event")
    flags.add_switch(find, "--exact", "head or tail is exactly the words")

    tails = action("tails", "the known tails of a head, and of heads like it")
    for part, about in PARTS[:2]:
        tails.add_argument(part, metavar=part.upper(), help=about)
    tails.add_argument("--like", metavar="TAIL", help="those most like this one")

    add = action("add", "add triples to your own file; a new one lies on the shipped knowledge")
    add.add_argument("triple", nargs="*", metavar="HEAD RELATION TAIL", help="one triple")
    add.add_argument("--from", dest="source_file", metavar="FILE", help="a file of triples")
    add.add_argument("--source", default="", metavar="NAME", help="where it comes from")

    remove = action("remove", "take a triple out of your file, or hide one of the shipped ones")
    edit = action("edit", "give a triple another tail")
    for subparser in (remove, edit):
        for part, about in PARTS:
            subparser.add_argument(part, metavar=part.upper(), help=about)
    edit.add_argument("new", metavar="NEW_TAIL", help="what stands there from now on")

    verify = action("verify", "check that knowledge is whole and unchanged; exit status 1 if not")
    verify.add_argument("kb", nargs="?", default=SHIPPED, metavar="KB", help=KB)
    flags.add_switch(verify, "--drop-vectors", "drop the kept vectors; they are computed again")

    for subparser in (build, add):
        flags.add_format(subparser)
    flags.tells_by_status(verify)
    for subparser in (find, tails):
        subparser.add_argument("--kb", default=SHIPPED, metavar="KB", help=KB)
        flags.add_number(subparser, "-k", "N", "at most", 10)
    for subparser in (add, remove, edit):
        subparser.add_argument("--to", "--kb", dest="to", metavar="MY.kb", help="your own file")
    for subparser in (build, add, remove, edit):
        subparser.add_argument("--who", metavar="NAME", help="who does it (default: the user)")
        subparser.add_argument("--at", metavar="TIME", help="when (default: now, UTC)")
    for subparser in (build, info, find, tails, add, remove, edit, verify):
        flags.add_json(subparser)


def run(arguments: argparse.Namespace) -> int:
    """Run the chosen action and return its exit status."""
    from grice.cli import _kb_read, _kb_write

    actions: dict[str, Callable[[argparse.Namespace], int]] = {
        "build": _kb_write.build_file,
        "info": _kb_read.info,
        "find": _kb_read.find,
        "tails": _kb_read.tails,
        "add": _kb_write.add_triples,
        "remove": _kb_write.remove_triple,
        "edit": _kb_write.edit_triple,
        "verify": _kb_read.verify,
    }
    return actions[arguments.action](arguments)
