"""Progress bars of commands and of downloads: on a terminal, in a log, and in a pipe."""

import io
import json
import re
import sys

import pytest

from grice.cli import main, output


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
    for delay in ("PATIENCE", "SHORTEST"):
        monkeypatch.setattr(output, delay, 0.0)

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
    for size in ([], ["--sample", "40"]):
        stream, out = terminal(), tmp_path / "out.jsonl"
        assert main(["score", str(chat), "-m", "log_length", "-o", str(out), *size]) == 0
        shown = plain(stream.getvalue())
        assert "40 conversations" in shown
        assert "100%" in shown


def test_of_a_sample_the_conversations_are_counted(chat, capsys, tmp_path):
    out = tmp_path / "out.jsonl"
    command = ["score", str(chat), "-m", "log_length", "-o", str(out), "--json", "--sample", "7"]
    assert main(command) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["conversations"] == 7
    assert summary["sample"] == {"conversations": 7, "of": 40, "seed": 0}
    first = out.read_text()
    assert (main(command), out.read_text()) == (0, first)
    assert main([*command, "--seed", "1"]) == 0
    assert out.read_text() != first


@pytest.mark.parametrize(("words", "unit"), [
    ("perturb CHAT --kind turn-replacement --score log_length", "conversations"),
    ("meta-eval log_length --on RATED", "conversations"),
    ("explain Late? Yes. --no-cache", "texts"), ("calibrate RATED SCORES", None),
])  # fmt: skip
@pytest.mark.parametrize("quiet", [False, True])
def test_long_commands_show_their_progress(chat, terminal, tmp_path, words, unit, quiet):
    files = {"CHAT": chat} | {name: tmp_path / name.lower() for name in ("RATED", "SCORES")}
    rated = [{"id": f"t{i}", "turns": ["Is it late?", "Yes. " * (i % 7)], "rating": i % 5}
             for i in range(40)]  # fmt: skip
    files["RATED"].write_text("".join(f"{json.dumps(row)}\n" for row in rated))
    written = ["-q", "-o", str(files["SCORES"])]
    assert main(["score", str(files["RATED"]), "-m", "log_length", *written]) == 0
    stream = terminal()
    command = [str(files.get(word, word)) for word in words.split()] + ["--quiet"] * quiet
    assert main(command) in (0, 1)
    shown = plain(stream.getvalue())
    if quiet or unit is None:
        assert "%" not in shown
    else:
        assert re.search(rf"[\d,]+ {unit} .*\d+% [-\d]+:[-\d]+:[-\d]+", shown), shown
