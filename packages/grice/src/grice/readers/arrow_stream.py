"""Arrow streams, in the layouts of JSON lines and of tables: what ``datasets`` saves to disk."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from msgspec.structs import replace

from grice.readers._arrow import read_file
from grice.readers._format import Format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.readers._arrow import Batches

CONTINUED = b"\xff\xff\xff\xff"
"""How each message of a stream begins; no text does."""
LONGEST_SCHEMA = 1 << 24


def _batches(file: BinaryIO) -> tuple[Sequence[str], int, Batches]:
    import pyarrow.ipc

    with pyarrow.ipc.open_stream(file) as counted:
        rows = sum(batch.num_rows for batch in counted)
    file.seek(0)
    source = pyarrow.ipc.open_stream(file)
    return source.schema.names, rows, source


def _sniff(prefix: bytes) -> float:
    length = int.from_bytes(prefix[4:8], "little", signed=True)
    return float(prefix.startswith(CONTINUED) and 0 < length < LONGEST_SCHEMA)


FORMAT: Format = Format(
    name="arrow_stream",
    summary="Arrow streams, as Hugging Face's `Dataset.save_to_disk` writes them (`grice[arrow]`)",
    description="""\
Read as `parquet` is. Name the folder that was saved: what describes the data set there is passed
over, and all its splits are read.""",
    example="",
    sniff=_sniff,
    read=partial(read_file, batches_of=_batches),
    with_columns=lambda columns: replace(
        FORMAT, read=partial(read_file, batches_of=_batches, columns=columns)
    ),
)
