"""The ``grice`` command; each module of :mod:`grice.cli.commands` is one command.

:mod:`grice.cli._status` says what the exit status means.
"""

from __future__ import annotations

import errno
import os
import pkgutil
import sys
import warnings
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

import grice
from grice import distributions
from grice.cli import commands
from grice.cli._status import DONE, FAULT, INTERRUPTED, MEANINGS, UNUSABLE
from grice.cli._streams import (
    CHECKING,
    QUIET,
    UNCUT,
    complain,
    drop,
    is_broken_pipe,
    open_streams,
    visible,
)
from grice.cli.parser import Parser, add_everywhere
from grice.cli.settings import with_settings
from grice.errors import LONGEST, GriceError, InputError, out_of_memory, shortened
from grice.files import check_not_input
from grice.progress import watched

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence
    from typing import TextIO

    from grice.cli.settings import Settings
    from grice.progress import Watcher

__all__ = ["command_names", "command_parser", "find_commands", "main"]

COMMAND_GROUP = "grice.commands"
"""Entry point group of commands that other distributions add."""

WRITTEN = frozenset({"output", "report", "csv", "latex", "junit", "markdown", "page"})
"""Arguments of any command that name a file to be written; no other argument does."""

GROUPS = {
    "find bad replies": ("score", "review", "explain", "report"),
    "compare systems and decide": ("compare", "gate", "rerank"),
    "evaluate metrics": ("meta-eval", "calibrate", "estimate", "audit", "perturb"),
    "metrics, models and knowledge": ("list", "models", "kb", "doctor"),
    "serve": ("serve",),
}
"""Commands of the core by their heading in the help page; a test compares them."""

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})
"""What a stream says that nothing can be written to, without the name of a file."""


class Command(Protocol):
    """What a command module declares."""

    HELP: str

    def configure(self, parser: argparse.ArgumentParser, words: Sequence[str]) -> None: ...
    def run(self, arguments: argparse.Namespace) -> int: ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    open_streams()
    try:
        return _run(words)
    except GriceError as error:
        if "--debug" in words:
            raise
        complain(visible(str(error)))
        return UNUSABLE
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone: it has read all it wanted.
        drop(sys.stdout)
        return DONE
    except Exception as error:
        if "--debug" in words:
            raise
        return _fault(error)


def _run(typed: Sequence[str]) -> int:
    with warnings.catch_warnings():
        if "--debug" not in typed:
            warnings.showwarning = _show_warning
        words, settings = with_settings(typed)
        quiet = QUIET.set("--quiet" in words or "-q" in words)
        checking, uncut = CHECKING.set(False), UNCUT.set("--full" in words)
        try:
            if settings and not QUIET.get():
                complain(f"options from {_named(settings)}")
            parser = command_parser(words)
            if not words:  # somebody who wants to know what there is
                parser.print_help(sys.stderr)
                return UNUSABLE
            arguments = parser.parse_args(words)
            _check_place(arguments)
            _keep_inputs(arguments)
            arguments.typed = typed
            CHECKING.set(getattr(arguments, "checking", False))
            with watched(_stages()):
                status = arguments.run(arguments)
        except SystemExit as end:
            if is_broken_pipe(end):
                raise BrokenPipeError from end
            if end.code == UNUSABLE and settings:
                complain(f"options were read from {_named(settings)}, too")
            sys.stdout.flush()  # of argparse: a help page, which may have no reader either
            raise
        finally:
            QUIET.reset(quiet)
            CHECKING.reset(checking)
            UNCUT.reset(uncut)
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # all is done: the status stands
        drop(sys.stdout)
    return int(status)


def _named(settings: Sequence[Settings]) -> str:
    return visible(" and ".join(file.shown() for file in settings))


def _stages() -> Watcher | None:
    """Return what draws how far a command has come; nothing in a pipe, or where quiet is asked."""
    if QUIET.get() or not sys.stderr.isatty():
        return None
    from grice.cli._progress import Stages

    return Stages()


def _fault(error: Exception) -> int:
    """Say what went wrong that no command expects, and return the exit status."""
    if isinstance(error, OSError) and error.filename is not None:
        complain(visible(f"{error.filename}: {error.strerror}"))
        return UNUSABLE
    if isinstance(error, OSError) and error.errno in FULL:
        drop(sys.stdout)
        complain(f"the output cannot be written: {error.strerror}")
        return UNUSABLE
    message = shortened(visible(str(error)), LONGEST)
    if out_of_memory(error):
        complain(
            f"memory ran out{': ' if message else ''}{message}\n"
            "  take a smaller model (--models small), fewer --workers, or a machine with more; "
            "what was scored is kept"
        )
        return UNUSABLE
    complain(
        f"a fault of grice itself: {type(error).__name__}: {message}\n"
        "  run again with --debug for the trace and report it"
    )
    return FAULT


