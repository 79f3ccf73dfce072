"""Arguments of commands that declare their parser themselves, and what several of them share."""

from __future__ import annotations

import argparse
import inspect
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from grice.cli.derive import Input, add, add_group, count
from grice.cli.parser import add_everywhere

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterable

    from grice.cli.output import Output


class Action(NamedTuple):
    """One action of a command."""

    name: str
    about: str
    configure: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], Output | int]


def add_actions(parser: ArgumentParser, actions: Iterable[Action]) -> None:
    """Declare the actions of a command, of which one has to be named."""
    subparsers = parser.add_subparsers(metavar="ACTION", required=True, dest="action")
    for action in actions:
        subparser = subparsers.add_parser(action.name, help=action.about, description=action.about)
        add_everywhere(subparser)
        subparser.set_defaults(run_action=action.run, leaf=subparser)
        action.configure(subparser)


def run_action(arguments: Namespace) -> object:
    """Run the action that was named."""
    return arguments.run_action(arguments)


def add_shared(
    parser: argparse._ActionsContainer,
    name: str,
    annotation: str,
    default: object = None,
    about: str = "",
    metavar: str = "",
) -> None:
    """Add an option that has the same meaning in every command."""
    add(parser, name, annotation, default, {name: (metavar, about)}, option=True)


def add_address(parser: ArgumentParser, port: int) -> None:
    """Add the address of a service."""
    add_shared(parser, "host", "str", "127.0.0.1")
    add_shared(parser, "port", "int", port)


def add_data(parser: ArgumentParser) -> None:
    """Add the folder of the data sets."""
    add_shared(parser, "data", "Path")


def add_files(parser: ArgumentParser, about: str) -> None:
    """Add the files that a command reads, one at least."""
    parser.add_argument("files", nargs="+", metavar="FILE", help=about)


def add_input(parser: ArgumentParser) -> None:
    """Add the format and the columns of files of conversations."""
    add_group(parser, Input)


def add_json(parser: ArgumentParser) -> None:
    """Add the choice of JSON."""
    add_shared(parser, "json", "bool", default=False)


def add_list(parser: ArgumentParser, name: str, metavar: str, about: str) -> None:
    """Add an option that may be repeated."""
    parser.add_argument(name, action="append", default=[], metavar=metavar, help=about)


def add_model(parser: ArgumentParser, default: str) -> None:
    """Add the model of a command that runs one."""
    parser.add_argument("--model", metavar="MODEL", help=f"model reference; default {default}")


def add_number(
    parser: ArgumentParser,
    name: str,
    metavar: str,
    about: str,
    default: float | None = None,
    *,
    type: Callable[[str], float] = count,  # noqa: A002 - the name in argparse
) -> None:
    """Add an option that takes a number, 1 or more by default."""
    stated = "" if default is None else f" (default {default:g})"
    parser.add_argument(name, type=type, default=default, metavar=metavar, help=f"{about}{stated}")


def add_output(parser: ArgumentParser, metavar: str, about: str, *, required: bool = False) -> None:
    """Add the file or folder that is written."""
    default = inspect.Parameter.empty if required else None
    add_shared(parser, "output", "OutputPath", default, about, metavar)


def add_path(parser: ArgumentParser, name: str, metavar: str, about: str) -> None:
    """Add an option that names a file or a folder."""
    parser.add_argument(name, type=Path, metavar=metavar, help=about)


def add_report(parser: ArgumentParser) -> None:
    """Add the HTML page of a result."""
    add_shared(parser, "report", "OutputPath")


def add_rules(parser: ArgumentParser, default: str) -> None:
    """Add the rules that count where a paper and its code differ."""
    parser.add_argument(
        "--rules",
        choices=("paper", "released"),
        default=default,
        help=f"as the paper says, or as the released code does (default {default})",
    )


def add_scale(parser: ArgumentParser, default: tuple[float, float]) -> None:
    """Add the ends of the scale of ratings."""
    add_shared(parser, "scale", "Scale", default, f"{default[0]:g} {default[1]:g} if none are")


def add_seed(parser: ArgumentParser, about: str) -> None:
    """Add the seed of random draws."""
    add_shared(parser, "seed", "int", 0, about)


def add_switch(parser: ArgumentParser, name: str, about: str) -> None:
    """Add an option without a value."""
    parser.add_argument(name, action="store_true", help=about)


def add_top(parser: ArgumentParser, default: int) -> None:
    """Add how many results are shown."""
    add_shared(parser, "top", "Count", default)
