"""Change the code in small ways and see which changes no test notices.

python bench/mutants.py [MODULE ...] [--each 3] [--seed 0] [--minutes 30] [--jobs 2]

From each module (``grice/stats/kendall.py``; by default all of ``stats`` and ``scoring``, and
``evaluation/gate.py`` and ``verify.py``) a few changes are drawn with a seed: a comparison that
takes in its bound or leaves it out, a sum that is a difference, a constant that is one more, a
condition turned round, a statement left out. The tests of the module run on a copy with one change
at a time. What they let through is printed: a missing test, or a change that changes nothing.

Why not a library: mutmut draws no sample, and half of its changes are other messages and
``strict=False``; cosmic-ray writes into the working tree, and most of its changes are operators
that no type allows.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "grice"
ROOMS = ("stats", "scoring")
MODULES = ("evaluation/gate.py", "evaluation/verify.py")

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult,
}  # fmt: skip


class Mutant(NamedTuple):
    """A module with one change."""

    module: str
    line: int
    before: str
    after: str
    source: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", help="such as grice/stats/kendall.py; default all")
    parser.add_argument("--each", type=int, default=3, help="changes drawn from each module")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=30, help="no test run begins after that")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    modules = [name.removeprefix("src/").removeprefix("grice/") for name in arguments.modules]
    drawn = [mutant for module in modules or known_modules()
             for mutant in sample(module, arguments.each, arguments.seed)]  # fmt: skip
    # In another order, so that a run that is cut short has looked at every room.
    random.Random(arguments.seed).shuffle(drawn)
    end = time.monotonic() + 60 * arguments.minutes
    with tempfile.TemporaryDirectory() as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(arguments.jobs):
            copies.put(copied(Path(folder, str(number))))
        check_unchanged({mutant.module for mutant in drawn}, copies)
        with ThreadPoolExecutor(arguments.jobs) as pool:
            outcomes = list(pool.map(lambda mutant: judged(mutant, copies, end), drawn))
    verdicts = {
        name: [mutant for mutant, outcome in zip(drawn, outcomes, strict=True) if outcome == name]
        for name in ("killed", "survived", "not run")
    }
    for mutant in sorted(verdicts["survived"]):
        print(f"\ngrice/{mutant.module}:{mutant.line}\n  - {mutant.before}\n  + {mutant.after}")
    print("\n" + ", ".join(f"{len(mutants)} {name}" for name, mutants in verdicts.items()))


def known_modules() -> list[str]:
    inside = (path for room in ROOMS for path in sorted((PACKAGE / room).glob("*.py")))
    names = [path.relative_to(PACKAGE).as_posix() for path in inside if path.name != "__init__.py"]
    return [*names, *MODULES]


def tests_of(module: str) -> list[str]:
    """Return what to run: the tests named like a module first, then those of its room."""
    room, name = module.split("/")
    named = [path for path in (f"tests/{room}/test_{name}",) if (ROOT / path).is_file()]
    return [*named, f"tests/{room}"] if room in ROOMS else named


def copied(folder: Path) -> Path:
    """Copy the code to a folder; its data, which never change, are linked."""
    shutil.copytree(PACKAGE, folder / "grice", ignore=shutil.ignore_patterns("data", "__pycache__"))
    (folder / "grice" / "data").symlink_to(PACKAGE / "data")
    return folder


def check_unchanged(modules: set[str], copies: SimpleQueue[Path]) -> None:
    """End where tests fail by themselves: whatever they said of a change would mean nothing."""
    folder = copies.get()
    for tests in sorted({tuple(tests_of(module)) for module in modules}):
        if tested(folder, tests, None):
            sys.exit(f"without any change, tests fail: {' '.join(tests)}")
    copies.put(folder)


def judged(mutant: Mutant, copies: SimpleQueue[Path], end: float) -> str:
    if time.monotonic() > end:
        return "not run"
    folder = copies.get()
    path = folder / "grice" / mutant.module
    whole = path.read_bytes()
    try:
        path.write_text(mutant.source, "utf-8")
        # Changes may loop for ever: what takes longer than any sound run is noticed, too.
        failed = tested(folder, tests_of(mutant.module), 900)
        return "killed" if failed else "survived"
    finally:
        path.write_bytes(whole)
        copies.put(folder)


def tested(folder: Path, tests: list[str] | tuple[str, ...], timeout: float | None) -> bool:
    """Return whether tests fail on a copy of the code."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
    paths = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [*command, *tests], cwd=ROOT, env=environment, timeout=timeout, capture_output=True
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def sample(module: str, count: int, seed: int) -> list[Mutant]:
    """Draw different changes of a module."""
    source = (PACKAGE / module).read_text("utf-8")
    every = places(source)
    drawn = random.Random(f"{seed} {module}").sample(every, min(count, len(every)))
    return [changed(module, source, *place) for place in drawn]


