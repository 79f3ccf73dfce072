"""Tables of conversations in, tables of scores out: what engines that go beyond a machine call."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from grice.errors import RecordError, shortened
from grice.readers import check_arrow, from_table
from grice.records import Conversation, Score
from grice.scoring.run import WINDOW_RECORDS
from grice.scoring.score_tables import as_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow

    from grice.readers import Found
    from grice.scoring.api import Grader
    from grice.scoring.run import Scorer

ROWS_KEY = b"grice.rows"
"""Where the metadata of the result says what a row of the input was."""
logger = logging.getLogger("grice")


def score_table(
    grader: Grader, table: pyarrow.Table, *, columns: Mapping[str, str] | None = None
) -> pyarrow.Table:
    """Return the scores of a table of conversations, a row a score.

    A row of the table is a conversation (``turns`` or ``messages``), a response (``context`` and
    ``response``) or a turn (``text`` with ``speaker`` or ``conversation_id``); see the formats
    ``parquet`` and ``table``. Turns are grouped into conversations, also where rows of one do not
    stand together; the log of ``grice`` says so, and the metadata of the result, under
    :data:`ROWS_KEY`: ``turn``.

    A row that cannot be used does not stop the others: it gives a row with status ``failed``, no
    metric, and the reason; its conversation is ``table:ROW``, the row counted from 1. Numbers are
    those of :meth:`grice.scoring.Grader.score`, bit for bit. The columns are described in
    ``docs/scale.md``; the number of their layout stands in the metadata of the schema.

    Args:
        grader: Of :func:`grice.load`; a worker of an engine loads one, with ``workers=1``.
        table: A table without rows gives one without rows.
        columns: Names of columns by what they are; see :func:`grice.read`.

    Raises:
        InputError: If pyarrow is not installed, or the columns hold no conversations, which near
            names are suggested for.
    """
    check_arrow()
    conversations = from_table(table, columns=columns)
    if conversations.row_is == "turn":
        logger.info("%d rows are turns: grouped into conversations", table.num_rows)
    scores = as_table(list(score_records(grader.scorer, conversations.records)))
    return scores.replace_schema_metadata(
        {**scores.schema.metadata, ROWS_KEY: conversations.row_is.encode()}
    )


def score_records(scorer: Scorer, records: Iterable[Found]) -> Iterator[Score]:
    """Yield the scores of records; of one that cannot be used, one that failed without a metric."""
    window: list[Found] = []
    for record in records:
        window.append(record)
        if len(window) == WINDOW_RECORDS:
            yield from _of_window(scorer, window)
            window = []
    yield from _of_window(scorer, window)


def _of_window(scorer: Scorer, window: Sequence[Found]) -> Iterator[Score]:
    conversations = [record for record in window if isinstance(record, Conversation)]
    groups = iter(_groups(scorer, conversations))
    for record in window:
        yield from [_broken(record)] if isinstance(record, RecordError) else next(groups)


def _groups(scorer: Scorer, conversations: Sequence[Conversation]) -> list[list[Score]]:
    """Return the scores of each conversation; one that breaks what is around metrics has failed.

    A metric that breaks has failed already, on that conversation alone.
    """
    try:
        return scorer.score(conversations)
    except Exception as error:  # noqa: BLE001 - of a worker, which must outlive any record
        if len(conversations) == 1:
            [conversation] = conversations
            reason = shortened(f"{type(error).__name__}: {error}")
            return [[_failed(conversation.id, reason, conversation)]]
    return [_groups(scorer, [conversation])[0] for conversation in conversations]


def _broken(error: RecordError) -> Score:
    where = error.file if error.line is None else f"{error.file}:{error.line}"
    return _failed(where, ": ".join(filter(None, [error.field, error.problem])))


def _failed(name: str, reason: str, conversation: Conversation | None = None) -> Score:
    meta = {} if conversation is None else conversation.meta
    return Score(name, None, "", None, "failed", reason, (), (), "", meta)
