"""Files that broke a reader once (``make fuzz`` keeps them) break none."""

from pathlib import Path

import pytest

from grice.errors import GriceError, RecordError
from grice.readers import find_formats, read
from grice.records import Conversation

KEPT = sorted((Path(__file__).parent / "fuzz").glob("*.bin"))


@pytest.mark.parametrize("file", KEPT, ids=lambda path: path.stem)
def test_what_broke_a_reader_is_read_or_named(file):
    for form in (None, *find_formats().formats):
        try:
            records = list(read(file, format=form))
        except GriceError:
            continue
        assert all(isinstance(record, (Conversation, RecordError)) for record in records)
