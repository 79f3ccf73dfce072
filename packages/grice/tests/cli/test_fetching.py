"""What a person sees while a model is fetched."""

from __future__ import annotations

import io
import re
import sys

import pytest

from grice.cli._fetching import Fetching
from grice.cli._streams import QUIET


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


def fetch(clock, seconds_a_file):
    """Receive a model of four files of 10 MB, a megabyte at a time."""
    with Fetching(lambda: clock[0]) as listener:
        listener.begin("large", 40_000_000, {"0": 5_000_000})
        for file in range(4):
            for done in range(6 if file == 0 else 1, 11):
                clock[0] += seconds_a_file / 10
                listener.received(str(file), done * 1_000_000, 10_000_000)
        listener.end()


def test_a_terminal_sees_one_bar_for_all_files_of_a_model(shown):
    text = shown(Terminal())
    with Fetching() as listener:
        listener.begin("large", 40_000_000, {"0": 10_000_000})
        listener.received("1", 10_000_000, 10_000_000)
        listener.received("2", 1_000_000, 10_000_000)
    drawn = [line for line in text().replace("\r", "\n").splitlines() if "/" in line]
    assert {line.split()[0] for line in drawn} == {"large"}
    assert "52% 21.0/40.0 MB" in drawn[-1]


def test_a_log_has_a_line_for_every_tenth(shown):
    text = shown(io.StringIO())
    fetch([0.0], 100)  # a tenth in 40 seconds
    first, *_, last = text().splitlines()
    assert len(text().splitlines()) == 9
    assert first == "grice: large: 9.0 of 40.0 MB (22%), 0.1 MB/s, 0:05:10 left"
    assert last == "grice: large: 35.0 MB fetched in 0:05:50"


@pytest.mark.parametrize(
    ("seconds_a_file", "lines"),
    [(2, 0), (20, 7), (1000, 35)],
    ids=["at once", "every ten seconds", "every minute"],
)
def test_a_log_has_neither_many_lines_nor_long_silence(shown, seconds_a_file, lines):
    text = shown(io.StringIO())
    fetch([0.0], seconds_a_file)
    assert len(text().splitlines()) == lines + 1  # of the end


def test_where_quiet_is_asked_nothing_is_shown(shown):
    text = shown(Terminal())
    token = QUIET.set(True)
    try:
        fetch([0.0], 100)
    finally:
        QUIET.reset(token)
    assert text() == ""


def test_a_file_of_unknown_length_is_counted(shown):
    text = shown(io.StringIO())
    clock = [0.0]
    with Fetching(lambda: clock[0]) as listener:
        listener.begin("mine", None, {})
        listener.received("config.json", 1_000_000, None)
        clock[0] = 11
        listener.received("config.json", 2_000_000, None)
        listener.end()
    assert text().splitlines() == [
        "grice: mine: 2.0 MB, 0.1 MB/s",
        "grice: mine: 2.0 MB fetched in 0:00:11",
    ]


def test_whoever_interrupts_learns_that_nothing_is_lost(shown):
    text = shown(io.StringIO())
    with pytest.raises(KeyboardInterrupt), Fetching():
        raise KeyboardInterrupt
    assert "the same command goes on" in text()
