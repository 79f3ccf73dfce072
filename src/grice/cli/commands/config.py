"""``grice config``: which options a file sets here, and where it lies."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli.parser import add_everywhere
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
    from grice.cli.settings import check_settings

    options = argparse.ArgumentParser(add_help=False)
    add_everywhere(options)
    score.configure(options, ())  # which checks the settings
    settings = check_settings(options)
    file = str(settings.file) if settings else None
    result = {"file": file, "options": settings.options if settings else {}}
    emit(result, _view(settings), as_json=arguments.json)
    return 0


def _view(settings: Settings | None) -> View:
    if settings is None:
        yield Lines([f"neither grice.toml nor [tool.grice] of pyproject.toml in {Path.cwd()} or "
                     "further out"])  # fmt: skip
        return
    yield Lines([str(settings.file)])
    rows = [(name, ", ".join(map(str, values))) for name, values in settings.options.items()]
    yield Table(("option of score", "value"), rows, words=2)
