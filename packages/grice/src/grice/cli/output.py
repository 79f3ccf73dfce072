"""What commands print: records for machines, lines and tables for people."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from grice.cli._streams import outlasting_reader

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from grice.tables import View


def emit(result: object, view: View, *, as_json: bool) -> None:
    """Print a result as one line of JSON, or its view for people."""
    emit_rows([result], view, as_json=as_json)


def emit_rows(rows: Iterable[object], view: View, *, as_json: bool) -> None:
    """Print rows as a line of JSON each, or a view of them for people."""
    if as_json:
        print_json_lines(rows)
    else:
        show(view)


def show(view: View) -> None:
    """Print lines and tables as they come."""
    from grice.cli.terminal import print_piece

    for piece in view:
        with outlasting_reader():
            print_piece(piece)


def print_json_lines(records: Iterable[object]) -> None:
    """Print each record as one line."""
    from grice.records import to_json

    for record in records:
        with outlasting_reader():
            sys.stdout.write(to_json(record) + "\n")


def write_or_print_lines(records: Iterable[object], output: Path | None) -> None:
    """Write each record as a line of a file, or to standard output if none is named."""
    if output is None:
        print_json_lines(records)
    else:
        write_rows(records, output)


def write_rows(records: Iterable[object], output: Path | None) -> None:
    """Write each record as a line of a file, if one is named."""
    if output is None:
        return
    from grice.files import write_lines
    from grice.records import json_line

    write_lines(output, (json_line(record) + b"\n" for record in records))


def print_or_write(text: str, output: Path | None) -> None:
    """Write a text to a file, or to standard output if none is named."""
    if output is None:
        sys.stdout.write(text)
        return
    from grice.files import write_text

    write_text(output, text)
