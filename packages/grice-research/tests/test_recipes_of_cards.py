import ast
import re
import shutil
import tomllib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from grice_research.places import MODELS, TASK_MODELS
from grice_research.recipes.common import update_card

OURS = {"grice", "grice_models", "grice_research", "grice_tasks"}
CARDS = sorted(path for folder in (MODELS, TASK_MODELS) for path in folder.glob("*/card.toml"))
COMMANDS = [re.findall(r"^command = .*", path.read_text("utf-8"), re.MULTILINE) for path in CARDS]
NAMED = sorted(set(re.findall(r"grice_research\.recipes\.\w+(?:\.\w+)?", str(COMMANDS))))


@cache
def source(module):
    """Return the text of a module, None if there is no such module."""
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:
        return None
    return None if spec is None or spec.origin is None else Path(spec.origin).read_text("utf-8")


def missing_imports(module):
    """Yield the names that a module imports from these distributions and that are not there."""
    for node in ast.walk(ast.parse(source(module))):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] in OURS:
            text = source(node.module)
            for name in () if text is None else [alias.name for alias in node.names]:
                if name not in text and source(f"{node.module}.{name}") is None:
                    yield f"{module}: {node.module}.{name}"
            if text is None:
                yield f"{module}: {node.module}"


def test_recipes_that_cards_name_are_there():
    assert len(NAMED) > 10
    assert [name for name in NAMED if source(name) is None] == []


@pytest.mark.parametrize("folder", sorted({name.split(".")[2] for name in NAMED}))
def test_all_that_recipes_import_is_there(folder):
    place = Path(find_spec(f"grice_research.recipes.{folder}").origin).parent
    modules = [f"grice_research.recipes.{folder}.{path.stem}" for path in place.glob("*.py")]
    assert [name for module in modules for name in missing_imports(module)] == []


@pytest.mark.parametrize("path", CARDS, ids=lambda path: path.parent.name)
def test_a_card_written_again_keeps_its_statements(path, tmp_path):
    card, folder = tomllib.loads(path.read_text("utf-8")), tmp_path / path.parent.name
    shutil.copytree(path.parent, folder)
    update_card(folder, files=card["files"], quality=card.get("quality", ()))
    assert tomllib.loads((folder / "card.toml").read_text("utf-8")) == {"settings": {}} | card
    update_card(folder, files=card["files"], settings={"reach": 3}, excluded="one text")
    changed = tomllib.loads((folder / "card.toml").read_text("utf-8"))
    assert changed["training"] == card["training"] | {"excluded": "one text"}
    assert (changed["settings"], changed["summary"]) == ({"reach": 3}, card["summary"])
    assert "quality" not in changed
