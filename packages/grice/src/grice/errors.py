"""Errors that grice raises on purpose.

    GriceError                  exit status 2
    ├── InputError              a file, record or argument that cannot be used
    │   └── RecordError         one broken record of a file; the others are still good
    ├── ModelFolderError        a model folder that is missing, incomplete or changed
    ├── ModelError              a model that cannot be opened or did not respond
    │   └── MissingModelError   a model that is not on this machine
    ├── MetricError             a metric that is unknown, badly declared or misused
    ├── StoppedError            a run that must stop: a limit is reached, an endpoint is down
    └── OutputError             a result that cannot be written

A message is cut to :data:`LONGEST` characters, and what it quotes of a record to :data:`QUOTED`.
Secrets are left out of it.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache, partial
from importlib import import_module
from typing import Any

LONGEST = 10_000
QUOTED = 500
KEYS = ("GRICE_OPENAI_KEY", "OPENAI_API_KEY", "GRICE_SERVE_KEY", "HF_TOKEN")
"""Environment variables with secrets; one of less than 8 letters is a word, as local servers take.
"""


class GriceError(Exception):
    """Root of all errors that grice raises on purpose."""

    def __init__(self, message: object = "") -> None:
        super().__init__(redacted(shortened(str(message), LONGEST)))


class InputError(GriceError):
    """A file, record or argument that cannot be used as it is."""


class RecordError(InputError):
    """One broken record; reading can continue after it.

    Attributes:
        problem: The problem and what was expected, without the place.
        file: Name of the input; ``<stdin>`` for standard input.
        line: Line number in the file, from 1; None if the format has no lines.
        field: Path of the field, such as ``turns[3].text``; None for the whole record.
    """

    def __init__(
        self, problem: str, *, file: str, line: int | None = None, field: str | None = None
    ) -> None:
        self.problem = shortened(problem)
        self.file = redacted(file)
        self.line = line
        self.field = None if field is None else shortened(field)
        parts = (file if line is None else f"{file}:{line}", self.field, self.problem)
        super().__init__(": ".join(part for part in parts if part is not None))

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild from the keywords, so that the error survives pickling."""
        rebuild = partial(RecordError, file=self.file, line=self.line, field=self.field)
        return rebuild, (self.problem,)


class ModelFolderError(GriceError):
    """A model folder that is missing, incomplete or changed."""


class ModelError(GriceError):
    """A model that cannot be opened or did not respond."""


class MissingModelError(ModelError):
    """A model that is not on this machine; the message says how to get it."""


class MetricError(GriceError):
    """A metric that is unknown, badly declared or misused."""


class StoppedError(GriceError):
    """A run must end here; finished results are kept, and the same command resumes."""


class OutputError(GriceError):
    """A result that cannot be written."""


def redacted(text: str) -> str:
    """Leave the API keys of the environment and the secrets of URLs out of a text.

    >>> redacted("https://ann:secret@example.org/talks.jsonl?token=1")
    'https://[hidden]@example.org/talks.jsonl?[hidden]'
    """
    text = re.sub(r"(?<=://)/*[^\s/?#'\"]*@", "[hidden]@", without_keys(text))
    return re.sub(r"(://[^\s?'\"]{0,500}\?)[^\s'\"]+", r"\1[hidden]", text)


def without_keys(text: str) -> str:
    """Leave the API keys of the environment out of a text, as such or encoded."""
    for key in (os.environ.get(name, "").strip() for name in KEYS):
        text = _spellings(key).sub("[key]", text) if len(key) >= 8 else text
    return text


@cache
def _spellings(key: str) -> re.Pattern[str]:
    """Return a pattern of a key: plain, escaped as in JSON or a URL, or inside of base64."""
    letters = [rf"(?:\\{{,4}}(?:{re.escape(c)}|u{ord(c):04x})|%{ord(c):02x})" for c in key]
    data, spelled = key.encode("utf-8", "replace"), ["".join(letters)]
    for shift, start in enumerate((0, 2, 3)):
        # Without characters that may hold bits of the bytes before or behind the key.
        code = re.escape(b64encode(bytes(shift) + data).decode().rstrip("=")[start:-1])
        spelled.append(code.replace(r"\+", "[+-]").replace("/", "[/_]"))
    return re.compile("|".join(spelled), re.IGNORECASE)


def shortened(text: str, most: int = QUOTED) -> str:
    """Cut a text that is longer than so many characters, and append its length.

    >>> shortened("k" * 30_000_000, 30)
    'kkkkk… (30,000,000 characters)'
    """
    if len(text) <= most:
        return text
    end = f"… ({len(text):,} characters)"
    return text[: _word_end(text, most - len(end))] + end


def excerpt(text: str, most: int) -> str:
    """Put a text on one line and cut it after a word, to at most ``most`` characters.

    >>> excerpt("The parcel  was left with your neighbour.", 30)
    'The parcel was left with your…'
    """
    # Split only as much of a long text as can be shown.
    line = " ".join(text[: 2 * most].split())
    if len(line) <= most and len(text) > 2 * most:
        line = " ".join(text.split())
    return line if len(line) <= most else line[: _word_end(line, most - 1)].rstrip(",;:.") + "…"


def _word_end(text: str, most: int) -> int:
    """Return the last end of a word up to ``most``; ``most`` itself within a very long word."""
    if text[most - 1 : most + 1].strip() != text[most - 1 : most + 1]:
        return len(text[:most].rstrip())
    kept = text[:most].rsplit(maxsplit=1)
    end = len(kept[0]) if len(kept) > 1 else 0
    return end if end > most / 2 else most


def plural(number: int, singular: str, many: str = "") -> str:
    """Return a number with its noun, such as ``1 turn``, ``2,000 turns``."""
    return f"{number:,} {singular if number == 1 else many or singular + 's'}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the nearest known name, or all names if none is near."""
    names = sorted(known)
    near = get_close_matches(name[:QUOTED], names, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known: {', '.join(names)}" if names else ""


def os_reason(error: Exception) -> str:
    """Return the system's message of an error, without its number and the file.

    >>> os_reason(FileNotFoundError(2, "No such file or directory", "chat.txt"))
    'No such file or directory'
    """
    if isinstance(error, UnicodeDecodeError):
        return (
            f"not UTF-8: byte 0x{error.object[error.start]:02x} at byte {error.start}; convert the "
            "file, such as with: iconv -f LATIN1 -t UTF-8"
        )
    return getattr(error, "strerror", None) or str(error)


def imported(module: str, whose: str, extra: str) -> Any:  # noqa: ANN401 - any module
    """Import a module that an extra brings; the error names the extra and ``whose`` needs it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise GriceError(
            f'{whose} needs {package}, which is not installed: pip install "grice[{extra}]"'
        ) from error


def out_of_memory(error: BaseException) -> bool:
    """Return whether an error means out of memory, on the CPU or a GPU."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and "out of memory" in str(error).lower()
    )
