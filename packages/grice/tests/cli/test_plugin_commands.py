"""Commands of other distributions: present, absent, broken, or of another version."""

import sys
from pathlib import Path

import pytest

import grice
from grice import distributions
from grice.cli import find_commands, main

PACKAGE = Path(__file__).parents[1] / "plugin_package"


@pytest.fixture
def shouting(monkeypatch):
    monkeypatch.syspath_prepend(PACKAGE)


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Return a function that installs a distribution with a command ``extra``."""

    def make(name, version, *requirements):
        module = name.replace("-", "_")
        folder = tmp_path / f"{module}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            + "".join(f"Requires-Dist: {requirement}\n" for requirement in requirements)
        )
        (folder / "entry_points.txt").write_text(f"[grice.commands]\nextra = {module}_command\n")
        (tmp_path / f"{module}_command.py").write_text(
            "import sys\n\ndef run():\n    'An extra command.'\n    sys.stdout.write('ran\\n')\n"
        )
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, f"{module}_command", raising=False)

    return make


def without(monkeypatch, *names):
    """Hide the commands of these names."""
    left = {name: entry for name, entry in find_commands().items() if name not in names}
    monkeypatch.setattr("grice.cli.find_commands", lambda: left)


def test_a_command_of_another_package_runs_and_is_listed_and_a_broken_one_named(shouting, capsys):
    assert main(["broken"]) == 2
    assert "command 'broken' of grice-shouting: ModuleNotFoundError" in capsys.readouterr().err
    assert (main(["shout", "hello"]), capsys.readouterr().out) == (0, "HELLO\n")
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    assert "print a text in capitals" in shown
    assert "(cannot be loaded; see grice broken)" in shown


@pytest.mark.parametrize(("command", "extra"), [
    ("cider", "tasks"), ("steer", "tasks"), ("annotate", "annotate"), ("train", "research"),
])  # fmt: skip
def test_an_absent_command_says_how_to_install_it(monkeypatch, capsys, command, extra):
    without(monkeypatch, command)
    assert main([command, "--help"]) == 2
    shown = capsys.readouterr().err
    assert f"grice {command} is not installed" in shown
    assert f"pip install 'grice[{extra}]'" in shown
    assert "in a clone: python -m pip install ./packages/grice-tasks" in shown
    without(monkeypatch, *distributions.extras())
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert f"Not installed: {', '.join(sorted(distributions.extras()))};" in shown


def test_a_distribution_for_another_version_is_refused_with_both(made, capsys):
    made("grice-tasks", "0.9.9", "grice[stats]==0.9.9", "numpy>=1")
    assert main(["extra"]) == 2
    shown = capsys.readouterr().err
    assert f"grice-tasks 0.9.9 requires grice==0.9.9, but grice {grice.__version__} is" in shown
    assert "pip install -U 'grice[tasks]'" in shown


@pytest.mark.parametrize("requirement", [
    f"grice=={grice.__version__}", "grice>=0.1", 'grice-nowhere==1; extra == "dev"', "numpy==0.1",
])  # fmt: skip
def test_other_requirements_are_for_pip_to_check(made, capsys, requirement):
    made("shouter", "3", requirement)
    assert (main(["extra"]), capsys.readouterr().out) == (0, "ran\n")
