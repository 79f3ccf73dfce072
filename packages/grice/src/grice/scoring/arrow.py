"""Arrow tables: of conversations to score, and of scores.

A table of scores has a row per score, with the fields of :class:`grice.data.Score`. ``evidence``
and ``meta`` are JSON, as in the lines of ``grice score``. The version of the layout is in the
metadata of the schema under :data:`VERSION_KEY`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from grice.data import Conversation, Json, Score, json_line
from grice.errors import InputError, shortened
from grice.readers import Found, check_arrow, from_table
from grice.scoring.run import WINDOW_RECORDS

if TYPE_CHECKING:
    import pyarrow

    from grice.scoring.api import Grader, Scorer

VERSION = "1"  # it changes with the meaning of a column, and not with a further column
VERSION_KEY = b"grice.scores"
ROWS_KEY = b"grice.rows"  # metadata: whether an input row was a conversation, response or turn
NULLABLE = ("turn", "metric", "value", "reason", "signature")
BATCH_ROWS = 8192
MAGIC = (b"PAR1", b"ARROW1")  # how a Parquet and an Arrow file begin
logger = logging.getLogger("grice")


def score_table(
    grader: Grader, table: pyarrow.Table, *, columns: Mapping[str, str] | None = None
) -> pyarrow.Table:
    """Return the scores of a table of conversations, one row per score.

    A row of the table is a conversation (``turns`` or ``messages``), a response (``context`` and
    ``response``) or a turn (``text`` with ``speaker`` or ``conversation_id``). Turns are grouped
    into conversations. A row that cannot be read gives a row with status ``failed``, no metric and
    the reason; its conversation is ``table:ROW``, counted from 1. Scores are those of
    :meth:`grice.scoring.Grader.score`, bit for bit.

    Args:
        grader: Of :func:`grice.load`.
        table: Conversations.
        columns: Names of columns by their meaning; see :func:`grice.read`.

    Raises:
        InputError: If pyarrow is not installed, or the columns hold no conversations.
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
    """Yield the scores of records; an unreadable record gives a failed one without a metric."""
    source = iter(records)
    while window := list(islice(source, WINDOW_RECORDS)):
        groups = iter(_groups(scorer, [each for each in window if isinstance(each, Conversation)]))
        for record in window:
            if isinstance(record, Conversation):
                yield from next(groups)
                continue
            place = record.file if record.line is None else f"{record.file}:{record.line}"
            yield _failed(place, ": ".join(filter(None, [record.field, record.problem])))


def _groups(scorer: Scorer, conversations: Sequence[Conversation]) -> list[list[Score]]:
    """Score conversations; one that raises outside of a metric gives a failed score."""
    try:
        return scorer.score(conversations)
    except Exception as error:  # noqa: BLE001 - of a worker, which must outlive any record
        if len(conversations) == 1:
            reason = shortened(f"{type(error).__name__}: {error}")
            return [[_failed(conversations[0].id, reason, conversations[0].meta)]]
    return [_groups(scorer, [conversation])[0] for conversation in conversations]


def _failed(name: str, reason: str, meta: Mapping[str, Json] = {}) -> Score:
    return Score(name, None, "", None, "failed", reason, (), (), "", dict(meta))


def schema() -> pyarrow.Schema:
    """Return the schema of a table of scores."""
    import pyarrow as pa

    kinds = {"turn": pa.int64(), "value": pa.float64(), "flags": pa.list_(pa.string())}
    return pa.schema(
        [
            pa.field(name, kinds.get(name, pa.string()), nullable=name in NULLABLE)
            for name in Score.__struct_fields__
        ],
        {VERSION_KEY: VERSION.encode()},
    )


def as_table(scores: Sequence[Score]) -> pyarrow.Table:
    """Return scores as a table; the metric of a record that could not be read is null."""
    import pyarrow as pa

    rows = []
    for score in scores:
        row: dict[str, object] = {name: getattr(score, name) for name in Score.__struct_fields__}
        row |= {"metric": score.metric or None, "signature": score.signature or None}
        rows.append(row | {name: json_line(row[name]).decode() for name in ("evidence", "meta")})
    return pa.Table.from_pylist(rows, schema())


def write_table(suffix: str, scores: Iterable[Score], file: BinaryIO) -> None:
    """Write scores as a Parquet file, or as an Arrow file for the suffix ``.arrow``."""
    import pyarrow.ipc
    import pyarrow.parquet

    if suffix == ".parquet":
        writer = pyarrow.parquet.ParquetWriter(file, schema(), compression="zstd")
    else:
        options = pyarrow.ipc.IpcWriteOptions(compression="zstd")
        writer = pyarrow.ipc.new_file(file, schema(), options=options)
    rows = iter(scores)
    with writer:
        while batch := list(islice(rows, BATCH_ROWS)):
            writer.write_table(as_table(batch))


def lines_of(file: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield the lines of JSON of a table of scores, as ``grice score`` would have written them."""
    check_arrow()
    import pyarrow as pa
    import pyarrow.ipc
    import pyarrow.parquet

    try:
        start = file.read(6)
        file.seek(0)
        if start.startswith(b"PAR1"):
            source = pa.parquet.ParquetFile(file, pre_buffer=False)
            layout, batches = source.schema_arrow, source.iter_batches(use_threads=False)
        else:
            reader = pa.ipc.open_file(file)
            layout = reader.schema
            batches = map(reader.get_batch, range(reader.num_record_batches))
        version = (layout.metadata or {}).get(VERSION_KEY, b"").decode()
        if version != VERSION:
            found = f"of layout {version}, this grice reads {VERSION}"
            raise InputError(
                f"{name}: {found if version else 'no table of scores'}; a table of scores is what "
                "grice score FILE -o OUT.parquet writes"
            )
        for batch in batches:
            # A row without a metric is a record that could not be read, and no score.
            yield from (_line(row) for row in batch.to_pylist() if row["metric"] is not None)
    except (OSError, ValueError) as error:
        raise InputError(f"{name}: cannot be read: {error}") from None


def _line(row: dict[str, object]) -> bytes:
    for name in ("evidence", "meta"):
        row[name] = msgspec.Raw(str(row[name]).encode())
    row["signature"] = row["signature"] or ""
    return msgspec.json.encode({name: row[name] for name in Score.__struct_fields__}) + b"\n"
