"""What machines read on standard output."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from grice.records import to_json

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from grice.stats.estimate import Estimate

__all__ = ["estimate_fields", "print_json", "print_json_lines", "print_or_write"]


def print_json(record: object) -> None:
    """Print a record as one line."""
    sys.stdout.write(to_json(record) + "\n")


def print_json_lines(records: Iterable[object]) -> None:
    """Print each record as one line."""
    for record in records:
        print_json(record)


def print_or_write(text: str, output: Path | None) -> None:
    """Write a text to a file, or to standard output if none is named."""
    if output is None:
        sys.stdout.write(text)
        return
    from grice.files import write_text

    write_text(output, text)


def estimate_fields(estimate: Estimate) -> dict[str, object]:
    """Return what of an estimate machines read."""
    return {
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
    }
