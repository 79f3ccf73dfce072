"""Standard streams that nothing ends a command by: closed, broken, or of a narrow encoding."""

from __future__ import annotations

import codecs
import io
import os
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

QUIET = ContextVar("quiet", default=False)
"""Whether a command was asked to print results and errors alone."""
UNCUT = ContextVar("uncut", default=False)
"""Whether a command was asked to cut no text."""

CHECKING = ContextVar("checking", default=False)
"""Whether the exit status of a command tells what it found: it has to find it, read or not."""

ESCAPED = "grice-escaped"


def open_streams() -> None:
    r"""Make standard streams that can be used, whatever the process was started with.

    One that is closed becomes the null device, in the place of which a file that a command opens
    would otherwise come. What the encoding of standard output lacks is written as JSON escapes it,
    ``\u2026``, so that lines of JSON stay lines of JSON.
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
    """Point a stream away, so that the interpreter does not fail on it when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def outlasting_reader() -> Iterator[None]:
    """Go on where a reader of standard output has gone, if the exit status tells what is found."""
    try:
        yield
    except (BrokenPipeError, SystemExit) as error:
        if not (CHECKING.get() and is_broken_pipe(error)):
            raise
        drop(sys.stdout)


def is_broken_pipe(error: BaseException) -> bool:
    """Return whether an error is that a reader has gone; rich ends the program by one."""
    return isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError)


def complain(text: str) -> None:
    """Print a line to standard error; if nobody reads it, that is no reason to end."""
    try:
        print(f"grice: {text}", file=sys.stderr, flush=True)  # noqa: T201
    except OSError:
        drop(sys.stderr)


def visible(text: str) -> str:
    r"""Return a text with a mark for every character that is not printed, line ends excepted.

    >>> visible("red: \x1b[31m")
    'red: �[31m'
    """
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)
