"""The ``grice`` command, and the table of all commands.

A command is a typed function, from which :mod:`grice.cli.derive` makes the parser, or a module with
a function ``run`` or several ``ACTIONS``. It returns an :class:`grice.cli.output.Output` or an exit
status.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import grice
from grice import distributions
from grice.cli.derive import Parser, about, add_command, add_everywhere, leaves, output_path
from grice.cli.output import (
    DONE,
    FAULT,
    INTERRUPTED,
    INVOCATION,
    MEANINGS,
    UNUSABLE,
    Invocation,
    Output,
    drop,
    emit,
    note,
    open_streams,
    progress_bar,
    warn,
)
from grice.cli.settings import check_settings, with_settings
from grice.errors import GriceError, InputError, out_of_memory
from grice.files import check_not_input
from grice.progress import watched

__all__ = ["command_parser", "find_commands", "main"]

COMMAND_GROUP = "grice.commands"  # entry point group of commands that other distributions add

COMMANDS = {
    "find bad replies": {
        "demo": "demo", "check": "check",
        **dict.fromkeys(("score", "explain", "report"), "scores"),
    },
    "compare systems and decide": dict.fromkeys(("compare", "gate", "rerank"), "decide"),
    "evaluate metrics": {
        **dict.fromkeys(("meta-eval", "audit", "perturb"), "evaluate"),
        **dict.fromkeys(("calibrate", "estimate"), "decide"),
    },
    "metrics, models and knowledge": {
        "list": "system", "models": "models", "kb": "models", "doctor": "system"
    },
    "serve": {"mcp": "mcp", "serve": "system"},
}  # fmt: skip
"""Modules of the core's commands by their name, under the headings of the help page."""

