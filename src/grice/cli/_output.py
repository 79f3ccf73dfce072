"""Files that commands write: complete, or not there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from grice.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["write_lines", "write_text"]


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
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        if temporary.parent.is_dir():
            temporary.unlink(missing_ok=True)
