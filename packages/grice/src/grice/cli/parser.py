"""The parser of the command line: it says itself what is near to a word that it does not know."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING, NamedTuple, NoReturn, cast

from grice import distributions
from grice.cli import flags
from grice.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterable, Iterator, Sequence

CHOICE = re.compile(r"invalid choice: '(.*?)' \(choose from (.*)\)$", re.DOTALL)


class Parser(argparse.ArgumentParser):
    """A parser whose errors name what is near, with the usage of the command in question.

    Options are written out: one that another begins with is not taken for it, for then a typing
    error would be found out only once a new option comes.
    """

    def __init__(
        self, *, prog: str | None = None, description: str | None = None, epilog: str | None = None
    ) -> None:
        super().__init__(prog=prog, description=description, epilog=epilog, allow_abbrev=False)
        self.sections: dict[str, list[str]] = {}

    def format_help(self) -> str:
        """Format the help page, with the commands under the headings of ``sections``."""
        if not self.sections or self._subparsers is None:
            return super().format_help()
        page = self._get_formatter()
        page.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        page.add_text(self.description)
        choices = cast("argparse._SubParsersAction[Parser]", self._subparsers._group_actions[0])
        commands = {action.dest: action for action in choices._get_subactions()}
        for heading, names in self.sections.items():
            page.start_section(heading)
            page.add_arguments(commands[name] for name in names if name in commands)
            page.end_section()
        page.start_section(self._optionals.title)
        page.add_arguments(self._optionals._group_actions)
        page.end_section()
        page.add_text(self.epilog)
        return page.format_help()

    def parse_known_args(  # type: ignore[override] # its overloads say the same at length
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse, and refuse here what is unknown: the parser of a command knows its own options."""
        words = list(sys.argv[1:] if args is None else args)
        unknown = [word for word in self._own_options(words) if not self._knows(word)]
        if unknown:
            # Before anything else: a mistyped option also leaves what it stands for missing.
            self._refuse_former(unknown[0].partition("=")[0])
            near = did_you_mean(unknown[0].partition("=")[0], self._long_options())
            self.error(
                f"unrecognized arguments: {' '.join(unknown)}"
                f"{near if near.startswith('; did') else ''}"
            )
        parsed, more = super().parse_known_args(words, namespace)
        if more:
            self.error(f"unrecognized arguments: {' '.join(more)}")
        return parsed, more

    def error(self, message: str) -> NoReturn:
        """End with the usage and a message; of a choice that is none the near one is named."""
        wrong = CHOICE.search(message)
        if wrong:
            self._refuse_former(wrong[1])
            choices = [choice.strip(" '") for choice in wrong[2].split(",")]
            message = (
                f"{message[: wrong.start()]}no {wrong[1]!r} here{did_you_mean(wrong[1], choices)}"
            )
        super().error(message)

    def _refuse_former(self, word: str) -> None:
        """Refuse a former action or option by naming what replaces it."""
        place = " ".join([*self.prog.split()[1:], word])
        instead = distributions.instead_of(place)
        if instead is None and word.startswith("--"):
            instead = distributions.instead_of(word)
        if instead is not None:
            raise InputError(f"{self.prog} {word} is no longer available: {instead}")

    def commands(self) -> dict[str, Parser]:
        """Return the parsers of the commands, or of the actions, by name; none of a leaf."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                return cast("dict[str, Parser]", action.choices)
        return {}

    def _own_options(self, words: Sequence[str]) -> Iterator[str]:
        """Yield the words that are options of this parser: in front of the name of a command."""
        inner = bool(self.commands())
        for word in words:
            if word == "--" or (inner and not word.startswith("-")):
                return
            if word.startswith("-" if inner else "--") and " " not in word:
                yield word

    def _knows(self, word: str) -> bool:
        return word.partition("=")[0] in self._option_string_actions

    def _long_options(self) -> list[str]:
        return [option for option in self._option_string_actions if option.startswith("--")]


def add_everywhere(parser: argparse.ArgumentParser, *, default: object = argparse.SUPPRESS) -> None:
    """Add what every command and every action takes, in front of its name or behind it."""
    parser.add_argument(
        "--debug", action="store_true", default=default, help="show the trace of an error"
    )
    parser.add_argument(
        "-q", "--quiet", action="store_true", default=default, help="print results and errors alone"
    )
    parser.add_argument(
        "--full", action="store_true", default=default, help="cut no text, however long it is"
    )


def leaves(parser: Parser, *names: str) -> Iterator[tuple[tuple[str, ...], Parser]]:
    """Yield the parsers that run something, each with the words that lead to it."""
    commands = parser.commands()
    if not commands:
        yield names, parser
    for name, command in commands.items():
        yield from leaves(command, *names, name)


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