MOVED = {"review": "check --rank"}
"""Commands that are options of others now."""
COMPLETION = "--print-completion"

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})
"""Error numbers of an output stream that cannot be written."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    open_streams()
    try:
        return _run(words)
    except KeyboardInterrupt:
        warn("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        drop(sys.stdout)
        return DONE
    except Exception as error:
        if "--debug" in words:
            raise
        return _failed(error)


def _run(typed: Sequence[str]) -> int:
    with warnings.catch_warnings():
        if "--debug" not in typed:
            warnings.showwarning = lambda message, *_, **__: warn(str(message))
        words, settings = with_settings(typed)
        quiet = "--quiet" in words or "-q" in words
        token = INVOCATION.set(Invocation(typed, quiet, "--full" in words))
        try:
            if settings:
                note(f"options from {' and '.join(str(file.file) for file in settings)}")
            parser = command_parser(words)
            if not words:
                parser.print_help(sys.stderr)
                return UNUSABLE
            if settings:
                command = next(word for word in words if not word.startswith("-"))
                check_settings(settings, parser.commands()[command], command)
            arguments = parser.parse_args(words)
            _keep_inputs(arguments)
            with watched(progress_bar() if sys.stderr.isatty() and not quiet else None):
                result = arguments.run(arguments)
                if isinstance(result, Output):
                    emit(result.rows, result.view, as_json=arguments.json)
        except SystemExit:
            sys.stdout.flush()  # the help page; its stream may be closed, too
            raise
        finally:
            INVOCATION.reset(token)
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # the work is done: keep the status
        drop(sys.stdout)
    return result.status if isinstance(result, Output) else result or DONE


def _failed(error: Exception) -> int:
    message = str(error)
    if isinstance(error, GriceError):
        warn(message)
    elif isinstance(error, OSError) and error.filename is not None:
        warn(f"{error.filename}: {error.strerror}")
    elif isinstance(error, OSError) and error.errno in FULL:
        drop(sys.stdout)
        warn(f"the output cannot be written: {error.strerror}")
    elif out_of_memory(error):
        warn(
            f"out of memory{': ' if message else ''}{message}\n"
            "  use a smaller model (--models small), fewer --workers, or a machine with more "
            "memory; finished scores are kept"
        )
    else:
        warn(
            f"internal error of grice: {type(error).__name__}: {message}\n"
            "  run again with --debug for the traceback, and report it"
        )
        return FAULT
    return UNUSABLE


def command_parser(words: Sequence[str]) -> Parser:
    """Return the parser of all commands; only the typed command has its arguments."""
    entries = find_commands()
    every = words[:1] == [COMPLETION]
    chosen = None if every else next((word for word in words if not word.startswith("-")), None)
    if chosen in MOVED and chosen not in entries:
        raise InputError(f"no command {chosen!r}; did you mean 'grice {MOVED[chosen]}'?")
    absent = distributions.extras().keys() - entries.keys()
    if chosen in absent:
        extra = distributions.extras()[chosen]
        folders = " ".join(f"./packages/grice-{name}" for name in dict.fromkeys(("tasks", extra)))
        raise InputError(
            f"grice {chosen} is not installed: python -m pip install 'grice[{extra}]', "
            f"or in a clone: python -m pip install {folders}"
        )
    statuses = "; ".join(f"{status} {meaning}" for status, meaning in MEANINGS.items())
    more = f"Not installed: {', '.join(sorted(absent))}; each names the package it needs. "
    parser = Parser(
        prog="grice",
        description="Find the bad replies in chatbot conversations, offline, with evidence for "
        "each.",
        epilog=f"{more if absent else ''}grice COMMAND --help describes a command. Exit status: "
        f"{statuses}.",
    )
    parser.add_argument("--version", action="version", version=f"grice {grice.__version__}")
    if not every:
        parser.add_argument(COMPLETION, metavar="SHELL", help="print completions for bash, zsh, …")
    add_everywhere(parser, default=False)
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True, dest="command")
    for name, entry in entries.items():
        if chosen is not None and name != chosen:
            subparsers.add_parser(name)  # to suggest similar names
            continue
        try:
            command: Any = distributions.load(entry)
            text = getattr(command, "HELP", None) or about(getattr(command, "run", command))
            subparser = subparsers.add_parser(name, help=text, description=text)
            add_everywhere(subparser)
            if every or name == chosen:  # only its arguments are needed
                add_command(subparser, command, words)
        except Exception as error:
            if chosen is None:  # the help page lists the other commands
                subparsers.add_parser(name, help=f"(cannot be loaded; see grice {name})")
                continue
            if isinstance(error, GriceError) or entry.dist is None:
                raise
            raise InputError(
                f"command {name!r} of {entry.dist.name}: {type(error).__name__}: {error}"
            ) from error
    _group(parser, subparsers, entries)
    if every:
        _add_completion(parser)
    return parser


def _add_completion(parser: Parser) -> None:
    """Add the option that prints completions; arguments and options of paths complete files."""
    import shtab

    shtab.add_argument_to(parser, COMPLETION)
    for _, command in leaves(parser):
        for action in command._actions:
            takes_path = action.type in (Path, output_path) or not action.option_strings
            if takes_path and action.choices is None:
                action.complete = shtab.FILE  # type: ignore[attr-defined]


def _group(
    parser: argparse.ArgumentParser,
    subparsers: argparse._SubParsersAction[Parser],
    entries: Mapping[str, metadata.EntryPoint],
) -> None:
    """List the commands in the help page under headings, before the options."""
    sections = {heading: list(names) for heading, names in COMMANDS.items()}
    for name, entry in entries.items():
        if entry.dist:
            sections.setdefault(entry.dist.name, []).append(name)
    shown = {choice.dest: choice for choice in subparsers._choices_actions}
    positionals, options, *_ = parser._action_groups
    positionals._group_actions.clear()
    parser._action_groups.remove(options)
    for heading, names in sections.items():
        group = parser.add_argument_group(heading)
        group._group_actions += [shown[name] for name in names if name in shown]
    parser._action_groups.append(options)


def _keep_inputs(arguments: argparse.Namespace) -> None:
    """Refuse to write over a file that another argument names."""
    given = vars(arguments)
    written = {action.dest for action in arguments.leaf._actions if action.type is output_path}
    named = [text for name in given.keys() - written for text in _texts(given[name])]
    # os.path returns False for a text too long for a path; pathlib raises an error.
    files = [Path(text) for text in named if os.path.isfile(text)]  # noqa: PTH113
    folders = [Path(text) for text in _texts(given.get("files")) if os.path.isdir(text)]  # noqa: PTH112
    for name in written:
        if isinstance(given[name], str) and not given.get("engine"):
            raise InputError(
                f"{given[name]}: only grice score --engine writes to stores; name a file"
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
        for name, module in names.items():
            place = f"grice.cli.commands.{module}:{name.replace('-', '_')}"
            found[name] = metadata.EntryPoint(name, place, COMMAND_GROUP)
    return dict(sorted(found.items()))
