"""The generated parts of ``docs/commands``: options by the parser of each command, and the index.

What a command is for and a session with it are written by hand in ``docs/commands/COMMAND.md``;
its options stand there between two marks.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from grice.cli import command_parser, find_commands

FOLDER = Path(__file__).parent / "commands"
INDEX = "README.md"
BEGIN, END = "<!-- options -->", "<!-- end of options -->"
EVERYWHERE = frozenset({"help", "debug", "quiet", "full"})
"""Options of all commands, which the index names."""
HEAD = """\
# Commands

One page each: purpose, example session, options.

| command | what it does |
|---|---|
"""
FOOT = """
`grice COMMAND --help` shows the same in the terminal. Every command accepts `--quiet` (`-q`), which
prints only results and errors, `--full`, which does not shorten texts, and `--debug`, which shows the
traceback of an error. `eval "$(grice --print-completion bash)"` completes commands,
options and files in this shell; other shells are `fish`, `powershell`, `tcsh` and `zsh`. The exit status is 0 when everything was done, 1 when a check failed, 2 when nothing
was done, and [a few more](gate.md#exit-status).
"""


def command_pages() -> dict[Path, str]:
    """Return the content of the page of every command and of the index, by path."""
    pages = {FOLDER / INDEX: HEAD + "".join(map(_row, find_commands())) + FOOT}
    for name in find_commands():
        path = FOLDER / f"{name}.md"
        if not path.exists():
            raise SystemExit(f"grice {name} has no page: write {path.relative_to(FOLDER.parent)}")
        pages[path] = with_options(path.read_text("utf-8"), name)
    return pages


def with_options(page: str, command: str) -> str:
    """Return the page of a command with its options between the marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{command}.md: the options stand between {BEGIN} and {END}: add both")
    return f"{before}{BEGIN}\n{options(parser_of(command))}\n{END}{after}"


def parser_of(command: str) -> argparse.ArgumentParser:
    """Return the parser of a command."""
    return command_parser([command]).commands()[command]


def options(parser: argparse.ArgumentParser) -> str:
    """Return what a command takes as a Markdown table, of each of its actions under a heading.

    An action that takes what an earlier one takes refers to it.
    """
    parts = []
    rows = list(_rows(parser))
    if rows:
        parts.append("\n".join(["", "| option | meaning |", "|---|---|", *rows]))
    for action in _actions(parser):
        about = {choice.dest: choice.help for choice in action._choices_actions}
        first: dict[str, str] = {}
        for name, subparser in action.choices.items():
            parts.append(f"\n### {parser.prog} {name}\n\n{_sentence(about[name] or '')}")
            table = options(subparser)
            same = first.setdefault(table, f"`{parser.prog} {name}`")
            is_first = same == f"`{parser.prog} {name}`"
            parts.append(table if is_first else f"\nIt takes the options of {same}.")
    return "\n".join(parts)


def _actions(parser: argparse.ArgumentParser) -> list[argparse._SubParsersAction]:
    return [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]


def _rows(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        is_hidden = action.help == argparse.SUPPRESS or action.dest in EVERYWHERE
        if not is_hidden and not isinstance(action, argparse._SubParsersAction):
            meaning = parser._get_formatter()._expand_help(action) if action.help else ""
            yield f"| {_cell(_code(action))} | {_text(meaning)} |"


def _code(action: argparse.Action) -> str:
    """Return an option as it is typed, in all its spellings, as code."""
    if not action.option_strings:
        return f"`{_typed(action)}`"
    takes_value = action.nargs != 0 and not isinstance(action, argparse.BooleanOptionalAction)
    *names, last = action.option_strings
    names.append(f"{last} {_typed(action)}" if takes_value else last)
    return ", ".join(f"`{name}`" for name in names)


def _typed(action: argparse.Action) -> str:
    """Return the value of an option, or an argument, as the usage writes it."""
    formatter = argparse.HelpFormatter("grice")
    default = action.dest.upper() if action.option_strings else action.dest
    return formatter._format_args(action, default)


def _cell(text: str) -> str:
    """Return a text as one cell of a table, which a bar would end."""
    return re.sub(r"\s+", " ", text).replace("|", r"\|").strip()


def _text(text: str) -> str:
    """Return a text as a cell in which nothing is read as Markdown or HTML."""
    return _cell(re.sub(r"([*<_\[])", r"\\\1", text))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _row(name: str) -> str:
    parser = parser_of(name)
    return f"| [`grice {name}`]({name}.md) | {_text(parser.description or '')} |\n"
