"""An option has one meaning in all commands: every parser is walked and compared."""

from __future__ import annotations

import argparse
import re

import pytest

from grice.cli import command_parser, find_commands
from grice.cli.derive import leaves, names

HOMONYMS = {
    "--baseline": "an earlier run (gate), or a trivial metric (meta-eval)",
    "--blend": "a score made of others (score), or how several choose together (rerank)",
    "--file": "a conversation (explain), or a file of a repository (models add)",
    "--kind": "of a perturbation, or of a model",
}
"""Options that two commands mean differently, as one word of the language does."""


def parsers():
    for name, entry in find_commands().items():
        if entry.value.startswith("grice."):  # those of other distributions are theirs
            yield from leaves(command_parser([name]).commands()[name], name)


LEAVES = {" ".join(words): parser for words, parser in parsers()}


def options(parser):
    return {
        option: action
        for action in parser._actions
        for option in action.option_strings
        if option.startswith("--") and action.help != argparse.SUPPRESS
    }


def meaning(action):
    """Return what two options that are called the same must share; defaults may differ."""
    words = re.split(r":|;|\(?default", action.help or "")[0].strip()
    kind = None if action.type is names else action.type  # others split their list when it is used
    return action.dest, kind, action.nargs, type(action), action.choices, words


def test_an_option_means_the_same_in_every_command():
    by_option: dict[str, dict[tuple, list[str]]] = {}
    for name, parser in LEAVES.items():
        for option, action in options(parser).items():
            # the options of metrics are theirs, whichever command takes them
            if "." not in action.dest:
                key = tuple(map(str, meaning(action)))
                by_option.setdefault(option, {}).setdefault(key, []).append(name)
    several = {option: uses for option, uses in by_option.items() if len(uses) > 1}
    assert {option: uses for option, uses in several.items() if option not in HOMONYMS} == {}
    assert HOMONYMS.keys() <= several.keys(), "an option with one meaning needs no entry"


@pytest.mark.parametrize("name", LEAVES)
def test_every_command_is_quiet_and_gives_json_where_asked(name):
    known = options(LEAVES[name])
    assert {"--quiet", "--debug", "--full", "--help", "--json"} <= known.keys()


@pytest.mark.parametrize("name", LEAVES)
def test_every_argument_is_described(name):
    for action in LEAVES[name]._actions:
        assert action.help, f"{name}: {action.option_strings or action.dest}"


def test_help_shows_one_word_for_one_thing():
    shown = {name: parser.format_help() for name, parser in LEAVES.items()}
    assert [name for name, text in shown.items() if "--html" in text] == []
    assert {name for name, text in shown.items() if "--report OUT.html" in text} == {
        "compare", "meta-eval", "score"}  # fmt: skip
