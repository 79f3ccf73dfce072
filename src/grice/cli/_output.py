"""What machines read on standard output."""

from __future__ import annotations

import sys

import msgspec

__all__ = ["print_json"]


def print_json(record: object) -> None:
    """Print a record as one line."""
    sys.stdout.write(msgspec.json.encode(record).decode() + "\n")