def places(source: str) -> list[tuple[int, int]]:
    """Return every change there is: the number of a node, and that of a change of it."""
    nodes = enumerate(_judged_nodes(ast.parse(source)))
    return [(place, i) for place, (_, node) in nodes for i in range(len(_changes(node)))]


def changed(module: str, source: str, place: int, change: int) -> Mutant:
    """Return a module with one change."""
    tree = ast.parse(source)
    statement, node = list(_judged_nodes(tree))[place]
    line, before = statement.lineno, ast.unparse(statement)
    _changes(node)[change](node)
    texts = (text.split("\n", 1)[0] for text in (before, ast.unparse(statement)))
    return Mutant(module, line, *texts, ast.unparse(tree))


def _judged_nodes(tree: ast.AST) -> Iterator[tuple[ast.stmt, ast.AST]]:
    """Yield every node that may be changed, with its statement, in one order.

    Left alone are annotations, defaults, decorators, docstrings, what is only for type checkers,
    and the words of errors.
    """
    bodies = [(tree, None)]
    while bodies:
        node, statement = bodies.pop()
        inside = node if isinstance(node, ast.stmt) else statement
        if inside is not None:
            yield inside, node
        bodies += [(child, inside) for child in reversed(_children(node))]


def _children(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.Raise) or (
        isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
    ):
        return []
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return list(node.body)
    skipped = {"annotation", "returns", "type_params"}
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return []
    children = []
    for name, value in ast.iter_fields(node):
        values = value if isinstance(value, list) else [value]
        children += [
            child for child in values if isinstance(child, ast.AST) and name not in skipped
        ]
    return children


def _changes(node: ast.AST) -> list[Callable[[ast.AST], None]]:
    """Return what can be done to a node, in place."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            return [lambda target: target.ops.__setitem__(0, COMPARISONS[type(op)]())]
        case ast.Compare(ops=[_, _, *_]):
            return [_at(i, COMPARISONS[type(op)]) for i, op in enumerate(node.ops)]
        case ast.BinOp(op=op) if type(op) in OPERATORS:
            return [lambda target: setattr(target, "op", OPERATORS[type(op)]())]
        case ast.BoolOp(op=op):
            other = ast.Or if isinstance(op, ast.And) else ast.And
            return [lambda target: setattr(target, "op", other())]
        case ast.Constant(value=bool() | int() | float() as value):
            new = not value if isinstance(value, bool) else value + 1
            return [lambda target: setattr(target, "value", new)]
        case ast.If() | ast.While() | ast.IfExp():
            return [_turn_round]
        case (
            ast.Expr(value=ast.Call())
            | ast.AugAssign()
            | ast.Raise()
            | ast.Continue()
            | ast.Break()
        ):
            return [_leave_out]
    return []


def _at(place: int, kind: type[ast.cmpop]) -> Callable[[ast.AST], None]:
    return lambda target: target.ops.__setitem__(place, kind())


def _turn_round(node: ast.AST) -> None:
    node.test = ast.UnaryOp(ast.Not(), node.test)


def _leave_out(node: ast.AST) -> None:
    """Make a statement one that does nothing."""
    kept = {name: getattr(node, name) for name in ("lineno", "col_offset")}
    node.__class__ = ast.Expr
    node.__dict__ = {"value": ast.Constant(None), **kept}


if __name__ == "__main__":
    main()
