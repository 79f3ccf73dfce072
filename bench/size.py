"""Lines of the folders beside their budgets, and commands, options and model types, as Markdown.

    python bench/size.py

An option is one of a leaf parser; those of every command are left out. The parser of ``score``
hides the options of metrics that are not asked for.
"""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path

from grice.cli import command_parser, find_commands
from grice.cli.derive import leaves
from grice.distributions import OWN, entry_points, owner

ROOT = Path(__file__).parents[1]


def lines(places: str) -> int:
    found = [path for place in places.split() for path in ROOT.glob(place)]
    files = [file for path in found for file in (path.rglob("*.py") if path.is_dir() else [path])]
    return sum(len(file.read_bytes().splitlines()) for file in files)


def main() -> None:
    budgets = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["budgets"]
    rows = [
        (places, f"{lines(places):,} of {budget:,} lines") for places, budget in budgets.items()
    ]
    tops = {name: command_parser([name]).commands()[name] for name in find_commands()}
    parsers = [leaf for top in tops.values() for _, leaf in leaves(top)]
    options = [
        (max(action.option_strings, key=len), action.help == argparse.SUPPRESS)
        for action in (action for parser in parsers for action in parser._actions)
        if action.option_strings and action.dest not in ("help", "debug", "quiet", "full")
    ]
    shown = [name for name, is_hidden in options if not is_hidden]
    types = [entry for entry in entry_points("grice.models") if owner(entry) == OWN]
    rows += [("commands", f"{len(tops)}"), ("commands and their actions", f"{len(parsers)}"),
             ("options", f"{len(shown)}"), ("distinct options", f"{len(set(shown))}"),
             ("hidden options", f"{len({*dict(options)} - {*shown})}"),
             ("model types of the core", f"{len(types)}")]  # fmt: skip
    print("| what | now |\n|---|---:|", *(f"| {name} | {now} |" for name, now in rows), sep="\n")


if __name__ == "__main__":
    main()
