"""Only :mod:`grice.readers.roles` decides who is user, assistant, system or tool."""

import ast
from pathlib import Path

import grice
from grice.readers import roles

PACKAGE = Path(grice.__file__).parent
OTHER_FIELDS = {"model", "function", "function_call", "client", "support", "ai"}
WORDS = {*roles.ASSISTANTS, *roles.USERS, *roles.SHAREGPT, *roles.TYPES, "developer"} - OTHER_FIELDS
OTHER_MEANINGS = {
    "cli/__init__.py": "system", "cli/settings.py": "tool", "evaluation/datasets.py": "human",
    "models/endpoint.py": "user", "readers/layouts.py": "agent user", "readers/json.py": "agent",
    "readers/messages.py": "system", "readers/table.py": "agent", "cli/commands/mcp.py": "tool",
    "report/exports.py": "system", "report/findings.py": "tool", "stats/inference.py": "human",
    "stats/comparison.py": "human", "stats/correlations.py": "human system",
}  # fmt: skip
ALLOWED = {(name, word) for name, words in OTHER_MEANINGS.items() for word in words.split()}
"""Words that are names of fields, commands or levels there, the kind of a rating, or written."""


def decisions(source):
    """Return the role words that a module compares, matches, or lists as elements or keys."""
    nodes = []
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
    assert found - ALLOWED == set(), "use grice.readers.roles"
    assert {each for each in ALLOWED if (PACKAGE / each[0]).exists()} - found == set()
