"""Finds statements that stand in more than one place of the package, whatever their names are.

    python bench/repeats.py [--lines 7]

Runs of up to eight neighbouring statements of functions, and whole functions, are compared
with names and constants left out. Of those that have so many lines or more are printed: the lines
that stand a second time, the lines of one, and where. What has one form need not do one thing.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).parents[1] / "packages/grice/src/grice"
LONGEST = 8
"""Statements of a run."""
NAMES = re.compile(
    r"(?<=Name\(id=)'[^']*'|(?<=arg\(arg=)'[^']*'"
    r"|(?<=Constant\(value=)(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^),]*)"
)


def runs(path: Path) -> Iterator[tuple[tuple[int, ...], int, int]]:
    """Yield the form, the lines and the first line of all runs of statements of a module."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            kept = (
                [each for each in block if _counts(each, node)] if isinstance(block, list) else []
            )
            forms = [hash(NAMES.sub("", ast.dump(each))) for each in kept]
            for first in range(len(kept)):
                lines = 0
                for last in range(first, min(len(kept), first + LONGEST)):
                    lines += (kept[last].end_lineno or 0) - kept[last].lineno + 1
                    yield tuple(forms[first : last + 1]), lines, kept[first].lineno


def _counts(statement: ast.stmt, within: ast.AST) -> bool:
    """Return whether a statement does something: fields and tables have few forms by nature."""
    if isinstance(within, (ast.Module, ast.ClassDef)):
        return isinstance(statement, (ast.FunctionDef, ast.ClassDef))
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return not is_text and not isinstance(statement, (ast.Import, ast.ImportFrom))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=7)
    least = parser.parse_args().lines
    places: dict[tuple[int, ...], list[tuple[str, int]]] = defaultdict(list)
    sizes: dict[tuple[int, ...], int] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for form, lines, line in runs(path):
            if lines >= least:
                places[form].append((path.relative_to(SOURCE).as_posix(), line))
                sizes[form] = lines
    named: set[tuple[str, int]] = set()
    total = 0
    repeated = [form for form, where in places.items() if len(where) > 1]
    for form in sorted(repeated, key=lambda form: -sizes[form] * (len(places[form]) - 1)):
        where = {(name, line // 10) for name, line in places[form]}
        if where <= named:  # a part of a longer one
            continue
        named |= where
        again = sizes[form] * (len(places[form]) - 1)
        total += again
        print(again, sizes[form], ", ".join(f"{name}:{line}" for name, line in places[form]))
    print(f"{total} lines stand a second time")


if __name__ == "__main__":
    main()
