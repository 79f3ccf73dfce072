from contextlib import contextmanager

import pytest

from grice.scoring.summary import SummaryBuilder


@pytest.fixture
def interrupted_after(monkeypatch):
    """Return a block in which a run is interrupted after so many conversations."""

    @contextmanager
    def block(count):
        add, left = SummaryBuilder.add, iter(range(count))

        def add_or_stop(builder, talk, scores):
            if next(left, None) is None:
                raise KeyboardInterrupt
            add(builder, talk, scores)

        monkeypatch.setattr(SummaryBuilder, "add", add_or_stop)
        with pytest.raises(KeyboardInterrupt):
            yield
        monkeypatch.setattr(SummaryBuilder, "add", add)

    return block
