"""Parquet files, in the layouts of JSON lines and of tables."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from msgspec.structs import replace

from grice.readers._arrow import ROWS, read_file
from grice.readers._format import Format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.readers._arrow import Batches


def _batches(file: BinaryIO) -> tuple[Sequence[str], int, Batches]:
    import pyarrow.parquet

    parquet = pyarrow.parquet.ParquetFile(file, pre_buffer=False)
    batches = parquet.iter_batches(batch_size=ROWS, use_threads=False)
    return parquet.schema_arrow.names, parquet.metadata.num_rows, batches


FORMAT: Format = Format(
    name="parquet",
    summary="Parquet files: a conversation, a response or a turn per row (`grice[arrow]`)",
    description="""\
A row is read as the JSON object of its columns would be, in the layout that has such fields:
`turns`, `messages`, `sharegpt`, `response` and so on. Where its columns are those of a **turn per
row**, or of a question and its answer with a conversation (see `table`), rows of one conversation
stand together and are grouped; `--column` names columns as there. A null is a field that is not
there; a line number is the number of the row, from 1. The file is read a few hundred rows at a
time, from where it lies; standard input and gzip are laid into a temporary file first.""",
    example="",
    sniff=lambda prefix: float(prefix.startswith(b"PAR1")),
    read=partial(read_file, batches_of=_batches),
    with_columns=lambda columns: replace(
        FORMAT, read=partial(read_file, batches_of=_batches, columns=columns)
    ),
)
