"""Only :mod:`grice.readers.roles` decides who is user, assistant, system or tool."""

from __future__ import annotations

import ast
from pathlib import Path

import grice
from grice.readers import roles

PACKAGE = Path(grice.__file__).parent
OTHER_FIELDS = {"model", "function", "function_call", "client", "support", "ai"}
WORDS = {*roles.ASSISTANTS, *roles.USERS, *roles.SHAREGPT, *roles.TYPES, "developer"} - OTHER_FIELDS
SPEAKER_FIELD = "name of a field that holds the speaker"
META_FIELD = "name of a field of the meta"
RATINGS = "human ratings are called human"
ALLOWED = {
    ("cli/__init__.py", "system"): "a module of commands",
    ("cli/settings.py", "tool"): "a table of pyproject.toml",
    ("evaluation/datasets.py", "human"): RATINGS,
    ("models/endpoint.py", "user"): "role of a message that grice itself sends to a server",
    ("readers/layouts.py", "agent"): SPEAKER_FIELD,
    ("readers/json.py", "agent"): SPEAKER_FIELD,
    ("readers/messages.py", "system"): "field of a request to Anthropic's interface",
    ("readers/layouts.py", "user"): SPEAKER_FIELD,
    ("readers/table.py", "agent"): SPEAKER_FIELD,
    ("readers/traces.py", "agent"): META_FIELD,
    ("readers/traces.py", "user"): META_FIELD,
    ("report/exports.py", "system"): "a level of evaluation",
    ("stats/inference.py", "human"): RATINGS,
    ("stats/comparison.py", "human"): RATINGS,
    ("stats/correlations.py", "human"): RATINGS,
    ("stats/correlations.py", "system"): "a level of evaluation",
}
"""Modules that compare or list a word for another reason."""


def decisions(source: str) -> set[str]:
    """Return the role words that a module compares, matches, or lists as elements or keys."""
    nodes: list[ast.AST | None] = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Compare() | ast.MatchValue() | ast.Set() | ast.Tuple() | ast.List():
                nodes += ast.iter_child_nodes(node)
            case ast.Dict():
                # {"role": "user", …} is a message that is written, not one that is judged
                for key, value in zip(node.keys, node.values, strict=True):
                    written = isinstance(key, ast.Constant) and key.value == "role"
                    nodes += [key] if written else [key, value]
            case ast.Call(func=ast.Attribute(attr="startswith" | "endswith" | "get")):
                nodes += node.args
    values = {node.value for node in nodes if isinstance(node, ast.Constant)}
    return {value for value in values if isinstance(value, str) and value.casefold() in WORDS}


def test_no_other_module_decides_roles_but_for_the_exceptions_that_are_needed():
    files = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    del files["readers/roles.py"]
    found = {(name, word) for name, path in files.items() for word in decisions(path.read_text())}
    assert found - ALLOWED.keys() == set(), "use grice.readers.roles"
    assert {each for each in ALLOWED if (PACKAGE / each[0]).exists()} - found == set()
