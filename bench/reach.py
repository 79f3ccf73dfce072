"""Lines of the package by room, and from where each module is reached.

    python bench/reach.py [--json] [--list]

A module is put into the first class that reaches it, over imports at the top of files and inside
functions, those for type checkers left out:

    score      `grice score`, `grice explain`, and the public names of `import grice`
    commands   any other command, and what other tools import: the pytest plugin,
               `grice.testing`, `grice.integrations`, the logits processor
    research   the second distribution alone, whose benches and recipes lie in `research/`
    nothing    none of these: what the documentation, benches of speed and tests import directly

What is found while the program runs counts as well: modules of a package that a registry goes
through, names that a package hands on when they are first used, and kinds of models: to `score`
those of the references that a metric opens by default or the pages name as a value of one of its
options, with what they stand on, as far as they ship or were fetched (GRICE_MODELS says where to);
the others to `commands`. A registry that is not known here ends
the script, so that none is overlooked. Imports say what can be reached, which is more
than a run loads: the column `loaded` counts the modules that are in memory after `grice score`
and `grice explain` with the default metrics. All columns count lines; `code` leaves out blank ones,
comments and docstrings.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
from collections import defaultdict
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import grimp

import grice
from grice.errors import ModelError
from grice.metrics.registry import find_metrics
from grice.models.models import Models
from grice.models.registry import KINDS, SCHEMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ROOT = Path(__file__).parents[1]
PACKAGE = Path(grice.__file__).parent
RESEARCH = ROOT / "research" / "src"
COMMANDS = "grice.cli.commands"
CLASSES = ("score", "commands", "research", "nothing")
OTHER_DOORS = re.compile(
    r"grice\.(pytest_plugin|testing|steer\.logits_processor|integrations\.\w+)"
)

REGISTRIES = {
    "grice.metrics.registry": r"grice\.metrics\.\w+",
    "grice.readers._registry": r"grice\.formats\.[^_]\w+",
    "grice.perturb.registry": r"grice\.perturb\.[^_]\w+",
    "grice_annotate.templates": r"grice\.annotate\.templates\.[^_]\w+",
    "grice.integrations": r"grice\.integrations\.\w+_engine",
}
"""Which modules each registry imports by a name that it puts together."""
FINDS = re.compile(r"""iter_modules\(|import_module\(\s*f["'](?!scipy)""")
"""How a module imports others by a name that it puts together."""
NO_REGISTRIES = ("grice.cli", "grice.stats")
"""The commands are roots of their own; names that a package hands on are followed one by one."""

LOAD = """
import contextlib, io, json, sys
from grice.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    main(["score", "examples/charity.txt", "--no-cache"])
    main(["explain", "I lost my keys.", "Then you could not drive home.", "--no-cache"])
print(json.dumps(sorted(name for name in sys.modules if name.partition(".")[0] == "grice")))
"""


def imports() -> dict[str, set[str]]:
    """Return what each module imports, or lets be imported."""
    graph = grimp.build_graph("grice", exclude_type_checking_imports=True, cache_dir=None)
    edges_of = {
        name: set(graph.find_modules_directly_imported_by(name)) for name in sorted(graph.modules)
    }
    check_registries(edges_of)
    for registry, pattern in REGISTRIES.items():
        edges_of[registry] |= {name for name in edges_of if re.fullmatch(pattern, name)}
    for name in edges_of:
        edges_of[name] |= handed_on(name, edges_of)
        # To import a module is to run the packages that it lies in.
        parent = name.rpartition(".")[0]
        if parent and parent != "grice":
            edges_of[name].add(parent)
    # The commands are roots of their own.
    edges_of["grice.cli"] -= {name for name in edges_of if name.startswith(f"{COMMANDS}.")}
    # Every model is opened by the same class; which kinds a run opens is a question of its command.
    edges_of["grice.models.registry"] |= {module_of(SCHEMES[name]) for name in SCHEMES}
    return edges_of


def module_of(place: str) -> str:
    """Return the module of ``module:name``."""
    return place.partition(":")[0]


def scored_kinds() -> set[str]:
    """Return the modules of the kinds that metrics open by default or by a documented option."""
    metrics = find_metrics().metrics.values()
    references = {reference for metric in metrics for reference in metric.models.values()}
    flags = [metric.flag(name) for metric in metrics for name in metric.models]
    named = re.compile(rf"(?:{'|'.join(map(re.escape, flags))})[ =](bundle:[\w-]+)")
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        references.update(named.findall(page.read_text("utf-8")))
    with Models(mode="fast", workers=1, cache=None) as models:
        parts: set[str] = set()
        for reference in references:
            with suppress(ModelError):  # it does not ship, and is not here
                parts.update(models.dependencies(reference))
        return {module_of(KINDS[models.bundle(part).card.kind]) for part in parts}


def check_registries(modules: Iterable[str]) -> None:
    """End if a module imports by a name that it puts together and is not among the registries."""
    for name in modules:
        finds = FINDS.search(path_of(name).read_text("utf-8"))
        if finds and name not in REGISTRIES and name not in NO_REGISTRIES:
            raise SystemExit(
                f"{name} imports modules by a name that it puts together: say in REGISTRIES of "
                f"{Path(__file__).name} which"
            )


def handed_on(name: str, modules: Mapping[str, object]) -> set[str]:
    """Return the homes of the names that a module takes from a package that hands them on."""
    homes: set[str] = set()
    for node in ast.walk(without_types(ast.parse(path_of(name).read_text("utf-8")))):
        if not isinstance(node, ast.ImportFrom) or node.module not in modules or node.level:
            continue
        table = getattr(import_module(node.module), "_HOMES", {})
        for alias in node.names:
            home = str(table.get(alias.name, ""))
            homes |= {name for name in (home, f"{node.module}.{home}") if name in modules}
    return homes


def without_types(tree: ast.Module) -> ast.Module:
    """Return the code without what only type checkers read."""

    class Cut(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> ast.AST | None:
            checked = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
            return None if checked else self.generic_visit(node)

    cut: ast.Module = Cut().visit(tree)
    return cut


def reached(roots: Iterable[str], edges: Mapping[str, set[str]]) -> set[str]:
    """Return the roots and all that they lead to."""
    seen: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += edges[name]
    return seen


def classes(edges: Mapping[str, set[str]]) -> dict[str, str]:
    """Return the class of each module."""
    commands = {name for name in edges if name.startswith(f"{COMMANDS}.")}
    others = {name for name in edges if OTHER_DOORS.fullmatch(name)}
    scoring = {f"{COMMANDS}.score", f"{COMMANDS}.explain"}
    public = {str(home) for home in grice._HOMES.values()}
    ways = {
        "score": {"grice", "grice.__main__", *scoring, *public, *scored_kinds()},
        "commands": {*commands, *others, *map(module_of, KINDS.values())},
        "research": used_by_research(edges),
    }
    way_to = dict.fromkeys(edges, "nothing")
    for way in reversed(ways):
        way_to |= dict.fromkeys(reached(ways[way], edges), way)
    return way_to


def used_by_research(modules: Iterable[str]) -> set[str]:
    """Return the modules that the second distribution imports."""
    named: set[str] = set()
    for path in RESEARCH.rglob("*.py"):
        for node in ast.walk(without_types(ast.parse(path.read_text("utf-8")))):
            if isinstance(node, ast.ImportFrom) and node.module:
                named |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
    return named & set(modules)


def path_of(name: str) -> Path:
    """Return the file of a module."""
    place = PACKAGE.joinpath(*name.split(".")[1:])
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


def lines_of(name: str) -> int:
    """Return the number of lines of a module."""
    return len(path_of(name).read_text("utf-8").splitlines())


def code_of(name: str) -> int:
    """Return the number of lines of a module without blanks, comments and docstrings."""
    text = path_of(name).read_text("utf-8")
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            left_out.update(range(value.lineno, (value.end_lineno or value.lineno) + 1))
    return sum(
        bool(line.strip()) and not line.lstrip().startswith("#") and number not in left_out
        for number, line in enumerate(text.splitlines(), start=1)
    )


def room_of(name: str) -> str:
    """Return the room of a module: the folder, or ``(top)`` for files beside the folders."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 and (PACKAGE / parts[1]).is_dir() else "(top)"


def loaded() -> set[str]:
    """Return the modules in memory after a run of ``grice score`` and ``grice explain``."""
    done = subprocess.run(
        [sys.executable, "-c", LOAD], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def users_of(name: str, outside: Mapping[str, list[str]]) -> list[str]:
    """Return which parts of the repository beside the package name a module."""
    pattern = re.compile(rf"\b{re.escape(name)}\b|from {name.rpartition('.')[0]} import [^\n]*\b"
                         rf"{name.rpartition('.')[2]}\b")  # fmt: skip
    return [part for part, texts in outside.items() if any(map(pattern.search, texts))]


def texts_outside() -> Iterator[tuple[str, list[str]]]:
    """Yield the texts of each part of the repository beside the package."""
    for part in ("docs", "research", "bench", "tests"):
        files = [*(ROOT / part).rglob("*.py"), *(ROOT / part).rglob("*.md")]
        yield part, [file.read_text("utf-8") for file in files if file != Path(__file__)]


def table(ways: Mapping[str, str], memory: set[str]) -> list[dict[str, str | int]]:
    """Return a row per room and one of all."""
    sums: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(COLUMNS, 0))
    for name, way in ways.items():
        for room in (room_of(name), "all"):
            size = lines_of(name)
            sums[room]["files"] += 1
            sums[room]["lines"] += size
            sums[room]["code"] += code_of(name)
            sums[room][way] += size
            sums[room]["loaded"] += size * (name in memory)
    rooms = sorted(sums.keys() - {"all"}, key=lambda room: -sums[room]["lines"])
    return [{"room": room, **sums[room]} for room in (*rooms, "all")]


COLUMNS = ("files", "lines", "code", *CLASSES, "loaded")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="everything as one JSON object")
    parser.add_argument("--list", action="store_true", help="the modules of each class as well")
    arguments = parser.parse_args()
    ways, memory, outside = classes(imports()), loaded(), dict(texts_outside())
    rows = table(ways, memory)
    modules = [
        {"module": name, "class": way, "lines": lines_of(name), "loaded": name in memory,
         **({"named in": users_of(name, outside)} if way == "nothing" else {})}
        for name, way in sorted(ways.items())
    ]  # fmt: skip
    if arguments.json:
        print(json.dumps({"rooms": rows, "modules": modules}, indent=1))
        return
    print(f"{'room':12}" + "".join(f"{column:>10}" for column in COLUMNS))
    for row in rows:
        print(f"{row['room']:12}" + "".join(f"{row[column]:>10,}" for column in COLUMNS))
    for way in CLASSES:
        some = [row for row in modules if row["class"] == way and row["lines"]]
        if way in ("research", "nothing") or arguments.list:
            print(f"\n{way} ({sum(row['lines'] for row in some):,} lines)")
            for row in some:
                named = f"  named in {', '.join(row['named in'])}" if row.get("named in") else ""
                print(f"  {row['lines']:>5} {row['module']}{named}")


if __name__ == "__main__":
    main()
