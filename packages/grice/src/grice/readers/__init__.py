"""Readers: conversations from files of any format, and from objects of a program.

``read`` takes a path, ``-`` or a directory and yields conversations one by one, a broken record as
a ``RecordError``. Modules of this package declare each :class:`Format`; other packages offer one
through the entry point group ``grice.readers``.
"""

from __future__ import annotations

from grice.readers._formats import Format, Found, Line, find_formats, recognise
from grice.readers._reading import (
    Reading,
    files_of,
    find_conversation,
    from_file,
    from_logs,
    part_read,
    read,
    records_of,
)
from grice.readers.layouts import from_objects, from_record
from grice.readers.messages import from_messages
from grice.readers.table import check_arrow, from_frame, from_table

__all__ = [
    "Format", "Found", "Line", "Reading", "check_arrow", "files_of", "find_conversation",
    "find_formats", "from_file", "from_frame", "from_logs", "from_messages", "from_objects",
    "from_record", "from_table", "part_read", "read", "recognise", "records_of",
]  # fmt: skip
