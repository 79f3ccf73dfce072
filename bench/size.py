"""Lines, files, commands, options and model types of the distributions, as a Markdown table.

    python bench/size.py                      of this checkout
    python bench/size.py --before a7921dde    beside those of a commit

Counts lines of ``*.py`` files. Folders of the former layout (``src/grice/runtime``, ``research/``)
are counted under the names of today. An option is one of a leaf parser; those of every command are
left out. The parser of ``score`` hides the options of metrics that are not asked for.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
FORMER = {
    "formats": "grice/readers", "runtime": "grice/models", "annotate": "grice-annotate",
    "triplets": "grice-tasks/cider", "graphs": "grice-tasks/explagraphs",
    "situated": "grice-tasks/situatedgen", "steer": "grice-tasks/steering",
    "training": "grice-research/training",
}  # fmt: skip
"""Folders of ``src/grice`` before the division, and where their code is now."""
SOURCE = re.compile(r"(?:packages/([\w-]+)/src|(src)|(research)/src)/\w+/(?:(\w+)/)?")
TESTS = re.compile(r"(?:packages/[\w-]+/|research/)?tests/")
OUTSIDE = re.compile(r"(bench|docs)/[^/]+$")
COUNTED = """
import argparse, json, tomllib
from importlib import import_module
from pathlib import Path
from grice.cli import command_names, command_parser

def leaves(parser):
    inner = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    return [leaf for a in inner for p in a.choices.values() for leaf in leaves(p)] or [parser]

names = command_names()
parsers = [leaf for name in names for leaf in leaves(command_parser([name]).commands()[name])]
options = [(max(action.option_strings, key=len), action.help == argparse.SUPPRESS)
           for parser in parsers for action in parser._actions
           if action.option_strings and action.dest not in ("help", "debug", "quiet", "full")]
shown = [name for name, is_hidden in options if not is_hidden]
place = "models" if Path("packages").exists() else "runtime"
kinds = set(import_module(f"grice.{place}.registry").KINDS)
for file in Path().glob("packages/*/pyproject.toml"):
    project = tomllib.loads(file.read_text("utf-8"))["project"]
    kinds |= project.get("entry-points", {}).get("grice.models", {}).keys()
print(json.dumps({"commands": len(names), "commands and their actions": len(parsers),
                  "options": len(shown), "distinct options": len(set(shown)),
                  "distinct options of metrics and hidden ones": len({*dict(options)} - {*shown}),
                  "model types": len(kinds)}))
"""
"""Run in a process of its own, with the source of a checkout on the path."""


def folder_of(path: str) -> str | None:
    """Return the row of a file by its path in the repository; None if it is not counted."""
    if TESTS.match(path):
        return "tests"
    if found := OUTSIDE.match(path):
        return f"{found[1]} scripts"
    if not (found := SOURCE.match(path)):
        return None
    name, former, _, folder = found.groups()
    if former and folder in FORMER:
        return FORMER[folder]
    return "/".join(filter(None, (name or ("grice" if former else "grice-research"), folder)))


def rows(root: Path) -> dict[str, str]:
    """Return the cells of a checkout by row; a distribution counts all of its folders."""
    lines = defaultdict[str, list[int]](list)
    for file in root.rglob("*.py"):
        path = file.relative_to(root).as_posix()
        row = None if path.startswith(".") else folder_of(path)
        for name in {row, row.partition("/")[0]} if row else ():
            lines[name].append(len(file.read_bytes().splitlines()))
    cells = {name: f"{sum(each):,} in {len(each):,}" for name, each in lines.items()}
    path = os.pathsep.join(str(each) for each in [*root.glob("packages/*/src"), root / "src"])
    done = subprocess.run(
        [sys.executable, "-c", COUNTED], cwd=root, env={**os.environ, "PYTHONPATH": path},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        print(f"options are not counted: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return cells
    return cells | {name: f"{count:,}" for name, count in json.loads(done.stdout).items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--before", metavar="COMMIT", help="a commit to put beside this checkout")
    commit = parser.parse_args().before
    columns = {"now": rows(ROOT)}
    if commit:
        with tempfile.TemporaryDirectory() as folder:  # weights of models are not counted
            words = ["git", "archive", commit, "--", ".", ":(exclude)*.bin"]
            packed = subprocess.run(words, cwd=ROOT, check=True, capture_output=True).stdout
            subprocess.run(["tar", "-x", "-C", folder], input=packed, check=True)
            columns = {commit: rows(Path(folder)), **columns}
    all_cells = {name: cell for cells in columns.values() for name, cell in cells.items()}
    folders = sorted(name for name, cell in all_cells.items() if " in " in cell)
    print(f"| lines in files | {' | '.join(columns)} |\n|---{'|---:' * len(columns)}|")
    for name in [*folders, *(name for name in all_cells if name not in folders)]:
        title = f"**{name}**" if name in folders and "/" not in name else name
        print(f"| {title} | {' | '.join(cells.get(name, '–') for cells in columns.values())} |")


if __name__ == "__main__":
    main()
