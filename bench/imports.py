"""The rooms of the package as their imports draw them, and two ways through them.

    python bench/imports.py                            print the drawing and the walks, in Markdown
    python bench/imports.py --write docs/architecture.md   put them between the page's marks

The drawing is Mermaid. An arrow leads from a room to one that it imports from, inside functions
too, those for type checkers left out; an arrow that a longer way of arrows says already is not
drawn. A walk is traced: a small example is run under ``sys.setprofile``, and each call from one
module into another counts once, however often it is made. Then

    modules   are passed
    stays     is how often a module is entered from another one for the first time
    returns   is how many of these enter a module that was entered before, from elsewhere
    climbs    is how many call a room that the caller may not import: a callback, or an iterator
              whose next element is made further up

Threads and what runs while a module is imported are left out.
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import re
import sys
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import grice
from grice.cli import main as run_command

ROOT = Path(__file__).parents[1]
PACKAGE = Path(grice.__file__).parent
MARKS = "<!-- what follows is written by bench/imports.py -->", "<!-- end of what it writes -->"
ENTRANCES = {"__init__", "__main__"}
TALKS = """\
{"id": "1", "turns": [{"speaker": "A", "text": "Did you sleep well?"},
 {"speaker": "B", "text": "Not really, the baby cried."}]}
"""
RATED = """\
{"id": "%d", "context": ["Did you sleep well?"], "response": "No%s", "ratings": {"overall": %d}}
"""


def room_of(module: str) -> str:
    return module.split(".")[1]


def run_time_imports(path: Path) -> Iterator[str]:
    """Yield the modules of grice that a file imports when it runs."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in [node for node in ast.walk(tree) if isinstance(node, ast.If)]:
        if ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("grice."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("grice."):
            yield str(node.module)
        elif isinstance(node, ast.ImportFrom) and node.module == "grice":
            yield from (f"grice.{alias.name}" for alias in node.names)


def imports_between_rooms() -> set[tuple[str, str]]:
    """Return which room imports from which other one."""
    pairs = set()
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).with_suffix("").parts[0]
        if room not in ENTRANCES:
            pairs |= {(room, room_of(module)) for module in run_time_imports(path)}
    return {(first, second) for first, second in pairs if first != second and second in layers()}


def needed(imports: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the arrows that no longer way of arrows says already."""
    below: dict[str, set[str]] = {}
    for first, second in imports:
        below.setdefault(first, set()).add(second)

    @cache
    def reached(room: str) -> frozenset[str]:
        ways = below.get(room, set())
        return frozenset(ways).union(*map(reached, ways))

    return sorted(
        (first, second)
        for first, second in imports
        if not any(second in reached(other) for other in below[first] - {second})
    )


def drawing() -> Iterator[str]:
    """Yield the lines of the Mermaid drawing."""
    yield "```mermaid"
    yield "flowchart TD"
    for first, second in needed(imports_between_rooms()):
        yield f"    {first} --> {second}"
    yield "```"


@cache
def layers() -> dict[str, int]:
    """Return the place of each room in the order of imports, the highest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    order = settings["contracts"][0]["layers"]
    return {room: place for place, layer in enumerate(order) for room in layer.split(" | ")}


def traced(words: list[str]) -> list[tuple[str, str]]:
    """Run a command; return the calls between modules that it makes, each once, in their order."""
    calls: dict[tuple[str, str], None] = {}

    def event(frame: FrameType, what: str, _: object) -> None:
        called = module_of(frame)
        if what != "call" or not called:
            return
        caller = frame.f_back
        while caller is not None and not module_of(caller):
            caller = caller.f_back
        if caller is None or module_of(caller) == called:
            return
        pair = (module_of(caller), called)
        if pair not in calls and not importing(frame):
            calls[pair] = None

    sys.setprofile(event)
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            run_command(words)
    finally:
        sys.setprofile(None)
    return list(calls)


def counts(calls: list[tuple[str, str]], modules: int) -> str:
    """Return stays, returns and climbs in words."""
    order = layers()
    climbs = [
        f"`{caller.removeprefix('grice.')}` to `{called.removeprefix('grice.')}`"
        for caller, called in calls
        if order.get(room_of(called), 0) < order.get(room_of(caller), 0)
    ]
    ways = f" ({'; '.join(climbs)})" if climbs else ""
    return (
        f"{modules} modules, {len(calls)} stays, {len(calls) - modules} returns, "
        f"{len(climbs)} climbs{ways}."
    )


def module_of(frame: FrameType) -> str:
    """Return the module of grice that a frame runs; empty if it runs another one."""
    name = str(frame.f_globals.get("__name__", ""))
    return name if name.startswith("grice.") else ""


def importing(frame: FrameType | None) -> bool:
    """Return whether a frame runs because a module is imported, one of a plug-in too."""
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if frame.f_code.co_name == "<module>" and name.startswith("grice"):
            return True
        frame = frame.f_back
    return False


def walks() -> Iterator[str]:
    """Yield the two walks in Markdown."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "talks.jsonl").write_text(TALKS.replace("\n ", " "), "utf-8")
        rated = (RATED % (i, " at all" * (i % 5), i % 5) for i in range(20))
        (folder / "rated.jsonl").write_text("".join(rated), "utf-8")
        os.chdir(folder)
        for title, words in (
            ("A conversation to a score", ["score", "talks.jsonl", "-m", "relevance", "-o", "o"]),
            ("A rated set to a table", ["meta-eval", "relevance", "--on", "rated.jsonl"]),
        ):
            calls = traced([*words, "--no-cache", "--workers", "1"])
            modules = list(dict.fromkeys(called for _, called in calls))
            command = " ".join(["grice", *words])
            yield f"**{title}** (`{command}`): {counts(calls, len(modules))}\n"
            yield " → ".join(name.removeprefix("grice.") for name in modules) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--write", type=Path, metavar="PAGE.md")
    page = parser.parse_args().write
    page = page and page.resolve()
    text = "\n".join([*drawing(), "", *walks()]).rstrip()
    if page is None:
        print(text)
        return 0
    before, _, rest = page.read_text("utf-8").partition(MARKS[0])
    if not rest:
        parser.error(f"{page}: there is no line {MARKS[0]}")
    after = re.split(re.escape(MARKS[1]), rest)[-1]
    page.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
