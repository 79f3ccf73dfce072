"""Options that the commands of all recipes share."""

from __future__ import annotations

import argparse
import os
from pathlib import Path


def parser_of(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser that says what a recipe is for and knows where data sets lie."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n", 1)[0])
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(os.environ.get("GRICE_DATA", "../shared/data")),
        help="folder of the data sets; default GRICE_DATA, or ../shared/data",
    )
    return parser
