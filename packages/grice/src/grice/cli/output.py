"""Output of commands: streams, messages, tables, progress bars and the exit status."""

from __future__ import annotations

import codecs
import io
import os
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from grice.errors import LONGEST, excerpt, redacted, shortened
from grice.progress import Advance, Part, Watcher
from grice.tables import Lines, Table, View

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


DONE, UNMET, UNUSABLE, FAULT, PARTIAL, INTERRUPTED = 0, 1, 2, 3, 4, 130
MEANINGS = {
    DONE: "done",
    UNMET: "findings, or a check failed (gate, doctor, graphs)",
    UNUSABLE: "nothing done: an argument, an input, a model or an output cannot be used, or no "
    "score could be computed",
    FAULT: "internal error",
    PARTIAL: "partly done: records were skipped or scores failed, everything else is complete",
    INTERRUPTED: "interrupted",
}
"""Meaning of every exit status."""
ESCAPED = "grice-escaped"
PATIENCE, SHORTEST = 1.0, 0.3
"""Seconds of a command, and of a stage of it, before a progress bar appears."""


class Invocation(NamedTuple):
    """The words that were typed, without those of a settings file, and what they ask for."""

    words: Sequence[str] = ()
    quiet: bool = False
    full: bool = False

    def command(self) -> str:
        """Return the command as a line of a shell."""
        return redacted(shlex.join(["grice", *self.words]))


INVOCATION = ContextVar("invocation", default=Invocation())  # noqa: B039 - it is frozen


class Output(NamedTuple):
    """Result of a command."""

    rows: Iterable[object]  # records, printed as JSON lines with ``--json``
    view: View  # the same as text and tables
    status: int = DONE  # exit status


def listing(rows: Iterable[object], *notes: str, status: int = DONE) -> Output:
    """Return rows of equal fields as a table under the names of their fields."""
    import msgspec

    records = [msgspec.to_builtins(row) for row in rows]
    columns = list(records[0]) if records else []
    are_words = [all(isinstance(row[name], (str, list)) for row in records) for name in columns]
    words = next((i for i, is_word in enumerate(are_words) if not is_word), len(columns))
    cells = [[_cell(value) for value in row.values()] for row in records]
    table = Table([name.replace("_", " ") for name in columns], cells, words=words)
    return Output(records, [*([table] if columns else []), Lines(notes)], status)


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, int):
        return f"{value:,}"
    return ", ".join(value) if isinstance(value, list) else str(value or "")


def emit(rows: Iterable[object], view: View, *, as_json: bool) -> None:
    """Print rows as JSON lines, or their view; a closed stream is no error."""
    try:
        write_rows(rows, None) if as_json else show(view)
    except BrokenPipeError:
        drop(sys.stdout)


def write_rows(rows: Iterable[object], output: Path | None) -> None:
    """Write records as JSON lines to a file, or to standard output without one."""
    from grice.data import json_line, to_json

    if output is None:
        sys.stdout.writelines(f"{to_json(row)}\n" for row in rows)
        return
    from grice.files import write_lines

    write_lines(output, (json_line(row) + b"\n" for row in rows))


def write_text(text: str, output: Path | None) -> None:
    """Write a text to a file, or to standard output without one."""
    from grice import files

    if output is None:
        sys.stdout.write(text)
    else:
        files.write_text(output, text)


def show(view: View) -> None:
    """Print lines and tables as they come; a string is written as it is."""
    try:
        for piece in view:
            if isinstance(piece, str):
                sys.stdout.write(piece)
            elif isinstance(piece, Lines):
                _print_lines(piece)
            elif piece.columns:
                _print_table(piece)
            else:
                _print_pairs(piece.rows)
    except SystemExit as end:  # rich raises it if the stream is closed
        raise BrokenPipeError from end


def one_line(text: str, longest: int = 300) -> str:
    """Put a text on one line, cut after a word unless ``--full`` is given."""
    return visible(" ".join(text.split()) if INVOCATION.get().full else excerpt(text, longest))


def visible(text: str) -> str:
    r"""Replace every character that is not printable, except line ends.

    >>> visible("red: \x1b[31m")
    'red: �[31m'
    """
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False, emoji=False, markup=False)


