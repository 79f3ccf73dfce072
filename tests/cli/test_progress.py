"""The progress bar of ``grice score``: on a terminal alone, by what was read of the inputs."""

from __future__ import annotations

import io
import re
import sys

import pytest
from rich.progress import Task

from grice.cli import main
from grice.cli._progress import Progress, Rate, TimeLeft
from grice.formats import read


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def chat(tmp_path):
    path = tmp_path / "chat.txt"
    path.write_text("".join(f"Ann: Is it {i} o'clock?\nBob: Yes, it is.\n\n" for i in range(40)))
    return path


@pytest.fixture
def terminal(monkeypatch):
    """Return what makes standard error a terminal: within the test, for pytest takes it back."""

    def take():
        stream = Terminal()
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return take


def plain(text):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def test_a_terminal_sees_how_far_a_run_has_come(chat, terminal, tmp_path):
    stream, out = terminal(), tmp_path / "out.jsonl"
    assert main(["score", str(chat), "-m", "log_length", "-o", str(out)]) == 0
    shown = plain(stream.getvalue())
    assert "0 turns" in shown
    assert "80 turns" in shown
    assert "100%" in shown


def test_a_pipe_sees_no_bar(chat, capsys, tmp_path):
    assert main(["score", str(chat), "-m", "log_length", "-o", str(tmp_path / "out.jsonl")]) == 0
    assert "%" not in capsys.readouterr().err


def test_the_bar_follows_what_was_read_of_all_inputs(chat, terminal):
    terminal()
    with read(str(chat)) as first, read(str(chat)) as second:
        with Progress([first, second]) as progress:
            for reading in (first, second):
                for record in reading:
                    progress.add(record, [])
        task = progress._bar.tasks[0]
        assert (task.completed, task.total) == (2 * chat.stat().st_size,) * 2
        assert task.fields["turns"] == 160


def task(seconds, completed, total, turns=0):
    clock = iter([0.0, seconds, seconds, seconds, seconds])
    made = Task(0, "scoring", total, completed, _get_time=lambda: next(clock),
                fields={"turns": turns})  # fmt: skip
    made.start_time = next(clock)
    return made


def test_the_rate_is_that_since_the_start():
    assert Rate().render(task(2.0, 1, 10, turns=5000)).plain == "2,500 turns/s"
    assert Rate().render(task(0.1, 1, 10, turns=5000)).plain == ""


@pytest.mark.parametrize(
    ("seconds", "completed", "total", "left"),
    [(10.0, 25, 100, "0:30 left"), (60.0, 10, 100, "9:00 left"), (5.0, 0, 100, ""),
     (5.0, 10, None, ""), (7.0, 100, 100, "0:00 left")],
)  # fmt: skip
def test_the_time_left_is_at_the_rate_so_far(seconds, completed, total, left):
    assert TimeLeft().render(task(seconds, completed, total)).plain == left
