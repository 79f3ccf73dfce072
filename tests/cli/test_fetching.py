"""What a person sees while a model is fetched."""

from __future__ import annotations

import io
import re
import sys

import pytest

from grice.cli._fetching import Fetching


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


def test_a_terminal_sees_how_much_of_a_file_is_there(shown):
    text = shown(Terminal())
    with Fetching() as listener:
        listener.received("model.gguf", 0, 10_000_000)
        listener.received("model.gguf", 5_000_000, 10_000_000)
    assert "fetching model.gguf of 10.0 MB" in text()
    assert "5.0/10.0 MB" in text()


def test_a_log_gets_a_line_a_file(shown):
    text = shown(io.StringIO())
    with Fetching() as listener:
        for done in range(2_000_000, 10_000_000, 1_000_000):
            listener.received("model.gguf", done, 10_000_000)
        listener.received("config.json", 0, None)
        listener.say("converting")
    assert text().splitlines() == [
        "grice: fetching model.gguf of 10.0 MB, of which 2.0 MB are here",
        "grice: fetching config.json",
        "grice: converting",
    ]


def test_whoever_interrupts_learns_that_nothing_is_lost(shown):
    text = shown(io.StringIO())
    with pytest.raises(KeyboardInterrupt), Fetching():
        raise KeyboardInterrupt
    assert "the same command goes on" in text()
