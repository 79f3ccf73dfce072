"""``grice bench`` finds what measures by an entry point, and says what to install without it."""

from __future__ import annotations

import sys
from importlib import metadata
from types import SimpleNamespace

import pytest

from grice.cli import main


@pytest.fixture
def installed(monkeypatch):
    """Let a test say what the entry point group has."""

    def say(*modules):
        entries = [SimpleNamespace(load=lambda module=module: module) for module in modules]
        known = metadata.entry_points

        def entry_points(*, group):
            return entries if group == "grice.benches" else known(group=group)

        monkeypatch.setattr(metadata, "entry_points", entry_points)

    return say


def test_what_is_installed_takes_the_command(installed, capsys):
    def configure(parser, words):
        parser.add_argument("name")
        assert words == ["bench", "deco"]

    def run(arguments):
        sys.stdout.write(f"measured {arguments.name}\n")
        return 0

    installed(SimpleNamespace(configure=configure, run=run))
    assert main(["bench", "deco"]) == 0
    assert capsys.readouterr().out == "measured deco\n"


@pytest.mark.parametrize("words", [[], ["deco", "--json"], ["all", "--record", "runs"]])
def test_without_it_the_error_says_what_to_install(installed, capsys, words):
    installed()
    assert main(["bench", *words]) == 2
    message = capsys.readouterr().err
    assert "grice-research, which is not installed" in message
    assert "pip install --editable research" in message


def test_without_it_the_help_says_so_too(installed, capsys):
    installed()
    with pytest.raises(SystemExit) as end:
        main(["bench", "--help"])
    assert end.value.code == 0
    assert "pip install --editable research" in " ".join(capsys.readouterr().out.split())
