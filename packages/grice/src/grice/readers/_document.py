"""The page that describes the formats, written from their declarations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.errors import RecordError
from grice.readers._format import Line
from grice.readers._registry import find_formats
from grice.records import to_json

if TYPE_CHECKING:
    from grice.readers._format import Format

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
