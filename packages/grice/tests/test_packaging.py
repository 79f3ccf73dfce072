"""The distributions of the repository: versions, terms, names in the core, and variables."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import grice

ROOT = Path(__file__).parents[3]
PROJECTS = {
    path.parent.name: tomllib.loads(path.read_text("utf-8"))["project"]
    for path in sorted((ROOT / "packages").glob("*/pyproject.toml"))
}


def requirements(project):
    yield from project.get("dependencies", ())
    for wanted in project.get("optional-dependencies", {}).values():
        yield from wanted


def test_there_are_five():
    assert list(PROJECTS) == [
        "grice", "grice-annotate", "grice-models", "grice-research", "grice-tasks"
    ]  # fmt: skip


@pytest.mark.parametrize("name", PROJECTS)
def test_one_version_for_all(name):
    assert PROJECTS[name]["version"] == grice.__version__
    assert PROJECTS[name]["requires-python"] == PROJECTS["grice"]["requires-python"]


@pytest.mark.parametrize("name", PROJECTS)
def test_they_require_each_other_in_this_version(name):
    """A wheel of another version would be refused by pip, not found out at run time."""
    own = [
        wanted
        for wanted in requirements(PROJECTS[name])
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
    assert {line.strip("- ").replace(" ", "") for line in run.splitlines()} - {"python>=3.11"} == (
        wanted
    )


NAMES = re.compile(
    r"\b(grice_tasks|grice_annotate|grice_research|cider|explagraphs|situatedgen|nado|steering)\b",
    re.IGNORECASE,
)
ALLOWED = {"data/commands.toml"}
"""The table of data that says which package brings a command."""
TEXTS = {".py", ".toml", ".json", ".html", ".j2", ".js", ".css", ".md", ".tsv", ".txt"}


def named(folder):
    """Yield each place of a folder that names a distribution or a task: file, line and name."""
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder).as_posix()
        if path.suffix in TEXTS and place not in ALLOWED:
            for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
                yield from (f"{place}:{number}: {found[0]}" for found in NAMES.finditer(line))


def test_the_core_names_no_other_distribution_and_no_task():
    assert list(named(Path(grice.__file__).parent)) == []


def test_every_variable_of_grice_is_on_the_page():
    page = (ROOT / "docs/settings.md").read_text("utf-8")
    sources = [*(ROOT / "packages").glob("*/src/**/*.py"), *(ROOT / "bench").rglob("*.py")]
    read = {
        name
        for source in sources
        for name in re.findall(r'"((?:GRICE|HF|UV)_[A-Z_]+)"', source.read_text("utf-8"))
    }
    assert {name for name in read if f"`{name}`" not in page} == set()
