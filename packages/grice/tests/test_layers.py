"""Layers and costs of imports; the distributions: versions, terms, names, and variables."""

import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

import grice

ROOT = Path(__file__).parents[3]
CLI = ROOT / "packages/grice/src/grice/cli"
COMMANDS = sorted(CLI.glob("commands/[!_]*.py"))
HEAVY = ("ctranslate2", "jinja2", "numpy", "rich", "scipy", "tokenizers", "torch", "transformers")


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(done.stdout.splitlines()[-1].split())


def test_packages_import_and_name_only_packages_below_them(monkeypatch):
    """Not even in a string: a module that is looked up by name at run time is imported, too."""
    # It would disable the loggers that other tests read.
    monkeypatch.setattr("logging.config.dictConfig", lambda _: None)
    assert lint_imports(str(ROOT / "pyproject.toml"), no_cache=True) == 0
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    layers = enumerate(reversed(settings["contracts"][0]["layers"]))
    heights = {name: height for height, layer in layers for name in layer.split(" | ")}
    folder = Path(grice.__file__).parent
    for path in folder.rglob("*.py"):
        own = heights.get(path.relative_to(folder).with_suffix("").parts[0], len(heights))
        named = re.findall(r"\bgrice\.(\w+)", path.read_text("utf-8"))
        assert [name for name in named if heights.get(name, 0) > own] == [], path


@pytest.mark.parametrize("statement", [
    "import grice, grice.cli",
    *(f"import grice.cli\ntry:\n grice.cli.main([{word!r}])\nexcept SystemExit: pass"
      for word in ("--help", "scroe", "cidre")),
    "import grice.cli\ngrice.cli.main('check -q examples/support-bot.jsonl -o /dev/null'.split())",
    "from grice.metrics.declaration import find_metrics; find_metrics()",
    "import " + ", ".join(f"grice.cli.commands.{path.stem}" for path in COMMANDS),
], ids=["import", "help", "a near name", "an extra's", "check", "metrics", "commands"])  # fmt: skip
def test_nothing_heavy_is_loaded_before_it_is_needed(statement):
    assert not loaded_by(statement) & set(HEAVY)


def test_scoring_needs_no_torch():
    run = "import grice; grice.score(['Do you like tea?', 'I love tea.'])"
    assert not loaded_by(run) & {"torch", "transformers", "scipy"}


def test_every_public_name_is_there_and_sorted():
    assert grice.__all__ == sorted(grice.__all__)
    assert all(getattr(grice, name) is not None for name in grice.__all__)
    assert set(grice.__all__) <= set(dir(grice))


def test_commands_open_no_engine():
    paths = [*COMMANDS, *CLI.glob("_[!_]*.py")]
    opens = re.compile(r"\b(EmbeddedEncoder|open_folder|ctranslate2)\b")
    assert not [path.name for path in paths if opens.search(path.read_text("utf-8"))]


PROJECTS = {
    path.parent.name: tomllib.loads(path.read_text("utf-8"))["project"]
    for path in sorted((ROOT / "packages").glob("*/pyproject.toml"))
}


@pytest.mark.parametrize("name", PROJECTS)
def test_all_have_one_version_and_require_each_other_in_it(name):
    """A wheel of another version would be refused by pip, not found out at run time."""
    assert (len(PROJECTS), PROJECTS[name]["version"]) == (5, grice.__version__)
    assert PROJECTS[name]["requires-python"] == PROJECTS["grice"]["requires-python"]
    lists = [PROJECTS[name].get("dependencies", [])]
    lists += PROJECTS[name].get("optional-dependencies", {}).values()
    own = [
        wanted
        for wanted in chain(*lists)
        if re.match(r"[\w-]+", wanted)[0] in PROJECTS and not re.match(r"grice\[[\w,]+\]$", wanted)
    ]
    assert [wanted for wanted in own if not wanted.endswith(f"=={grice.__version__}")] == []


@pytest.mark.parametrize("name", PROJECTS)
@pytest.mark.parametrize("file", ["LICENSE", "NOTICE"])
def test_a_distribution_carries_the_terms_of_the_repository(name, file):
    copy = ROOT / "packages" / name / file
    assert copy.read_text("utf-8") == (ROOT / file).read_text("utf-8")
    assert not copy.is_symlink()  # an sdist would keep a link that leads nowhere


def test_the_recipe_for_conda_requires_what_pip_does():
    recipe = (ROOT / "packaging/conda/recipe.yaml").read_text("utf-8")
    run = recipe.partition("  run:\n")[2].partition("\n\n")[0]
    wanted = {each.replace(" ", "") for each in PROJECTS["grice"]["dependencies"]}
    wanted = {each for each in wanted if not each.startswith("grice-models")}
    lines = {line.strip("- ").replace(" ", "") for line in run.splitlines()}
    assert lines - {"python>=3.11"} == wanted


NAMES = re.compile(
    r"\b(grice_tasks|grice_annotate|grice_research|cider|explagraphs|situatedgen|nado|steering)\b",
    re.IGNORECASE,
)
ALLOWED = {"data/commands.toml"}
"""The table of data that says which package brings a command."""
TEXTS = {".py", ".toml", ".json", ".html", ".j2", ".js", ".css", ".md", ".tsv", ".txt"}


def test_the_core_names_no_other_distribution_and_no_task():
    folder = Path(grice.__file__).parent
    places = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    texts = {
        place: path.read_text("utf-8")
        for place, path in places.items()
        if path.suffix in TEXTS and place not in ALLOWED
    }
    assert {place: NAMES.findall(text) for place, text in texts.items() if NAMES.search(text)} == {}


def test_every_variable_of_grice_is_on_the_page():
    page = (ROOT / "docs/settings.md").read_text("utf-8")
    sources = [*(ROOT / "packages").glob("*/src/**/*.py"), *(ROOT / "bench").rglob("*.py")]
    read = {
        name
        for source in sources
        for name in re.findall(r'"((?:GRICE|HF|UV)_[A-Z_]+)"', source.read_text("utf-8"))
    }
    assert {name for name in read if f"`{name}`" not in page} == set()