def command_parser(words: Sequence[str]) -> Parser:
    """Return the parser of all commands, of which the one in the words knows its arguments."""
    parser = Parser(
        prog="grice",
        description="Find the bad replies in chatbot conversations, offline, with evidence for "
        "each.",
        epilog="grice COMMAND --help tells what a command takes. Exit status: "
        f"{'; '.join(f'{status} {meaning}' for status, meaning in MEANINGS.items())}.",
    )
    parser.add_argument("--version", action="version", version=f"grice {grice.__version__}")
    add_everywhere(parser, default=False)
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True, dest="command")
    chosen = next((word for word in words if not word.startswith("-")), None)
    entries = find_commands()
    parser.sections = _sections(entries)
    if chosen is not None and chosen not in entries:
        _refuse_absent(chosen)
    for name, entry in entries.items():
        if chosen is not None and name != chosen:
            subparsers.add_parser(name)  # for the names of commands that are near
            continue
        try:
            command = cast("Command", distributions.load(entry))
        except Exception as error:
            if chosen is None:  # the help page lists the other commands
                subparsers.add_parser(name, help=f"(cannot be loaded: grice {name} says why)")
                continue
            if isinstance(error, GriceError) or entry.dist is None:
                raise
            raise InputError(
                f"command {name!r} of {entry.dist.name}: {type(error).__name__}: {error}"
            ) from error
        subparser = subparsers.add_parser(name, help=command.HELP, description=command.HELP)
        add_everywhere(subparser)
        subparser.set_defaults(run=command.run)
        # Configuring a command may look for metrics; only the chosen one has to.
        if name == chosen:
            command.configure(subparser, words)
    if chosen is None and (absent := distributions.extras().keys() - entries.keys()):
        parser.epilog = (
            f"Not installed: {', '.join(sorted(absent))}; each says which package it needs. "
            f"{parser.epilog}"
        )
    return parser


def _sections(entries: Mapping[str, metadata.EntryPoint]) -> dict[str, list[str]]:
    """Group command names by heading: those of a plug-in by its distribution."""
    headings = {name: heading for heading, names in GROUPS.items() for name in names}
    sections: dict[str, list[str]] = {heading: list(names) for heading, names in GROUPS.items()}
    for name, entry in entries.items():
        if name not in headings:
            heading = entry.dist.name if entry.dist else "other"
            sections.setdefault(heading, []).append(name)
    return sections


def _refuse_absent(name: str) -> None:
    """Refuse a command that another distribution brings, or that has been replaced."""
    if name in distributions.extras():
        raise InputError(distributions.not_installed(name))
    if instead := distributions.instead_of(name):
        raise InputError(f"grice {name} is no longer available: {instead}")


def _check_place(arguments: argparse.Namespace) -> None:
    """Refuse a URL for what only a file of this machine can take."""
    place = getattr(arguments, "output", None)
    if isinstance(place, str) and getattr(arguments, "engine", None) is None:
        raise InputError(f"{place}: only grice score --engine writes into a store; name a file")


def _keep_inputs(arguments: argparse.Namespace) -> None:
    """Refuse to write over a file that the same command reads."""
    given = vars(arguments)
    named = (value for name in given.keys() - WRITTEN for value in _texts(given[name]))
    # os.path: a text that is too long for a path is no file, where pathlib raises an error.
    files = [Path(name) for name in named if os.path.isfile(name)]  # noqa: PTH113
    folders = [Path(name) for name in _texts(given.get("files")) if os.path.isdir(name)]  # noqa: PTH112
    for name in WRITTEN & given.keys():
        for output in _texts(given[name]):
            check_not_input(Path(output), [*files, *folders])


def _texts(value: object) -> list[str]:
    """Return what of an argument may be a path; it may have been given several times."""
    values = value if isinstance(value, list) else [value]
    return [str(text) for text in values if isinstance(text, (str, Path))]


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print what is to be known, without the line of the source that said it."""
    del category, filename, lineno, file, line
    complain(visible(str(message)))


def find_commands() -> dict[str, metadata.EntryPoint]:
    """Return every command by its name: of grice and of installed distributions.

    A distribution offers a command by the entry point group ``grice.commands``; of two of one name
    the core's counts.
    """
    found = {entry.name: entry for entry in distributions.entry_points(COMMAND_GROUP)}
    for module in pkgutil.iter_modules(commands.__path__):
        name = module.name.replace("_", "-")
        place = f"{commands.__name__}.{module.name}"
        found[name] = metadata.EntryPoint(name, place, COMMAND_GROUP)
    return dict(sorted(found.items()))


def command_names() -> list[str]:
    """Return the names of all commands, as they are typed."""
    return list(find_commands())
