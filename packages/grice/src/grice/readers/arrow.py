"""Arrow files, in the layouts of JSON lines and of tables."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from msgspec.structs import replace

from grice.readers._arrow import read_file
from grice.readers._format import Format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.readers._arrow import Batches

MAGIC = b"ARROW1\0\0"


def _batches(file: BinaryIO) -> tuple[Sequence[str], int, Batches]:
    import pyarrow.ipc

    source = pyarrow.ipc.open_file(file)
    batches = [source.get_batch(place) for place in range(source.num_record_batches)]
    return source.schema.names, sum(batch.num_rows for batch in batches), batches


FORMAT: Format = Format(
    name="arrow",
    summary="Arrow (Feather) files: a conversation, a response or a turn per row (`grice[arrow]`)",
    description="""\
Read as `parquet` is. The file is the one with a footer, as `pyarrow.feather.write_feather` and
`pyarrow.ipc.new_file` write it.""",
    example="",
    sniff=lambda prefix: float(prefix.startswith(MAGIC)),
    read=partial(read_file, batches_of=_batches),
    with_columns=lambda columns: replace(
        FORMAT, read=partial(read_file, batches_of=_batches, columns=columns)
    ),
)
