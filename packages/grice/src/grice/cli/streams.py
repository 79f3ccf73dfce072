"""Standard streams, messages on standard error, and the exit status of commands."""

from __future__ import annotations

import codecs
import io
import os
import sys
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

from grice.errors import LONGEST, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

DONE, UNMET, UNUSABLE, FAULT, PARTIAL, INTERRUPTED = 0, 1, 2, 3, 4, 130
MEANINGS = {
    DONE: "done",
    UNMET: "a check failed: of a gate, a verification, a graph",
    UNUSABLE: "nothing was done: an argument, an input, a model or an output cannot be used, or no "
    "score could be computed",
    FAULT: "a fault of grice",
    PARTIAL: "done in part: records were skipped or scores failed, everything else is complete",
    INTERRUPTED: "interrupted",
}
"""Meaning of every exit status."""

QUIET = ContextVar("quiet", default=False)
"""Whether only results and errors are printed (``--quiet``)."""
UNCUT = ContextVar("uncut", default=False)
"""Whether long texts are printed whole (``--full``)."""
TYPED: ContextVar[Sequence[str]] = ContextVar("typed", default=())
"""The words of the command line, without those of a settings file."""
ESCAPED = "grice-escaped"


def open_streams() -> None:
    r"""Make the standard streams safe when closed or not UTF-8.

    A closed stream becomes the null device: otherwise a file that is opened later takes its place.
    Characters that the encoding lacks are escaped as in JSON (``\u2026``), so JSON stays valid.
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


def is_broken_pipe(error: BaseException) -> bool:
    """Return whether the reader of a pipe is gone; rich raises ``SystemExit`` for it."""
    return isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError)


def complain(text: str) -> None:
    """Print a line to standard error, even if nobody reads it."""
    try:
        print(f"grice: {visible(text)}", file=sys.stderr, flush=True)  # noqa: T201
    except OSError:
        drop(sys.stderr)


def warn(message: str) -> None:
    """Print a warning, shortened if it is very long."""
    complain(shortened(visible(message), LONGEST))


def note(message: str) -> None:
    """Print information, unless the command is quiet."""
    if not QUIET.get():
        warn(message)


def confirm(question: str) -> bool:
    """Ask a question on the terminal; without one, the answer is no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    sys.stderr.write(f"{visible(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().casefold() in ("y", "yes")


def visible(text: str) -> str:
    r"""Replace every character that is not printable, except line ends.

    >>> visible("red: \x1b[31m")
    'red: �[31m'
    """
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)
