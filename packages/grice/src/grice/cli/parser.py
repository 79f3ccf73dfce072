"""Argument parser that suggests the closest option, and groups commands in its help."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING, NoReturn, cast

from grice import distributions
from grice.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CHOICE = re.compile(r"invalid choice: '(.*?)' \(choose from (.*)\)$", re.DOTALL)


class Parser(argparse.ArgumentParser):
    """Parser whose errors name the closest word, with the usage of the command in question.

    Options cannot be abbreviated: an abbreviation would break when a similar option is added.
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
        sections = {
            heading: [commands[name] for name in names if name in commands]
            for heading, names in self.sections.items()
        }
        for heading, actions in (sections | {"options": self._optionals._group_actions}).items():
            page.start_section(heading)
            page.add_arguments(actions)
            page.end_section()
        page.add_text(self.epilog)
        return page.format_help()

    def parse_known_args(  # type: ignore[override] # without its overloads
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse, and refuse unknown options of this parser before its commands parse theirs."""
        words = list(sys.argv[1:] if args is None else args)
        known = self._option_string_actions
        unknown = [word for word in self._own_options(words) if word.partition("=")[0] not in known]
        if unknown:
            # First of all: a mistyped option may also leave a required one missing.
            first = unknown[0].partition("=")[0]
            self._refuse_former(first)
            near = did_you_mean(first, [option for option in known if option.startswith("--")])
            suggestion = near if near.startswith("; did") else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{suggestion}")
        parsed, more = super().parse_known_args(words, namespace)
        if more:
            self.error(f"unrecognized arguments: {' '.join(more)}")
        return parsed, more

    def error(self, message: str) -> NoReturn:
        """End with the usage and a message, which names the closest choice."""
        if wrong := CHOICE.search(message):
            self._refuse_former(wrong[1])
            near = did_you_mean(wrong[1], [choice.strip(" '") for choice in wrong[2].split(",")])
            message = f"{message[: wrong.start()]}no {wrong[1]!r} here{near}"
        super().error(message)

    def _refuse_former(self, word: str) -> None:
        """Refuse a former action or option, and name its replacement."""
        instead = distributions.instead_of(" ".join([*self.prog.split()[1:], word]))
        if instead is None and word.startswith("--"):
            instead = distributions.instead_of(word)
        if instead is not None:
            raise InputError(f"{self.prog} {word} is no longer available: {instead}")

    def commands(self) -> dict[str, Parser]:
        """Return the parsers of commands or actions by name."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                return cast("dict[str, Parser]", action.choices)
        return {}

    def _own_options(self, words: Sequence[str]) -> Iterator[str]:
        """Yield the options of this parser: those in front of the name of a command."""
        inner = bool(self.commands())
        for word in words:
            if word == "--" or (inner and not word.startswith("-")):
                return
            if word.startswith("-" if inner else "--") and " " not in word:
                yield word


def add_everywhere(parser: argparse.ArgumentParser, *, default: object = argparse.SUPPRESS) -> None:
    """Add the options of every command and action, in front of its name or behind it."""
    for flags, text in (
        (["--debug"], "show the trace of an error"),
        (["-q", "--quiet"], "print results and errors alone"),
        (["--full"], "cut no text, however long it is"),
    ):
        parser.add_argument(*flags, action="store_true", default=default, help=text)


def leaves(parser: Parser, *names: str) -> Iterator[tuple[tuple[str, ...], Parser]]:
    """Yield the parsers without further commands, each with the words that lead to it."""
    commands = parser.commands()
    if not commands:
        yield names, parser
    for name, command in commands.items():
        yield from leaves(command, *names, name)
