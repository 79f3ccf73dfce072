"""What machines read on standard output."""

from __future__ import annotations

import sys

from grice.records import to_json

__all__ = ["print_json"]


def print_json(record: object) -> None:
    """Print a record as one line."""
    sys.stdout.write(to_json(record) + "\n")
