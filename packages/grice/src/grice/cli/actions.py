"""Actions of a command, such as ``grice kb find``: each declares its arguments and runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grice.cli import flags
from grice.cli.parser import add_everywhere

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterable, Sequence


class Action(NamedTuple):
    """One action of a command."""

    name: str
    about: str
    configure: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]


def add_actions(
    parser: ArgumentParser, actions: Iterable[Action], extras: Sequence[str] = ()
) -> None:
    """Declare the actions of a command, of which one has to be named, and their extras."""
    subparsers = parser.add_subparsers(metavar="ACTION", required=True, dest="action")
    for action in actions:
        subparser = subparsers.add_parser(action.name, help=action.about, description=action.about)
        add_everywhere(subparser)
        subparser.set_defaults(run_action=action.run)
        action.configure(subparser)
        if extras:
            flags.add_extras(subparser, *extras)


def run_action(arguments: Namespace) -> int:
    """Run the action that was named."""
    return int(arguments.run_action(arguments))
