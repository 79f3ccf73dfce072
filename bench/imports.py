"""The packages of grice as their imports connect them, and the call paths of two commands.

    python bench/imports.py                                print graph and call paths, in Markdown
    python bench/imports.py --write docs/concepts/architecture.md   write them between its marks

The graph is Mermaid. An edge leads from a package to one that it imports, inside functions too,
without imports for type checkers and without edges that follow from others. A call path is traced
by ``sys.setprofile`` on a small example: the modules that are called from another one, in the order
of their first call; how many pairs of caller and called module there are; and which of these calls
lead upwards, to a package that the caller may not import: a callback, or an iterator of a higher
package. Threads and code that runs on import are left out.
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


def package_of(module: str) -> str:
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


def imports_between_packages() -> set[tuple[str, str]]:
    """Return which package imports from which other one."""
    pairs = set()
    for path in PACKAGE.rglob("*.py"):
        package = path.relative_to(PACKAGE).with_suffix("").parts[0]
        if package not in ENTRANCES:
            pairs |= {(package, package_of(module)) for module in run_time_imports(path)}
    return {(first, second) for first, second in pairs if first != second and second in layers()}


def reduced(imports: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the transitive reduction of the graph, sorted."""
    below: dict[str, set[str]] = {}
    for first, second in imports:
        below.setdefault(first, set()).add(second)

    @cache
    def reached(package: str) -> frozenset[str]:
        imported = below.get(package, set())
        return frozenset(imported).union(*map(reached, imported))

    return sorted(
        (first, second)
        for first, second in imports
        if not any(second in reached(other) for other in below[first] - {second})
    )


def graph() -> Iterator[str]:
    """Yield the lines of the Mermaid graph."""
    yield "```mermaid"
    yield "flowchart TD"
    for first, second in reduced(imports_between_packages()):
        yield f"    {first} --> {second}"
    yield "```"


@cache
def layers() -> dict[str, int]:
    """Return the rank of each layer in the order of imports, 0 for the highest."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    order = settings["contracts"][0]["layers"]
    return {name: rank for rank, layer in enumerate(order) for name in layer.split(" | ")}


def traced(words: list[str]) -> list[tuple[str, str]]:
    """Run a command; return pairs of caller and called module, in the order of the first call."""
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


def upward(calls: list[tuple[str, str]]) -> str:
    """Return the number of calls to a higher package, and the modules of each."""
    rank = layers()
    found = [
        f"`{caller.removeprefix('grice.')}` to `{called.removeprefix('grice.')}`"
        for caller, called in calls
        if rank.get(package_of(called), 0) < rank.get(package_of(caller), 0)
    ]
    return f"{len(found)} upward calls" + (f" ({'; '.join(found)})" if found else "")


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


def call_paths() -> Iterator[str]:
    """Yield the two call paths in Markdown."""
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
            counts = f"{len(modules)} modules, {len(calls)} calls between them, {upward(calls)}"
            yield f"**{title}** (`{command}`): {counts}.\n"
            yield " → ".join(name.removeprefix("grice.") for name in modules) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--write", type=Path, metavar="PAGE.md")
    page = parser.parse_args().write
    page = page and page.resolve()
    text = "\n".join([*graph(), "", *call_paths()]).rstrip()
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
