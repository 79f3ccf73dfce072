"""The same names in all commands, and suggestions for a name that is not known."""

import argparse
import re

import pytest

from grice.cli import COMMANDS, command_parser, find_commands, main
from grice.cli.derive import leaves, names

HOMONYMS = {
    "--baseline": "an earlier run (gate), or a trivial metric (meta-eval)",
    "--blend": "a score made of others (score), or how several choose together (rerank)",
    "--file": "a conversation (explain), or a file of a repository (models add)",
    "--format": "of the files that are read, or of the result (check), as in linters",
    "--group": "groups of replies (check), or a column of groups (meta-eval)",
    "--kind": "of a perturbation, or of a model",
    "--scores": "of the conversations (check), or of a rated set (meta-eval)",
}
"""Options that two commands mean differently, as one word of the language does."""


LEAVES = {
    " ".join(words): parser
    for name in find_commands()
    for words, parser in leaves(command_parser([name]).commands()[name], name)
}
OURS = [name for name, entry in find_commands().items() if entry.value.startswith("grice.")]


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
    for name in LEAVES:
        known = options(LEAVES[name]) if name.split()[0] in OURS else {}
        for option, action in known.items():
            # the options of metrics are theirs, whichever command takes them
            if "." not in action.dest:
                key = tuple(map(str, meaning(action)))
                by_option.setdefault(option, {}).setdefault(key, []).append(name)
    several = {option: uses for option, uses in by_option.items() if len(uses) > 1}
    assert {option: uses for option, uses in several.items() if option not in HOMONYMS} == {}
    assert HOMONYMS.keys() <= several.keys(), "an option with one meaning needs no entry"


@pytest.mark.parametrize("name", LEAVES)
def test_every_command_is_quiet_and_gives_json_where_asked_and_describes_arguments(name):
    known = options(LEAVES[name])
    ours = {"--full", "--json"} if name.split()[0] in OURS else set()
    assert {"--quiet", "--debug", "--help"} | ours <= known.keys()
    for action in LEAVES[name]._actions:
        assert action.help, f"{name}: {action.option_strings or action.dest}"


@pytest.fixture
def talks(tmp_path, monkeypatch):
    (tmp_path / "talks.jsonl").write_text('{"turns": ["Is it far?", "Ten minutes."]}\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("words", "usage", "near"), [
    (["scroe", "talks.jsonl"], "usage: grice [-h]", "'score'"),
    (["score", "talks.jsonl", "--repotr", "x"], "usage: grice score", "'--report'"),
    (["score", "talks.jsonl", "--histry", "3"], "usage: grice score", "'--relevance-history'"),
    (["score", "talks.jsonl", "--rep", "x"], "usage: grice score", ""),  # written out
    (["kb", "fnd", "tea"], "usage: grice kb", "'find'"),
    (["score", "talks.jsonl", "--mode", "fats"], "usage: grice score", "'fast'"),
    (["--quite", "score", "talks.jsonl"], "usage: grice [-h]", "'--quiet'"),
    (["models", "add", "x", "--lisence"], "usage: grice models add", "'--licence'"),
    (["models", "gte", "medium"], "usage: grice models", "'get'"),
    (["kb", "find", "tea", "--exat"], "usage: grice kb find", "'--exact'"),
])  # fmt: skip
def test_a_mistyped_word_names_the_near_one_and_its_own_usage(talks, capsys, words, usage, near):
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    shown = capsys.readouterr().err
    assert shown.startswith(usage)
    assert f"did you mean {near}" in shown or (not near and "--rep" in shown)


def test_an_option_of_a_metric_that_is_not_asked_for_is_refused(talks, capsys):
    for command in ("score", "explain", "meta-eval --on"):
        words = [*command.split(), "talks.jsonl", "-m", "log_length", "--relevance-history=3"]
        assert main(words) == 2
        assert "--relevance-history is an option of relevance" in capsys.readouterr().err
    (talks / "grice.toml").write_text("relevance-history = 3\n")
    assert main(["score", "talks.jsonl", "-m", "log_length"]) == 0, "a file is for all runs"


def test_a_dash_is_standard_output_in_every_command(talks, capfdbinary):
    for command in ("score talks.jsonl -m log_length", "perturb talks.jsonl --kind turn-order"):
        assert main([*command.split(), "-q"]) == 0
        printed = capfdbinary.readouterr().out
        assert main([*command.split(), "-q", "-o", "-"]) == 0
        assert capfdbinary.readouterr().out == printed
    assert not (talks / "-").exists()


def test_the_help_lists_every_command_once_under_the_heading_of_its_group(capsys):
    assert main([]) == 2
    assert "score the replies in files" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(SystemExit):
        main(["--help"])
    page = capsys.readouterr().out
    assert sorted(re.findall(r"^  ([a-z][a-z-]*)  ", page, re.MULTILINE)) == list(find_commands())
    headings = re.findall(r"^([a-z].*):$", page, re.MULTILINE)
    assert (headings[:5], headings[-1]) == (list(COMMANDS), "options")
    assert set(headings[5:-1]) <= {"grice-annotate", "grice-research", "grice-tasks"}
