"""Scores beside the conversations that they judge, one conversation at a time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grice.errors import InputError, RecordError
from grice.evaluation.scores import by_conversation, read_scores
from grice.readers import files_of, from_file, read
from grice.stores import is_folder, is_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.records import Conversation, Score


def joined(
    scores: str, files: Sequence[str | Path]
) -> Iterator[tuple[Conversation | RecordError, list[Score]]]:
    """Yield every record of files with its scores; none where nothing of it was judged.

    Memory holds one conversation. Scores and records come in the same order; a folder of shards is
    read by the names of the files that they are of.

    Args:
        scores: What ``grice score`` wrote, or a folder of shards; ``-`` is standard input.
        files: What was scored.

    Raises:
        RecordError: For a line that is no score.
        InputError: If a conversation is not in the files, or not in the order of its scores.
    """
    records = _records(scores, files)
    for group in by_conversation(score for _, score in read_scores(scores)):
        for record in records:
            if not isinstance(record, RecordError) and record.id == group[0].conversation:
                yield record, group
                break
            yield record, []
        else:
            raise InputError(
                f"{scores}: conversation {group[0].conversation!r} is not in the files given, "
                "or not in the order of its scores; give the files that were scored as grice "
                "score was given them"
            )
    yield from ((record, []) for record in records)


def _records(scores: str, files: Sequence[str | Path]) -> Iterator[Conversation | RecordError]:
    """Yield records as whoever scored them read them: of a folder each file by itself."""
    apart = is_folder(scores) if is_url(scores) else Path(scores).is_dir()
    places = sorted(file for place in files for file in files_of(str(place))) if apart else files
    for place in places:
        with read(place) as reading:
            yield from reading if len(places) == 1 else from_file(reading)
