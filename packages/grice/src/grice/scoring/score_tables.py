"""Scores as Arrow tables: the schema, and the way there and back.

A table has a row a score, with the fields of :class:`grice.records.Score`. ``evidence`` and
``meta`` are JSON, as in the lines of ``grice score``: what stands in them differs from score to
score. The number of the layout stands in the metadata of the schema under :data:`VERSION_KEY`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import msgspec

from grice.errors import InputError
from grice.records import Score, json_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow

VERSION = "1"
"""Another number means other columns or another meaning of one; further columns do not move it."""
VERSION_KEY = b"grice.scores"
WRITTEN = 8192
"""Scores that are laid into one batch."""
MAGIC = (b"PAR1", b"ARROW1")


def schema() -> pyarrow.Schema:
    """Return the schema of a table of scores."""
    import pyarrow as pa

    text = pa.string()
    return pa.schema(
        [
            pa.field("conversation", text, nullable=False),
            pa.field("turn", pa.int64()),
            pa.field("metric", text),
            pa.field("value", pa.float64()),
            pa.field("status", text, nullable=False),
            pa.field("reason", text),
            pa.field("flags", pa.list_(text), nullable=False),
            pa.field("evidence", text, nullable=False),
            pa.field("signature", text),
            pa.field("meta", text, nullable=False),
        ],
        {VERSION_KEY: VERSION.encode()},
    )


def as_table(scores: Sequence[Score]) -> pyarrow.Table:
    """Return scores as a table; a metric of no name, of a record that failed, is null."""
    import pyarrow as pa

    return pa.Table.from_pylist([_row(score) for score in scores], schema())


def _row(score: Score) -> dict[str, object]:
    row: dict[str, object] = {name: getattr(score, name) for name in score.__struct_fields__}
    row["metric"] = score.metric or None
    row["signature"] = score.signature or None
    for name in ("evidence", "meta"):
        row[name] = json_line(row[name]).decode()
    return row


def write_lines_as(suffix: str, lines: Iterable[bytes], file: BinaryIO) -> None:
    """Write lines of scores as a Parquet file, or an Arrow file where that is the suffix."""
    import pyarrow.ipc
    import pyarrow.parquet

    if suffix == ".parquet":
        writer = pyarrow.parquet.ParquetWriter(file, schema(), compression="zstd")
    else:
        options = pyarrow.ipc.IpcWriteOptions(compression="zstd")
        writer = pyarrow.ipc.new_file(file, schema(), options=options)
    decoder = msgspec.json.Decoder(Score)
    held: list[Score] = []
    with writer:
        for line in lines:
            held.append(decoder.decode(line))
            if len(held) == WRITTEN:
                writer.write_table(as_table(held))
                held = []
        writer.write_table(as_table(held))


def is_table(start: bytes) -> bool:
    """Return whether a file that begins so is a Parquet or an Arrow file."""
    return start.startswith(MAGIC)


def lines_of(file: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield the lines that ``grice score`` would have written, of a table of scores in a file."""
    from grice.readers import check_arrow

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
        _check_layout(layout, name)
        for batch in batches:
            # What has no metric is a record that could not be read, and no score.
            yield from (_line(row) for row in batch.to_pylist() if row["metric"] is not None)
    except (OSError, ValueError) as error:
        raise InputError(f"{name}: cannot be read: {error}") from None


def _check_layout(layout: pyarrow.Schema, name: str) -> None:
    version = (layout.metadata or {}).get(VERSION_KEY, b"").decode()
    if version != VERSION:
        what = (
            f"of layout {version}, this grice reads {VERSION}" if version else "no table of scores"
        )
        raise InputError(
            f"{name}: {what}; a table of scores is what grice score FILE -o OUT.parquet writes"
        )


def _line(row: dict[str, object]) -> bytes:
    for name in ("evidence", "meta"):
        row[name] = msgspec.Raw(str(row[name]).encode())
    row["signature"] = row["signature"] or ""
    return msgspec.json.encode({name: row[name] for name in Score.__struct_fields__}) + b"\n"
