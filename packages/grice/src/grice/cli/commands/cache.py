"""``grice cache``: where answers of models are kept between runs, and how to drop them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli.output import print_json_lines
from grice.folders import cache_folder

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

HELP = "show or clear what models answered in earlier runs"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001
    """Declare the arguments."""
    parser.add_argument(
        "action",
        choices=("info", "clear"),
        nargs="?",
        default="info",
        help="show where it is and how large (the default), or empty it",
    )
    flags.add_cache(parser)
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the folder and its size, or remove the file."""
    from grice.models.memo import cache_files

    folder = arguments.cache or cache_folder()
    files = cache_files(folder)
    size = sum(file.stat().st_size for file in files)
    if arguments.action == "clear":
        for file in files:
            file.unlink(missing_ok=True)
    done = "cleared" if arguments.action == "clear" else "kept"
    if arguments.json:
        print_json_lines([{"folder": str(folder), "bytes": size, "state": done}])
    else:  # in one line, however long the path is
        sys.stdout.write(f"{folder}: {size / 2**20:.1f} MiB {done}\n")
    return 0
