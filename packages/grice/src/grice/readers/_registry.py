"""All formats: finding them, choosing among them, and the page that describes them.

A package offers a format through the entry point group ``grice.readers``, under the name of the
format; the entry point names a :class:`~grice.readers.Format`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from grice import distributions
from grice.errors import InputError, RecordError, did_you_mean, excerpt
from grice.readers._format import Format, Line
from grice.readers._json import closed, samples
from grice.records import to_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FORMER, GROUP = "grice.formats", "grice.readers"


def _built_in() -> Iterator[Format]:
    for module in iter_modules([str(Path(__file__).parent)]):
        if not module.name.startswith("_"):
            declared = vars(import_module(f"{__package__}.{module.name}")).values()
            yield from (each for each in declared if isinstance(each, Format))


class Formats(NamedTuple):
    """The formats, and a line for each of other distributions that cannot be used."""

    formats: Mapping[str, Format]
    problems: tuple[str, ...]


@cache  # looking through all installed packages takes longer than reading a conversation
def find_formats() -> Formats:
    """Return all formats: built-in and installed."""
    formats = {form.name: form for form in sorted(_built_in(), key=lambda form: form.name)}
    problems = []
    entries = [each for group in (FORMER, GROUP) for each in distributions.entry_points(group)]
    for entry in sorted(entries, key=lambda entry: entry.name):
        title = f"format {entry.name!r} of {entry.dist.name if entry.dist else entry.value}"
        if entry.group == FORMER:
            problems.append(f"{title} is left out: offer it as {GROUP}, not as {FORMER}")
            continue
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
    return Formats(MappingProxyType(formats), tuple(problems))


_SURE_ENOUGH = 0.3
SCORE = frozenset({"conversation", "metric", "signature", "status", "value"})
"""Fields of a line that ``grice score`` writes."""
LABEL = frozenset({"conversation", "turn", "rating"})
"""Fields of a line with what a person gave to a turn."""


def named(name: str, columns: Mapping[str, str] | None = None) -> Format:
    """Return the format of a name, for a table with columns of these names."""
    formats = find_formats().formats
    if name not in formats:
        raise InputError(f"unknown format {name!r}{did_you_mean(name, formats)}")
    return _with_columns(formats[name], columns) if columns else formats[name]


def recognise(prefix: bytes, name: str, columns: Mapping[str, str] | None = None) -> Format:
    """Return the format that is surest to read an input with these first bytes."""
    forms = [
        form.with_columns(columns) if columns and form.with_columns else form
        for form in find_formats().formats.values()
    ]
    best = max(forms, key=lambda form: form.sniff(prefix))
    if best.sniff(prefix) >= _SURE_ENOUGH:
        if columns and best.with_columns is None:
            raise InputError(f"{name}: {_no_columns(best)}")
        return best
    raise InputError(f"{name}: {_unknown(prefix)}")


def _with_columns(form: Format, columns: Mapping[str, str]) -> Format:
    if form.with_columns is None:
        raise InputError(_no_columns(form))
    return form.with_columns(columns)


def _no_columns(form: Format) -> str:
    tables = ", ".join(name for name, form in find_formats().formats.items() if form.with_columns)
    return (
        f"the format {form.name} has no columns: leave out --column (columns=…), which is for "
        f"tables ({tables})"
    )


def _unknown(prefix: bytes) -> str:
    if not prefix.strip():
        return "there is nothing but white space in it"
    if b"\0" in prefix:
        return "this is a binary file; conversations are text"
    objects = samples(prefix) or [closed(prefix)]
    while isinstance(objects, list) and objects and isinstance(objects[0], list):
        objects = objects[0]
    fields = objects[0].keys() if objects and isinstance(objects[0], dict) else frozenset()
    if fields >= LABEL:
        return (
            "holds ratings of turns, where conversations are expected; grice calibrate and "
            "estimate read ratings, each beside a file of scores"
        )
    if fields >= SCORE:
        return (
            "holds scores as grice score writes them, where conversations are expected; grice "
            "review, compare, gate, calibrate and estimate read scores"
        )
    if objects and isinstance(objects[0], dict):
        named_fields = ", ".join(sorted(fields)[:12]) or "none"
        seen = f"JSON objects with the fields {named_fields}"
    else:
        from grice.readers.table import unknown_columns

        if columns := unknown_columns(prefix):
            return columns
        line = prefix.strip().split(b"\n", 1)[0].decode("utf-8", "replace")
        seen = f"text that begins {excerpt(line, 60)!r}"
    return (
        f"no format recognised; found {seen}; name its format (--format NAME, or format=NAME in "
        f"Python), one of {', '.join(find_formats().formats)}"
    )


_HEAD = """\
# Formats

<!-- Written by grice.readers.document(); change the declarations, not this page. -->

`grice.readers.read(SOURCE)` yields one conversation at a time from a file, from standard input
(`-`) or from the files of a directory. The format is recognised by the first 64 KiB of the input,
or named: `format=NAME` here, `--format NAME` on the command line. With a name, reading starts with
the first line that comes.

- **Encoding.** Text is UTF-8; a byte order mark is skipped, lines end in LF or CRLF. Gzip is
  recognised by its content, not by its name.
- **Directories.** The files under it are read in the order of their paths, each in its own format.
  Hidden files are left out, and those that only describe a data set of Hugging Face's on disk.
- **Broken records.** A record that cannot be used is yielded as a `RecordError` that names the
  file, the line and the field, in its place; reading goes on behind it. A line over 64 MiB is
  skipped in this way. Of a gzip file that is cut off, everything before the break is read.
- **Conversations without turns** are broken records (`no turn`). A turn may be empty text.
- **Ids.** A conversation without an id is called after its file and line: `chat:12`. An id that
  comes again in one input gets a number: `x`, `x#2`, `x#3`; both records are kept.
- **Other fields** of a record or a turn are kept unchanged in its `meta`. A field `meta` is poured
  into it, unless a name stands in both; then it stays a field of its own.
- **Text** is kept as it came. Where a format says so, white space around a turn is left out. Tags
  (`<br>`, `<p class="x">`) are spaces to every metric; evidence points into the text with them.
"""


def _section(form: Format) -> str:
    head = (
        f"## {form.name}\n\n{form.summary[:1].upper()}{form.summary[1:]}.\n\n{form.description}\n"
    )
    return head + _example(form) if form.example else head


def _example(form: Format) -> str:
    lines = form.example.encode().splitlines()
    records = form.read((Line(number, line) for number, line in enumerate(lines, 1)), "FILE")
    result = "\n".join(
        str(record) if isinstance(record, RecordError) else to_json(record) for record in records
    )
    return f"\n```text\n{form.example.rstrip()}\n```\n\nis read as\n\n```json\n{result}\n```\n"


def document() -> str:
    """Return ``docs/formats.md``: the rules for all formats, and each with an example."""
    return "\n".join([_HEAD, *map(_section, find_formats().formats.values())])
