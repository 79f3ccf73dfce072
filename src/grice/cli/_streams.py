"""Standard streams that nothing ends a command by: closed, broken, or of a narrow encoding."""

from __future__ import annotations

import codecs
import io
import os
import sys
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["QUIET", "UNCUT", "complain", "drop", "open_streams"]

QUIET = ContextVar("quiet", default=False)
"""Whether a command was asked to print results and errors alone."""
UNCUT = ContextVar("uncut", default=False)
"""Whether a command was asked to cut no text."""

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


def complain(text: str) -> None:
    """Print a line to standard error; if nobody reads it, that is no reason to end."""
    try:
        print(f"grice: {text}", file=sys.stderr, flush=True)  # noqa: T201
    except OSError:
        drop(sys.stderr)
