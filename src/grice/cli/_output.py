"""What machines read: JSON on standard output, and files that are complete or not there."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import msgspec

from grice.errors import OutputError, why

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["print_json", "write_lines", "write_text"]


def print_json(record: object) -> None:
    """Print a record as one line."""
    sys.stdout.write(msgspec.json.encode(record).decode() + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file.

    Raises:
        OutputError: If it cannot be written.
    """
    write_lines(path, [text.encode("utf-8", "replace")])


def write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write a file line by line; it appears when the last one is written.

    Raises:
        OutputError: If it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.writelines(lines)
        temporary.replace(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {why(error)}") from error
    finally:
        if temporary.parent.is_dir():
            temporary.unlink(missing_ok=True)