def _print_lines(lines: Lines) -> None:
    from rich.padding import Padding
    from rich.text import Text

    for line in lines.lines:
        text = Text(one_line(line, lines.longest), style=lines.style)
        _console().print(Padding(text, (0, 0, 0, lines.indent), expand=False))


def _print_table(table: Table) -> None:
    """Print rows under a header; a name in the first column is never wrapped or cut."""
    from rich import box
    from rich.measure import Measurement
    from rich.table import Table as RichTable

    def width() -> int:
        return Measurement.get(out, out.options.update(max_width=sys.maxsize), printed).maximum

    cells = [[one_line(cell) for cell in row] for row in table.rows]
    printed = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, title in enumerate(table.columns):
        is_name = place == 0 and all(" " not in row[0] for row in cells)
        side: Any = "left" if place < table.words else "right"
        printed.add_column(visible(title), justify=side, overflow="fold", no_wrap=is_name)
    for place, row in enumerate(cells):
        printed.add_row(*row, style="dim" if place in table.dim else "")
    out = _console()
    if table.words < len(table.columns) and width() > out.width:
        printed.show_edge = False
        # With gaps of one space if that keeps every row on one line, else of two.
        printed.padding = (0, 1, 0, 0)
        if out.width < width() <= out.width + len(table.columns) - 1:
            printed.padding = 0
    out.print(printed)


def _print_pairs(rows: Iterable[Sequence[str]]) -> None:
    from rich.table import Table as RichTable

    grid = RichTable.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(visible(name), visible(value))
    _console().print(grid)


def warn(message: str) -> None:
    """Print a message to standard error; a closed stream is no error."""
    try:
        text = shortened(visible(redacted(message)), LONGEST)
        print(f"grice: {text}", file=sys.stderr, flush=True)  # noqa: T201
    except OSError:
        drop(sys.stderr)


def note(message: str) -> None:
    """Print information, unless the command is quiet."""
    if not INVOCATION.get().quiet:
        warn(message)


def confirmed(question: str) -> bool:
    """Return whether a person at the terminal agrees; False where nobody can be asked."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    warn(f"{question} [y/N]")
    return sys.stdin.readline().strip().casefold() in ("y", "yes")


def open_streams() -> None:
    r"""Make the standard streams safe when closed or not UTF-8.

    A closed stream becomes the null device: otherwise a file that is opened later takes its place.
    Characters outside its encoding are escaped as in JSON (``\u2026``), so JSON stays valid.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
    out = sys.stdout
    if isinstance(out, io.TextIOWrapper) and out.errors == "strict":
        codecs.register_error(ESCAPED, _escaped)
        out.reconfigure(errors=ESCAPED)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    units = (lacking[i : i + 2].hex() for i in range(0, len(lacking), 2))
    return "".join(f"\\u{unit}" for unit in units), error.end


def drop(stream: TextIO) -> None:
    """Redirect a broken stream, so that the interpreter does not fail on it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def progress_bar() -> Watcher:
    """Return a bar for each stage of a command that takes long, with the time left."""
    earliest = time.monotonic() + PATIENCE

    @contextmanager
    def stage(unit: str, total: int | None, part: Part | None) -> Iterator[Advance]:
        since = time.monotonic()
        done = 0
        bar: Progress | None = None

        def advance(units: int) -> None:
            nonlocal bar, done
            done += units
            if bar is None and time.monotonic() >= max(earliest, since + SHORTEST):
                bar = _bar(unit, total, time.monotonic() - since)
            if bar is not None:
                share = {"total": 1.0, "completed": part()} if part else {"completed": done}
                bar.update(bar.task_ids[0], count=done, **share)

        try:
            yield advance
        finally:
            if bar is not None:
                bar.stop()

    return stage


def _bar(unit: str, total: int | None, elapsed: float) -> Progress:
    from rich import progress
    from rich.console import Console

    bar = progress.Progress(
        progress.TextColumn("{task.fields[count]:,} {task.fields[unit]}"),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
    )
    bar.add_task("", total=total, count=0, unit=unit)
    bar.tasks[0].start_time = bar.get_time() - elapsed
    bar.start()
    return bar
