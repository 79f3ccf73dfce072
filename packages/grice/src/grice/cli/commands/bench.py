"""``grice bench``, which the distribution grice-research brings: published tables again."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING

from grice.errors import InputError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

HELP = "measure published tables again, beside our metrics and trivial baselines"
GROUP = "grice.benches"
"""The entry point group; the first one names a module with ``configure`` and ``run``."""
MISSING = (
    "published tables are measured by grice-research, which is not installed: in a clone of the "
    "repository, python -m pip install --editable research; grice data list names the data sets"
)


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments of what is installed; without it, the help says what to install."""
    for entry in metadata.entry_points(group=GROUP):
        module = entry.load()
        parser.set_defaults(run=module.run)
        module.configure(parser, words)
        return
    if not {"-h", "--help"} & set(words):
        raise InputError(MISSING)
    parser.epilog = MISSING


def run(arguments: argparse.Namespace) -> int:
    """Say what to install; what :func:`configure` finds sets a ``run`` of its own."""
    del arguments
    raise InputError(MISSING)
