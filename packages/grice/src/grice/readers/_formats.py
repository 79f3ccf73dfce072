"""Formats: their declaration, the built-in and installed ones, and recognition of an input.

A package offers a format through the entry point group ``grice.readers``, under the name of the
format; the entry point names a :class:`Format`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

import msgspec

from grice import distributions
from grice.data import Conversation
from grice.errors import InputError, RecordError, did_you_mean, excerpt
from grice.readers._json import closed, confidence, records, samples

GROUP = "grice.readers"
MODULES = ("arrow", "json", "layouts", "responses", "table", "text", "traces")
"""Modules with built-in formats, in their ``FORMATS``."""
SURE_ENOUGH = 0.3
TABLE_SURE = 0.92
"""Confidence in a table with known columns, and in any with columns that the user names."""
OTHER_FILES = {
    frozenset({"conversation", "turn", "rating"}): "holds ratings of turns, where conversations "
    "are expected; grice calibrate and estimate read ratings, each beside a file of scores",
    frozenset({"conversation", "metric", "signature", "status", "value"}): "holds scores as grice "
    "score writes them, where conversations are expected; grice review, compare, gate, calibrate "
    "and estimate read scores",
}
"""Fields of other files of grice, and the message about them."""

Found: TypeAlias = Conversation | RecordError
"""An item of a reading: a conversation, or the error of a record."""


class Format(msgspec.Struct, frozen=True):
    """One way a conversation can come in.

    Attributes:
        name: What ``--format`` takes.
        summary: One line that says where files of this kind come from.
        sniff: Gets the first bytes of an input (at most 64 KiB, the last line may be cut) and
            returns the confidence that it can read it: 0 not at all, 1 certain.
        read: Gets the lines (``problem`` says why one cannot be had) and the name of the file, and
            yields conversations and what is wrong with records, in order. Raises nothing, but an
            InputError at once if the input as a whole cannot be read.
        has_columns: Whether it is a table: ``read`` then also takes ``columns``, the names of
            columns that the user gives.
    """

    name: str
    summary: str
    sniff: Callable[..., float]
    read: Callable[..., Iterator[Found]]
    has_columns: bool = False


def json_format(
    name: str,
    summary: str,
    fits: Callable[[dict[str, Any]], bool],
    build: Callable[[dict[str, Any], str], Conversation | Sequence[Conversation]],
) -> Format:
    """Return the format of JSON lines whose records fit, and are built one by one."""
    return Format(name, summary, partial(confidence, fits=fits), partial(records, build=build))


class Formats(NamedTuple):
    """The formats, and a line for each of other distributions that cannot be used."""

    formats: Mapping[str, Format]
    problems: tuple[str, ...]


@cache  # looking through all installed packages takes longer than reading a conversation
def find_formats() -> Formats:
    """Return all formats: built-in and installed."""
    # The modules are named, not imported above: two of them read records of any other format.
    modules = (import_module(f"grice.readers.{name}") for name in MODULES)
    built_in = (form for module in modules for form in module.FORMATS)
    formats = {form.name: form for form in sorted(built_in, key=lambda form: form.name)}
    problems = []
    for entry in sorted(distributions.entry_points(GROUP), key=lambda entry: entry.name):
        title = f"format {entry.name!r} of {entry.dist.name if entry.dist else entry.value}"
        try:
            form = distributions.load(entry)
        except Exception as error:  # noqa: BLE001 - whatever a plugin raises, the others work
            problems.append(f"{title}: {type(error).__name__}: {error}")
            continue
        if not isinstance(form, Format) or form.name != entry.name:
            problems.append(f"{title}: {entry.value} declares no format of that name")
        elif form.name in formats:
            problems.append(f"{title} is left out: there is one of that name")
        else:
            formats[form.name] = form
    return Formats(formats, tuple(problems))


def named(name: str, columns: Mapping[str, str] | None = None) -> Format:
    """Return the format of a name; raises InputError if columns are given and it has none."""
    formats = find_formats().formats
    if name not in formats:
        raise InputError(f"unknown format {name!r}{did_you_mean(name, formats)}")
    if columns and not formats[name].has_columns:
        tables = ", ".join(each for each, form in formats.items() if form.has_columns)
        raise InputError(
            f"the format {name} has no columns: leave out --column (columns=…), which is for "
            f"tables ({tables})"
        )
    return formats[name]


def best_format(prefix: bytes, *besides: str, tables: bool = False) -> tuple[float, Format]:
    """Return the most confident format for these first bytes, and its confidence."""
    forms = [
        form
        for name, form in find_formats().formats.items()
        if name not in besides and (form.has_columns or not tables)
    ]
    return max(((form.sniff(prefix), form) for form in forms), key=lambda sure: sure[0])


def recognise(prefix: bytes, name: str, columns: Mapping[str, str] | None = None) -> Format:
    """Return the format of an input by its first bytes; InputError if none is confident enough."""
    sure, best = best_format(prefix)
    if columns and sure <= TABLE_SURE:
        table_sure, table = best_format(prefix, tables=True)
        if table_sure:
            return table
    if sure < SURE_ENOUGH:
        raise InputError(f"{name}: {_unknown(prefix)}")
    try:
        return named(best.name, columns)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def _unknown(prefix: bytes) -> str:
    if not prefix.strip():
        return "there is nothing but white space in it"
    if b"\0" in prefix:
        return "this is a binary file; conversations are text"
    first: Any = samples(prefix) or closed(prefix)
    while isinstance(first, list) and first:
        first = first[0]
    if isinstance(first, dict):
        for known, message in OTHER_FILES.items():
            if first.keys() >= known:
                return message
        seen = f"JSON objects with the fields {', '.join(sorted(first)[:12]) or 'none'}"
    else:
        line = prefix.strip().split(b"\n", 1)[0].decode("utf-8", "replace")
        seen = f"text that begins {excerpt(line, 60)!r}"
    return (
        f"no format recognised; found {seen}; name its format (--format NAME, or format=NAME in "
        f"Python), one of {', '.join(find_formats().formats)}"
    )
