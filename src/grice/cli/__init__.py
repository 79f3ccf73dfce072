"""The ``grice`` command; each module of :mod:`grice.cli.commands` is one command.

:mod:`grice.cli._status` says what the exit status means.
"""

from __future__ import annotations

import argparse
import errno
import os
import pkgutil
import re
import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Protocol, cast

import grice
from grice.cli import commands
from grice.cli._clean import visible
from grice.cli._status import DONE, FAULT, INTERRUPTED, MEANINGS, UNUSABLE
from grice.cli._streams import QUIET, UNCUT, complain, drop, open_streams
from grice.cli.settings import with_settings
from grice.errors import LONGEST, GriceError, did_you_mean, out_of_memory, shortened
from grice.files import check_not_input

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

__all__ = ["main"]

WRITTEN = frozenset({"output", "report", "html", "csv", "latex", "junit", "markdown", "page"})
"""Arguments of any command that name a file to be written; no other argument does."""

CHOICE = re.compile(r"invalid choice: '(.*?)' \(choose from (.*)\)$", re.DOTALL)

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


def _run(words: Sequence[str]) -> int:
    with warnings.catch_warnings():
        if "--debug" not in words:
            warnings.showwarning = _show_warning
        quiet, uncut = QUIET.set("--quiet" in words or "-q" in words), UNCUT.set(False)
        try:
            arguments = _parsed(with_settings(words))
            _keep_inputs(arguments)
            arguments.typed = words
            UNCUT.set(arguments.full)
            status = arguments.run(arguments)
        except SystemExit as end:
            if isinstance(end.__context__, BrokenPipeError):  # this is how rich takes it
                raise BrokenPipeError from end
            sys.stdout.flush()  # of argparse: a help page, which may have no reader either
            raise
        finally:
            QUIET.reset(quiet)
            UNCUT.reset(uncut)
    sys.stdout.flush()
    return int(status)


def _parsed(words: Sequence[str]) -> argparse.Namespace:
    parser = _parser(words)
    arguments, unknown = parser.parse_known_args(words)
    if unknown:
        chosen = parser.chosen(arguments)
        option = next((word.partition("=")[0] for word in unknown if word.startswith("-")), None)
        near = did_you_mean(option, chosen.long_options()) if option else ""
        chosen.error(
            f"unrecognized arguments: {' '.join(unknown)}{near if near.startswith('; did') else ''}"
        )
    return arguments


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


class _Parser(argparse.ArgumentParser):
    """A parser whose errors name what is near, and show the usage of the command in question."""

    def error(self, message: str) -> NoReturn:
        wrong = CHOICE.search(message)
        if wrong:
            near = did_you_mean(wrong[1], re.findall(r"'([^']*)'", wrong[2]))
            message = f"{message[: wrong.start()]}no {wrong[1]!r} here{near}"
        super().error(message)

    def chosen(self, arguments: argparse.Namespace) -> _Parser:
        """Return the parser of the command, and of its action, that the arguments are of."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                name = getattr(arguments, action.dest, None)
                if name in action.choices:
                    return cast("_Parser", action.choices[name]).chosen(arguments)
        return self

    def long_options(self) -> list[str]:
        """Return the options with two dashes."""
        return [option for option in self._option_string_actions if option.startswith("--")]


def _parser(words: Sequence[str]) -> _Parser:
    parser = _Parser(
        prog="grice",
        description="Score open-domain dialogue, offline, with the evidence behind each number.",
        epilog="grice COMMAND --help tells what a command takes. Exit status: "
        f"{'; '.join(f'{status} {meaning}' for status, meaning in MEANINGS.items())}.",
    )
    parser.add_argument("--version", action="version", version=f"grice {grice.__version__}")
    parser.add_argument("--debug", action="store_true", help="show the trace of an error")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True, dest="command")
    chosen = next((word for word in words if not word.startswith("-")), None)
    for name in _command_names():
        module = name.replace("-", "_")
        command = cast("Command", import_module(f"{commands.__name__}.{module}"))
        subparser = subparsers.add_parser(name, help=command.HELP, description=command.HELP)
        subparser.add_argument("--debug", action="store_true", help="show the trace of an error")
        subparser.add_argument(
            "-q", "--quiet", action="store_true", help="print results and errors alone"
        )
        subparser.add_argument(
            "--full", action="store_true", help="cut no text, however long it is"
        )
        subparser.set_defaults(run=command.run)
        # Configuring a command may look for metrics; only the chosen one has to.
        if name == chosen:
            command.configure(subparser, words)
    return parser


def _keep_inputs(arguments: argparse.Namespace) -> None:
    """Refuse to write over a file that the same command reads.

    Raises:
        OutputError: If an output is one of the inputs, or lies in a directory of them.
    """
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


def _command_names() -> list[str]:
    modules = pkgutil.iter_modules(commands.__path__)
    return sorted(module.name.replace("_", "-") for module in modules)
