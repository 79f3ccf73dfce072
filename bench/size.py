"""Lines, files, commands, options and model types of the distributions, as a Markdown table.

    python bench/size.py

Counts lines of ``*.py`` files. An option is one of a leaf parser; those of every command are left
out. The parser of ``score`` hides the options of metrics that are not asked for.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = re.compile(r"packages/([\w-]+)/src/\w+/(?:(\w+)/)?")
TESTS = re.compile(r"packages/[\w-]+/tests/")
OUTSIDE = re.compile(r"(bench|docs)/[^/]+$")
COUNTED = """
import argparse, json, tomllib
from importlib import import_module
from pathlib import Path
from grice.cli import command_parser, find_commands

def leaves(parser):
    inner = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    return [leaf for a in inner for p in a.choices.values() for leaf in leaves(p)] or [parser]

names = list(find_commands())
parsers = [leaf for name in names for leaf in leaves(command_parser([name]).commands()[name])]
options = [(max(action.option_strings, key=len), action.help == argparse.SUPPRESS)
           for parser in parsers for action in parser._actions
           if action.option_strings and action.dest not in ("help", "debug", "quiet", "full")]
shown = [name for name, is_hidden in options if not is_hidden]
kinds = set(import_module("grice.models.loader").MODEL_TYPES)
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
    return "/".join(filter(None, found.groups()))


def rows() -> dict[str, str]:
    """Return the cells by row; a distribution counts all of its folders."""
    lines = defaultdict[str, list[int]](list)
    for file in ROOT.rglob("*.py"):
        path = file.relative_to(ROOT).as_posix()
        row = None if path.startswith(".") else folder_of(path)
        for name in {row, row.partition("/")[0]} if row else ():
            lines[name].append(len(file.read_bytes().splitlines()))
    cells = {name: f"{sum(each):,} in {len(each):,}" for name, each in lines.items()}
    path = os.pathsep.join(str(each) for each in ROOT.glob("packages/*/src"))
    done = subprocess.run(
        [sys.executable, "-c", COUNTED], cwd=ROOT, env={**os.environ, "PYTHONPATH": path},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        print(f"options are not counted: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return cells
    return cells | {name: f"{count:,}" for name, count in json.loads(done.stdout).items()}


def main() -> None:
    cells = rows()
    folders = sorted(name for name, cell in cells.items() if " in " in cell)
    print("| lines in files | now |\n|---|---:|")
    for name in [*folders, *(name for name in cells if name not in folders)]:
        title = f"**{name}**" if name in folders and "/" not in name else name
        print(f"| {title} | {cells[name]} |")


if __name__ == "__main__":
    main()
