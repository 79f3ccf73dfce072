"""Entry points of grice and of distributions that extend it, and whether their versions fit."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import cache
from importlib import metadata, resources
from pathlib import Path

from grice.errors import InputError

OWN = "grice"

PINNED = re.compile(r"(grice(?:-\w+)?)\s*(?:\[[^\]]*\])?\s*\(?==\s*([^\s;,)]+)\)?\s*(;.*)?")
"""A requirement of an exact version of one of grice's distributions."""


def entry_points(group: str) -> tuple[metadata.EntryPoint, ...]:
    """Return the entry points of a group: those of grice, then the others, each by name."""
    return _entry_points(group, tuple(sys.path))


@cache  # scanning all installed packages takes longer than opening a small model
def _entry_points(group: str, _path: tuple[str, ...]) -> tuple[metadata.EntryPoint, ...]:
    found = metadata.entry_points(group=group)
    return tuple(sorted(found, key=lambda entry: (owner(entry) != OWN, entry.name)))


@cache
def of_checkout(group: str) -> dict[str, metadata.EntryPoint]:
    """Return the entry points of grice in a checkout that was installed before it had them."""
    import tomllib

    file = Path(__file__).parents[2] / "pyproject.toml"
    project = tomllib.loads(file.read_text("utf-8"))["project"] if file.is_file() else {}
    stated = project.get("entry-points", {}).get(group, {})
    return {name: metadata.EntryPoint(name, place, group) for name, place in stated.items()}


def owner(entry: metadata.EntryPoint) -> str:
    """Return the name of the distribution that declares an entry point."""
    return _name(entry.dist) if entry.dist else OWN


@cache  # the property parses the whole metadata each time
def _name(distribution: metadata.Distribution) -> str:
    return distribution.name


@cache
def extras() -> Mapping[str, str]:
    """Return the extra of grice that brings each command of its other distributions."""
    import tomllib  # only for unknown commands, and for the help page

    return tomllib.loads(resources.files("grice").joinpath("data/commands.toml").read_text("utf-8"))


def load(entry: metadata.EntryPoint) -> object:
    """Load an entry point, once its distribution is known to fit this version of grice."""
    if entry.dist and owner(entry) != OWN and (problem := mismatch(entry.dist)):
        raise InputError(problem)
    return entry.load()


def mismatch(distribution: metadata.Distribution) -> str | None:
    """Return a line for a distribution that needs another version of grice; None if it fits."""
    for requirement in distribution.requires or ():
        pinned = PINNED.fullmatch(requirement)
        if not pinned or "extra" in (pinned[3] or ""):
            continue
        name, wanted = pinned[1], pinned[2]
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            found = ""
        if found != wanted:
            what = f"{name} {found} is installed" if found else f"{name} is not installed"
            extra = distribution.name.removeprefix("grice-")
            package = f"'grice[{extra}]'" if extra in extras().values() else distribution.name
            return (
                f"{distribution.name} {distribution.version} requires {name}=={wanted}, "
                f"but {what}: python -m pip install -U {package}"
            )
    return None
