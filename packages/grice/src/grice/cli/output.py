"""Printing and writing of results: rows for machines, lines and tables for people."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from grice.cli.streams import DONE, drop, is_broken_pipe

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from grice.tables import View


class Output(NamedTuple):
    """Result of a command.

    Attributes:
        rows: Records, printed as a line of JSON each with ``--json``.
        view: The same for people.
        status: Exit status.
    """

    rows: Iterable[object]
    view: View
    status: int = DONE


def emit(result: object, view: View, *, as_json: bool) -> None:
    """Print a record as one line of JSON, or its view."""
    emit_rows([result], view, as_json=as_json)


def emit_rows(rows: Iterable[object], view: View, *, as_json: bool) -> None:
    """Print rows as a line of JSON each, or their view.

    The exit status of a command does not depend on whether somebody reads its output.
    """
    try:
        if as_json:
            print_json_lines(rows)
        else:
            show(view)
    except (BrokenPipeError, SystemExit) as error:
        if not is_broken_pipe(error):
            raise
        drop(sys.stdout)


def show(view: View) -> None:
    """Print lines and tables as they come."""
    from grice.cli.terminal import print_piece

    for piece in view:
        print_piece(piece)


def print_json_lines(records: Iterable[object]) -> None:
    """Print each record as one line."""
    from grice.data import to_json

    for record in records:
        sys.stdout.write(to_json(record) + "\n")


def write_or_print_lines(records: Iterable[object], output: Path | None) -> None:
    """Write each record as a line of a file, or to standard output without one."""
    if output is None:
        print_json_lines(records)
    else:
        write_rows(records, output)


def write_rows(records: Iterable[object], output: Path | None) -> None:
    """Write each record as a line of a file, if one is named."""
    if output is None:
        return
    from grice.data import json_line
    from grice.files import write_lines

    write_lines(output, (json_line(record) + b"\n" for record in records))


def print_or_write(text: str, output: Path | None) -> None:
    """Write a text to a file, or to standard output without one."""
    if output is None:
        sys.stdout.write(text)
        return
    from grice.files import write_text

    write_text(output, text)
