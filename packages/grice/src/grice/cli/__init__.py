"""The ``grice`` command, and the table of all commands.

A command is a typed function, from which :mod:`grice.cli.derive` makes the parser, or a module with
several ``ACTIONS`` or a function ``run``; it returns an :class:`grice.cli.output.Output` or an exit
status. A command of another distribution may instead declare its parser itself:
``configure(parser, words)`` and ``run(arguments)``.
"""

from __future__ import annotations

import errno
import os
import sys
import warnings
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grice
from grice import distributions
from grice.cli.derive import about, add_arguments, call, output_path
from grice.cli.output import (
    DONE,
    FAULT,
    INTERRUPTED,
    INVOCATION,
    MEANINGS,
    UNUSABLE,
    Invocation,
    Output,
    ProgressBar,
    drop,
    emit,
    note,
    open_streams,
    warn,
)
from grice.cli.parser import Parser, add_everywhere
from grice.cli.settings import check_settings, with_settings
from grice.errors import GriceError, InputError, out_of_memory
from grice.files import check_not_input
from grice.progress import watched

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

__all__ = ["command_names", "command_parser", "find_commands", "main"]

COMMAND_GROUP = "grice.commands"
"""Entry point group of commands that other distributions add."""

COMMANDS = {
    "find bad replies": {
        "score": "scores:score",
        "review": "scores:review",
        "explain": "scores:explain",
        "report": "scores:report",
    },
    "compare systems and decide": {
        "compare": "decide:compare",
        "gate": "decide:gate",
        "rerank": "decide:rerank",
    },
    "evaluate metrics": {
        "meta-eval": "evaluate:meta_eval",
        "calibrate": "ratings:calibrate",
        "estimate": "ratings:estimate",
        "audit": "evaluate:audit",
        "perturb": "evaluate:perturb",
    },
    "metrics, models and knowledge": {
        "list": "system:list_metrics",
        "models": "models",
        "kb": "kb",
        "doctor": "system:doctor",
    },
    "serve": {"serve": "system:serve"},
}
"""Commands of the core by their heading in the help page, each with its place."""

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})
"""Errors of a stream that nothing can be written to, without the name of a file."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    open_streams()
    try:
        return _run(words)
    except GriceError as error:
        if "--debug" in words:
            raise
        warn(str(error))
        return UNUSABLE
    except KeyboardInterrupt:
        warn("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        drop(sys.stdout)
        return DONE
    except Exception as error:
        if "--debug" in words:
            raise
        return _fault(error)


def _run(typed: Sequence[str]) -> int:
    with warnings.catch_warnings():
        if "--debug" not in typed:
            warnings.showwarning = lambda message, *_, **__: warn(str(message))
        words, settings = with_settings(typed)
        quiet = "--quiet" in words or "-q" in words
        token = INVOCATION.set(Invocation(typed, quiet, "--full" in words))
        sources = " and ".join(str(file.file) for file in settings)
        try:
            if sources:
                note(f"options from {sources}")
            parser = command_parser(words)
            if not words:
                parser.print_help(sys.stderr)
                return UNUSABLE
            if settings:
                check_settings(settings, parser.commands()["score"])
            arguments = parser.parse_args(words)
            _keep_inputs(arguments)
            with watched(ProgressBar() if sys.stderr.isatty() and not quiet else None):
                result = arguments.run(arguments)
                if isinstance(result, Output):
                    emit(result.rows, result.view, as_json=arguments.json)
        except SystemExit as end:
            if end.code == UNUSABLE and sources:
                warn(f"options were read from {sources}, too")
            sys.stdout.flush()  # the help page, which may have no reader either
            raise
        finally:
            INVOCATION.reset(token)
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # all is done: the status stands
        drop(sys.stdout)
    return result.status if isinstance(result, Output) else result or DONE


def _fault(error: Exception) -> int:
    """Report an error that no command expects, and return the exit status."""
    if isinstance(error, OSError) and error.filename is not None:
        warn(f"{error.filename}: {error.strerror}")
        return UNUSABLE
    if isinstance(error, OSError) and error.errno in FULL:
        drop(sys.stdout)
        warn(f"the output cannot be written: {error.strerror}")
        return UNUSABLE
    message = str(error)
    if out_of_memory(error):
        warn(
            f"memory ran out{': ' if message else ''}{message}\n"
            "  take a smaller model (--models small), fewer --workers, or a machine with more; "
            "what was scored is kept"
        )
        return UNUSABLE
    warn(
        f"a fault of grice itself: {type(error).__name__}: {message}\n"
        "  run again with --debug for the trace and report it"
    )
    return FAULT


def command_parser(words: Sequence[str]) -> Parser:
    """Return the parser of all commands; only the one in the words knows its arguments."""
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
    named = [word for word in words if not word.startswith("-")]
    chosen = next(iter(named), None)
    entries = find_commands()
    parser.sections = {heading: list(names) for heading, names in COMMANDS.items()}
    for name, entry in entries.items():
        if entry.dist:
            parser.sections.setdefault(entry.dist.name, []).append(name)
    for former in (chosen, " ".join(named[:2])):
        if former and former not in entries:
            _refuse_absent(former)
    for name, entry in entries.items():
        if chosen is not None and name != chosen:
            subparsers.add_parser(name)  # for the names of commands that are near
            continue
        try:
            command: Any = distributions.load(entry)
        except Exception as error:
            if chosen is None:  # the help page lists the other commands
                subparsers.add_parser(name, help=f"(cannot be loaded: grice {name} says why)")
                continue
            if isinstance(error, GriceError) or entry.dist is None:
                raise
            raise InputError(
                f"command {name!r} of {entry.dist.name}: {type(error).__name__}: {error}"
            ) from error
        text = getattr(command, "HELP", None) or about(getattr(command, "run", command))
        subparser = subparsers.add_parser(name, help=text, description=text)
        add_everywhere(subparser)
        # Configuring a command may look for metrics; only the chosen one has to.
        if name == chosen:
            _configure(subparser, command, words)
    if chosen is None and (absent := distributions.extras().keys() - entries.keys()):
        parser.epilog = (
            f"Not installed: {', '.join(sorted(absent))}; each says which package it needs. "
            f"{parser.epilog}"
        )
    return parser


def _configure(
    parser: argparse.ArgumentParser,
    command: Any,  # noqa: ANN401 - a function, or a module
    words: Sequence[str],
) -> None:
    """Declare the arguments of a command, or of its actions."""
    parser.set_defaults(leaf=parser)
    if hasattr(command, "configure"):  # by itself
        parser.set_defaults(run=command.run)
        command.configure(parser, words)
        return
    actions = getattr(command, "ACTIONS", ())
    actions = actions() if callable(actions) else actions
    subparsers = actions and parser.add_subparsers(metavar="ACTION", required=True, dest="action")
    for action in actions or [getattr(command, "run", command)]:
        subparser = parser
        if subparsers:
            text = about(action)
            subparser = subparsers.add_parser(
                action.__name__.strip("_").replace("_", "-"), help=text, description=text
            )
            add_everywhere(subparser)
        subparser.set_defaults(run=partial(call, action), leaf=subparser)
        add_arguments(subparser, action, words)


def _refuse_absent(name: str) -> None:
    """Refuse a command that another distribution brings, or that has been replaced."""
    if name in distributions.extras():
        raise InputError(distributions.not_installed(name))
    if instead := distributions.instead_of(name):
        raise InputError(f"grice {name} is no longer available: {instead}")


def _keep_inputs(arguments: argparse.Namespace) -> None:
    """Refuse to write over a file that another argument names."""
    given = vars(arguments)
    actions = arguments.leaf._actions if "leaf" in given else ()
    written = {action.dest for action in actions if action.type is output_path}
    named = [text for name in given.keys() - written for text in _texts(given[name])]
    # os.path: a text that is too long for a path is no file; pathlib raises an error for it.
    files = [Path(text) for text in named if os.path.isfile(text)]  # noqa: PTH113
    folders = [Path(text) for text in _texts(given.get("files")) if os.path.isdir(text)]  # noqa: PTH112
    for name in written:
        if isinstance(given[name], str) and not given.get("engine"):
            raise InputError(
                f"{given[name]}: only grice score --engine writes into a store; name a file"
            )
        for output in _texts(given[name]):
            check_not_input(Path(output), [*files, *folders])


def _texts(value: object) -> list[str]:
    """Return the texts of an argument, each of which may be a path."""
    values = value if isinstance(value, list) else [value]
    return [str(text) for text in values if isinstance(text, (str, Path))]


def find_commands() -> dict[str, metadata.EntryPoint]:
    """Return the commands of grice and of installed distributions; the core's take precedence."""
    found = {entry.name: entry for entry in distributions.entry_points(COMMAND_GROUP)}
    for names in COMMANDS.values():
        for name, place in names.items():
            found[name] = metadata.EntryPoint(name, f"grice.cli.commands.{place}", COMMAND_GROUP)
    return dict(sorted(found.items()))


def command_names() -> list[str]:
    """Return the names of all commands, as they are typed."""
    return list(find_commands())
