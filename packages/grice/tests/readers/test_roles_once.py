"""Only :mod:`grice.readers.roles` decides who is user, assistant, system or tool."""

from __future__ import annotations

import ast
from pathlib import Path

import grice
from grice.readers import roles

PACKAGE = Path(grice.__file__).parent
OTHER_FIELDS = {"model", "function", "function_call", "client", "support", "ai"}
"""Words that also name fields which have nothing to do with speakers."""
WORDS = (
    {*roles.ASSISTANTS, *roles.USERS, *roles.SHAREGPT, "system", "tool", "developer"}
    - OTHER_FIELDS
)  # fmt: skip
SPEAKER_FIELD = "name of a field that holds the speaker"
META_FIELD = "name of a field of the meta"
RATINGS = "human ratings are called human"
ALLOWED = {
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


def words_in(node: ast.AST | None) -> list[str]:
    """Return the role words among a constant, or the elements of a set, a tuple or a list."""
    if isinstance(node, (ast.Set, ast.Tuple, ast.List)):
        return [word for element in node.elts for word in words_in(element)]
    is_word = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return [node.value] if is_word and node.value.casefold() in WORDS else []


def decisions(source: str) -> list[str]:
    """Return the role words that a module compares, matches, or lists as elements or keys."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Compare():
                found += [
                    word for each in [node.left, *node.comparators] for word in words_in(each)
                ]
            case ast.MatchValue():
                found += words_in(node.value)
            case ast.Set() | ast.Tuple() | ast.List():
                found += words_in(node)
            case ast.Dict():
                for key, value in zip(node.keys, node.values, strict=True):
                    # {"role": "user", …} is a message that is written, not one that is judged
                    writes = isinstance(key, ast.Constant) and key.value == "role"
                    found += [*words_in(key), *([] if writes else words_in(value))]
            case ast.Call(func=ast.Attribute(attr="startswith" | "endswith" | "get")):
                found += [word for each in node.args for word in words_in(each)]
    return found


def decided_elsewhere(package: Path) -> set[tuple[str, str]]:
    """Return each module but ``roles.py`` with the role words that it decides by."""
    files = {path.relative_to(package).as_posix(): path for path in package.rglob("*.py")}
    return {
        (name, word)
        for name, path in files.items()
        if name != "readers/roles.py"
        for word in decisions(path.read_text("utf-8"))
    }


def test_no_other_module_decides_roles_but_for_the_exceptions_that_are_needed():
    found = decided_elsewhere(PACKAGE)
    assert found - ALLOWED.keys() == set(), "use grice.readers.roles"
    assert {each for each in ALLOWED if (PACKAGE / each[0]).exists()} - found == set()


def test_a_second_place_is_found_and_a_message_that_is_written_is_none(tmp_path):
    for source, expected in (
        ('IS_BOT = lambda turn: turn.role == "assistant"', "assistant"),
        ('def side(role):\n    return role in ("customer", "caller")', "customer"),
        ('MEANT = {"bot": "B"}', "bot"),
        ('match role:\n    case "system":\n        pass', "system"),
        ('is_agent = speaker.startswith("agent")', "agent"),
        ('ASKED = [{"role": "user", "content": "Is it far?"}]', None),
    ):
        (tmp_path / "sides.py").write_text(source)
        words = {word for _, word in decided_elsewhere(tmp_path)}
        assert (expected in words) if expected else not words
