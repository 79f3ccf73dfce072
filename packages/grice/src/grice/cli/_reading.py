"""Conversations of the files a command names, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grice.errors import RecordError
    from grice.readers import Reading
    from grice.records import Conversation


def conversations(
    files: Sequence[str], form: str | None, columns: Mapping[str, str]
) -> Iterator[Conversation | RecordError]:
    """Yield the conversations of all files; the ids of a later file carry its name."""
    return all_records(opened(files, form, columns))


def opened(files: Sequence[str], form: str | None, columns: Mapping[str, str]) -> list[Reading]:
    """Open files of conversations, and say as what they are read."""
    from grice.cli.terminal import note
    from grice.readers import read

    readings = [read(file, format=form, columns=columns) for file in files]
    for reading in readings:
        note(f"{reading.source}: read as {reading.format}")
    return readings


def all_records(readings: Sequence[Reading]) -> Iterator[Conversation | RecordError]:
    """Yield the conversations of opened files; the ids of a later one carry its name."""
    from msgspec.structs import replace

    from grice.errors import RecordError

    for place, reading in enumerate(readings):
        for record in reading:
            if place and not isinstance(record, RecordError):
                # Ids are unique within a file only.
                yield replace(record, id=f"{reading.source}#{record.id}")
            else:
                yield record
