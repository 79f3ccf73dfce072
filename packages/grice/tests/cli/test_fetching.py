"""What a person sees while a model is fetched."""

from __future__ import annotations

import io
import re
import sys

import pytest

from grice.cli.progress import Fetching
from grice.cli.streams import QUIET


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def shown(monkeypatch):
    """Return what makes a stream standard error, and gives what it shows."""

    def take(stream):
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "100")
        monkeypatch.setattr(sys, "stderr", stream)
        return lambda: re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())

    return take


def fetch(seconds):
    """Receive a model of 40 MB, of which 5 are here, a megabyte at a time."""
    clock = [0.0]
    with Fetching(lambda: clock[0]) as listener:
        listener.begin("large", 40_000_000, 5_000_000)
        for done in range(6, 41):
            clock[0] += seconds
            listener.received(done * 1_000_000)
        listener.end()


def test_a_terminal_sees_one_bar_of_a_model(shown):
    text = shown(Terminal())
    with Fetching() as listener:
        listener.begin("large", 40_000_000, 10_000_000)
        listener.received(21_000_000)
    drawn = [line for line in text().replace("\r", "\n").splitlines() if "/" in line]
    assert {line.split()[0] for line in drawn} == {"large"}
    assert "52% 21.0/40.0 MB" in drawn[-1]


@pytest.mark.parametrize(("seconds", "lines"), [(0.2, 0), (2, 7), (20, 35)])
def test_a_log_has_a_line_in_ten_seconds_at_most(shown, seconds, lines):
    text = shown(io.StringIO())
    fetch(seconds)
    assert len(text().splitlines()) == lines + 1  # of the end
    assert text().splitlines()[-1].startswith("grice: large: 35.0 MB fetched in 0:")
    if lines:
        assert " of 40.0 MB (" in text().splitlines()[0]


def test_where_quiet_is_asked_nothing_is_shown(shown):
    text = shown(Terminal())
    token = QUIET.set(True)
    try:
        fetch(100)
    finally:
        QUIET.reset(token)
    assert text() == ""


def test_whoever_interrupts_learns_that_nothing_is_lost(shown):
    text = shown(io.StringIO())
    with pytest.raises(KeyboardInterrupt), Fetching():
        raise KeyboardInterrupt
    assert "the same command goes on" in text()
