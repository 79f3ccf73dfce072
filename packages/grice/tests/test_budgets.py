"""Line budgets of folders, and sizes of the wheels."""

import io
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BUDGETS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["budgets"]


def lines(places: str) -> int:
    """Count the lines of Python in folders or files, named by patterns."""
    found = [path for place in places.split() for path in ROOT.glob(place)]
    files = [file for path in found for file in (path.rglob("*.py") if path.is_dir() else [path])]
    return sum(len(file.read_bytes().splitlines()) for file in files)


@pytest.mark.parametrize("places", BUDGETS)
def test_a_folder_keeps_its_budget_of_lines(places):
    count, budget = lines(places), BUDGETS[places]
    assert count <= budget, (
        f"{places} has {count:,} lines, {count - budget:,} more than its budget of {budget:,}: "
        "make it shorter, or raise the budget in [tool.budgets] of pyproject.toml and give the "
        "reason in a sentence of CHANGELOG.md"
    )


def test_every_source_folder_has_a_budget():
    sources = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("packages/*/src")}
    assert sources <= BUDGETS.keys()


def compressed(folder: Path) -> int:
    """Return the bytes of the files of a folder as a wheel compresses them."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in folder.rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                archive.write(file, file.relative_to(folder))
    return packed.tell()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "most"), [("grice", 2_000_000), ("grice-models", 95_000_000)])
def test_a_wheel_stays_small(name, most):
    assert compressed(ROOT / "packages" / name / "src") < most
