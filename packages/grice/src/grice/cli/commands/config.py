"""``grice config``: which options a file sets here, and where it lies."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli.parser import add_everywhere
from grice.cli.settings import check_settings, searched_folders, user_file, with_settings
from grice.tables import Lines, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.cli.settings import Settings
    from grice.tables import View

HELP = "show the options of score that grice.toml or pyproject.toml sets here"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001
    """Declare the arguments."""
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the file and what it sets; a key that is no option is an error."""
    from grice.cli.commands import score
    from grice.cli.output import emit

    options = argparse.ArgumentParser(add_help=False)
    add_everywhere(options)
    score.configure(options, with_settings(("score",))[0])  # which checks them
    files = check_settings(options)
    named = {each.of_user: str(each.file) for each in files}
    result = {
        "file": named.get(False),
        "own": named.get(True),
        "options": {name: values for each in files for name, values in each.options.items()},
    }
    emit(result, _view(files), as_json=arguments.json)
    return 0


def _view(files: Sequence[Settings]) -> View:
    if not files:
        first, *further = searched_folders(Path.cwd())
        where = f"from {first} up to {further[-1]}" if further else f"in {first}"
        yield Lines([f"neither grice.toml nor [tool.grice] of pyproject.toml {where}, nor your own "
                     f"{user_file()}"])  # fmt: skip
    for settings in files:
        yield Lines([str(settings.file)])
        rows = [(name, ", ".join(map(str, values))) for name, values in settings.options.items()]
        yield Table(("option of score", "value"), rows, words=2)
