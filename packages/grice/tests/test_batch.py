"""Whole files from Python: the bytes of the command, resumed, with a report."""

from __future__ import annotations

import json

import pytest

import grice
from grice.cli import main
from grice.errors import InputError, OutputError, RecordError

METRICS = ["log_length", "turn_count"]


class Interrupting:
    """A listener that stops the run at the so-manyeth conversation."""

    def __init__(self, at: int) -> None:
        self.left = at
        self.seen: list[str] = []

    def add(self, conversation, scores) -> None:
        assert {score.conversation for score in scores} == {conversation.id}
        self.seen.append(conversation.id)
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def write_talks(path, count: int = 1300) -> None:
    talks = ({"id": f"t{i}", "turns": ["Is it far?", f"About {i} miles."]} for i in range(count))
    path.write_text("".join(f"{json.dumps(talk)}\n" for talk in talks))


@pytest.fixture
def chat(tmp_path):
    path = tmp_path / "chat.jsonl"
    write_talks(path)
    return path


def command(*words: object) -> int:
    return main(["score", *map(str, words), "-m", ",".join(METRICS)])


def test_the_lines_are_those_of_the_command(chat, tmp_path):
    other = tmp_path / "other.jsonl"
    write_talks(other, 2)
    by_command, by_call = tmp_path / "command.jsonl", tmp_path / "call.jsonl"
    assert command(chat, other, "--speaker", "B", "-o", by_command) == 0
    summary = grice.score_files([chat, other], by_call, metrics=METRICS, speakers=["B"])
    assert by_call.read_bytes() == by_command.read_bytes()
    assert (summary.conversations, summary.turns, summary.skipped) == (1302, 2604, 0)
    assert [metric.counts for metric in summary.metrics] == [{"ok": 1302}, {"ok": 1302}]
    last = json.loads(by_call.read_text().splitlines()[-1])
    assert last["meta"] == {"file": str(other)}


def test_an_interrupted_run_is_finished_into_the_same_bytes(chat, tmp_path):
    whole, resumed = tmp_path / "whole.jsonl", tmp_path / "resumed.jsonl"
    expected = grice.score_files(chat, whole, metrics=METRICS)
    with pytest.raises(KeyboardInterrupt):
        grice.score_files(chat, resumed, metrics=METRICS, listeners=[Interrupting(600)])
    kept = tmp_path / "resumed.jsonl.partial"
    assert kept.stat().st_size > 0
    assert not resumed.exists()

    again = Interrupting(-1)
    assert grice.score_files(chat, resumed, metrics=METRICS, listeners=[again]) == expected
    assert resumed.read_bytes() == whole.read_bytes()
    assert len(again.seen) == 1300
    assert not kept.exists()


def test_another_run_is_not_continued_unless_it_starts_again(chat, tmp_path):
    out = tmp_path / "out.jsonl"
    with pytest.raises(KeyboardInterrupt):
        grice.score_files(chat, out, metrics=METRICS, listeners=[Interrupting(600)])
    with pytest.raises(InputError, match="left by a run with other metrics"):
        grice.score_files(chat, out, metrics=METRICS, speakers=["B"])
    summary = grice.score_files(chat, out, metrics=METRICS, speakers=["B"], resume=False)
    assert len(out.read_text().splitlines()) == 2600 == summary.scores


def test_a_report_is_written_and_names_the_call(chat, tmp_path):
    page = tmp_path / "report.html"
    grice.score_files(str(chat), metrics=METRICS, report=page)
    assert "grice.score_files(" in page.read_text("utf-8")


def test_no_report_is_left_by_a_run_that_ends_early(chat, tmp_path):
    page = tmp_path / "report.html"
    with pytest.raises(KeyboardInterrupt):
        grice.score_files(chat, metrics=METRICS, report=page, listeners=[Interrupting(5)])
    assert not page.exists()


def test_broken_records_are_counted_or_raised(tmp_path):
    chat = tmp_path / "chat.jsonl"
    chat.write_text('{"turns": ["Hello.", "Hi."]}\n{"turns": 5}\n')
    summary = grice.score_files(chat, metrics=METRICS)
    assert (summary.conversations, summary.skipped) == (1, 1)
    assert "chat.jsonl:2: turns" in summary.problems[0]
    with pytest.raises(RecordError, match=r"chat\.jsonl:2: turns"):
        grice.score_files(chat, metrics=METRICS, bad_records="fail")
    with pytest.raises(InputError, match="bad records 'stop': write skip or fail"):
        grice.score_files(chat, metrics=METRICS, bad_records="stop")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["output", "report"])
def test_an_input_is_never_written_over(chat, tmp_path, name):
    before = chat.read_bytes()
    with pytest.raises(OutputError, match="name another output"):
        grice.score_files(chat, metrics=METRICS, **{name: chat})
    with pytest.raises(OutputError, match="which is read; name another output"):
        grice.score_files(tmp_path, metrics=METRICS, **{name: chat})
    assert chat.read_bytes() == before
