"""Commands of other distributions: present, absent, broken, or of another version."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import grice
from grice import distributions
from grice.cli import find_commands, main
from grice.metrics.registry import find_metrics

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
            "import sys\n\nHELP = 'an extra command'\n\n"
            "def configure(parser, words):\n    pass\n\n"
            "def run(arguments):\n    sys.stdout.write('ran\\n')\n    return 0\n"
        )
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, f"{module}_command", raising=False)

    return make


def without(monkeypatch, *names):
    """Hide the commands of these names."""
    left = {name: entry for name, entry in find_commands().items() if name not in names}
    monkeypatch.setattr("grice.cli.find_commands", lambda: left)


def test_a_command_of_another_package_runs_and_is_listed(shouting, capsys):
    assert main(["shout", "hello"]) == 0
    assert capsys.readouterr().out == "HELLO\n"
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    assert "print a text in capitals" in shown
    assert "(cannot be loaded: grice broken says why)" in shown


def test_a_broken_command_names_its_package(shouting, capsys):
    assert main(["broken"]) == 2
    assert "command 'broken' of grice-shouting: ModuleNotFoundError" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "extra"),
    [("cider", "tasks"), ("steer", "tasks"), ("annotate", "annotate"), ("train", "research")],
)
def test_an_absent_command_says_how_to_install_it(monkeypatch, capsys, command, extra):
    without(monkeypatch, command)
    assert main([command, "--help"]) == 2
    assert capsys.readouterr().err == (
        f"grice: grice {command} is not installed: python -m pip install 'grice[{extra}]'\n"
    )


def test_the_help_page_names_absent_commands(monkeypatch, capsys):
    without(monkeypatch, *distributions.extras())
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert f"Not installed: {', '.join(sorted(distributions.extras()))};" in shown


def test_a_distribution_for_another_version_is_refused_with_both(made, capsys):
    made("grice-tasks", "0.9.9", "grice[stats]==0.9.9", "numpy>=1")
    assert main(["extra"]) == 2
    assert capsys.readouterr().err == (
        f"grice: grice-tasks 0.9.9 requires grice==0.9.9, but grice {grice.__version__} is "
        "installed: python -m pip install -U 'grice[tasks]'\n"
    )


@pytest.mark.parametrize(
    "requirement",
    [f"grice=={grice.__version__}", "grice>=0.1", 'grice-nowhere==1; extra == "dev"', "numpy==0.1"],
)
def test_other_requirements_are_for_pip_to_check(made, capsys, requirement):
    made("shouter", "3", requirement)
    assert main(["extra"]) == 0
    assert capsys.readouterr().out == "ran\n"


@pytest.fixture
def former(monkeypatch):
    """Replace the table of former words, so that this test does not depend on what is gone."""
    table = {"olden": "use grice score", "kb olden": "use grice kb find", "--olden": "use --seed N"}
    monkeypatch.setattr(distributions, "_table", {"former.toml": table, "commands.toml": {}}.get)
    distributions.extras.cache_clear()
    yield
    distributions.extras.cache_clear()


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("olden --json", "grice olden is no longer available: use grice score"),
        ("kb olden x", "grice kb olden is no longer available: use grice kb find"),
        ("kb find x --olden 3", "grice kb find --olden is no longer available: use --seed N"),
        ("score x --olden=3", "grice score --olden is no longer available: use --seed N"),
    ],
)
def test_a_former_word_names_what_replaces_it(former, capsys, words, shown):
    assert main(words.split()) == 2
    assert capsys.readouterr().err == f"grice: {shown}\n"


def test_a_former_option_in_a_settings_file_names_what_replaces_it(
    former, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grice.toml").write_text("olden = 3\n")
    assert main(["score", "x.jsonl"]) == 2
    assert "grice.toml: olden is no longer available: use --seed N" in capsys.readouterr().err


FORMER = distributions._table("former.toml")


@pytest.mark.parametrize("words", sorted(FORMER))
def test_a_former_word_is_unknown_now(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "talks.jsonl").write_text('{"turns": ["Is it far?", "No."]}\n')
    place = [*words.split(), "x"]
    if place[0] in ("metric", "preset"):
        option = {"metric": "-m", "preset": "--models"}[place[0]]
        place = ["score", "talks.jsonl", option, place[1]]
        if words.removeprefix("metric ") in find_metrics().metrics:
            pytest.skip("of a distribution that is installed")
    elif words.startswith("--"):
        place = ["score", "talks.jsonl", words, "x"]
    elif place[0] in distributions.extras().keys() - find_commands().keys():
        pytest.skip("of a distribution that is not installed")
    assert main(place) == 2
    assert f" is no longer available: {FORMER[words]}\n" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--help"], ["scroe"], ["cidre"]])
def test_help_and_near_names_load_no_arrays(words):
    code = (
        "import sys\nfrom grice.cli import main\n"
        f"try:\n    main({words!r})\nexcept SystemExit:\n    pass\n"
        "assert 'numpy' not in sys.modules and 'ctranslate2' not in sys.modules"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], env=os.environ, capture_output=True, check=False
    )
    assert run.returncode == 0, run.stderr
