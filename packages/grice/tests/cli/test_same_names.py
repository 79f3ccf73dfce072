"""An option has one meaning in all commands: every parser is walked and compared."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import grice.cli
from grice import distributions
from grice.cli import command_parser, find_commands, main
from grice.cli.parser import leaves

CLI = Path(grice.cli.__file__).parent

HOMONYMS = {
    "--baseline": "an earlier run (gate), or a trivial metric (meta-eval)",
    "--blend": "a score made of others (score), or how several choose together (rerank)",
    "--file": "a conversation (explain), or a file of a repository (models add)",
    "--kind": "of a perturbation, or of a model",
}
"""Options that two commands mean differently, as one word of the language does."""

JSON_ALWAYS = {"annotate export"}
"""What has no form but lines of JSON, or pictures and files."""


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
    return action.dest, action.type, action.nargs, type(action), action.choices, words


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
    assert {"--quiet", "--debug", "--help"} <= known.keys()
    assert ("--json" in known) != (name in JSON_ALWAYS)


@pytest.mark.parametrize("name", LEAVES)
def test_every_argument_is_described(name):
    for action in LEAVES[name]._actions:
        assert action.help, f"{name}: {action.option_strings or action.dest}"


def test_help_shows_one_word_for_one_thing():
    shown = {name: parser.format_help() for name, parser in LEAVES.items()}
    assert [name for name, text in shown.items() if "--html" in text] == []
    assert {name for name, text in shown.items() if "--report OUT.html" in text} == {
        "compare", "meta-eval", "score"}  # fmt: skip


ROOT = CLI.parents[4]
EXTRA = re.compile(r"grice\[(\w+)\]")


def named_extras(name):
    return set(EXTRA.findall(" ".join(LEAVES[name].format_help().split())))


def test_the_extras_of_help_and_messages_are_those_of_the_package():
    packaged = tomllib.loads((ROOT / "packages/grice/pyproject.toml").read_text())["project"]
    extras = packaged["optional-dependencies"]
    there = extras.keys() - {"dev", "docs"}
    shown = set().union(*map(named_extras, LEAVES))
    assert there == shown | {*distributions.extras().values()}
    source = ROOT / "packages/grice/src/grice"
    messages = (EXTRA.findall(path.read_text("utf-8")) for path in source.rglob("*.py"))
    assert set().union(*messages) <= there

    # An engine is what a cluster has already, and torch is larger than all the rest.
    few = there - {"all", "dask", "ray", "spark", "transformers"}
    assert extras["all"] == [f"grice[{','.join(sorted(few))}]"]


BARE = """
import sys
sys.modules.update(dict.fromkeys(("networkx", "nltk", "scipy")))
from grice.cli import main
sys.exit(main(sys.argv[1:]))
"""
"""A machine on which nothing is installed but what grice always needs."""


@pytest.mark.parametrize(
    "command",
    ["calibrate RATED SCORES", "meta-eval log_length --on RATED"],
)  # fmt: skip
def test_a_message_that_names_an_extra_names_one_of_its_own_help(tmp_path, command):
    files = {name: tmp_path / name.lower() for name in ("RATED", "SCORES")}
    rows = [{"id": f"c{i}", "turns": ["Do you like tea?", "Yes, " * (1 + i % 9)], "rating": i % 5}
            for i in range(40)]  # fmt: skip
    files["RATED"].write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    score = ["score", str(files["RATED"]), "-m", "log_length", "-q", "-o", str(files["SCORES"])]
    assert main(score) == 0
    words = [str(files.get(word, word)) for word in command.split()]
    done = subprocess.run(
        [sys.executable, "-c", BARE, *words], capture_output=True, text=True, check=False
    )
    extras = EXTRA.findall(done.stderr)
    assert (done.returncode, bool(extras)) == (2, True), done.stderr
    documented = named_extras(next(name for name in LEAVES if command.startswith(name)))
    assert {*extras, "all"} <= documented
