"""The loop: order, resume, durability, what is counted."""

import json
import os
import random

import msgspec
import pytest

from grice.data import Conversation, Judgement, Score, Turn
from grice.errors import InputError, OutputError, RecordError
from grice.metrics import Example, metric
from grice.metrics.declaration import find_metrics
from grice.scoring.api import Scorer
from grice.scoring.loaded import load_metric
from grice.scoring.run import ScoreFile, Sink, State, encode_scores, score_windows
from grice.scoring.summary import SummaryBuilder

RUN = "run-1"


@metric("fragile", version="1", summary="Breaks on purpose.", judges="response", source="none",
        example=Example(["a", "b"], 0.0, 1.0))  # fmt: skip
def fragile(responses):
    for response in responses:
        if "boom" in response.text:
            raise RuntimeError("boom")
        yield Judgement(len(response.text) % 10 / 10)


@pytest.fixture(scope="module")
def scorer(exact_models):
    built_in = find_metrics().metrics
    metrics = [fragile, built_in["log_length"], built_in["turn_count"]]
    return Scorer([load_metric(known, exact_models, {}) for known in metrics])


def talk_of(name, *texts, **meta):
    return Conversation(name, tuple(Turn("A", text) for text in texts), meta=meta)


@pytest.fixture(scope="module")
def records():
    rng, made = random.Random(11), []
    for i in range(700):
        if rng.random() < 0.05:
            made.append(RecordError("no turn", file="chats.jsonl", line=i + 1, field="turns"))
            continue
        texts = (" ".join(["word"] * rng.randint(0, 12)) for _ in range(rng.randint(1, 14)))
        made.append(talk_of(f"c{i}", *texts, rank=i))
    return made


class KilledError(Exception):
    pass


def run(records, scorer, sink, stop=None):
    """Score records; return the summary and what was seen, or be killed after ``stop`` of it."""
    summary, seen = SummaryBuilder(scorer.columns), []
    for record, scores in score_windows(records, scorer, sink):
        if isinstance(record, RecordError):
            summary.skip(record)
        elif len(seen) == stop:
            raise KilledError
        else:
            summary.add(record, scores)
            seen.append((record.id, len(scores)))
    return summary.summary(), seen


def score_to(path, records, scorer, stop=None, run_name=RUN, resume=True):
    return run(records, scorer, ScoreFile(path, run_name, resume=resume), stop)


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_a_killed_run_ends_in_the_same_bytes(tmp_path, records, scorer, name):
    whole = tmp_path / f"whole-{name}"
    expected, rng = score_to(whole, records, scorer), random.Random(2)
    for attempt in range(3):
        path = tmp_path / f"{attempt}-{name}"
        for count in sorted(rng.sample(range(640), 2)):
            with pytest.raises(KilledError):
                score_to(path, records, scorer, count)
        partial = path.with_name(path.name + ".partial")
        with partial.open("ab") as file:  # what a kill in the middle of a write leaves behind
            file.write(b'{"conversation":"c1","tu')
        assert not path.exists()
        assert score_to(path, records, scorer) == expected
        assert path.read_bytes() == whole.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir() if "partial" in p.name) == []


def test_scores_stand_in_input_order_with_everything_they_need(tmp_path, records, scorer):
    path = tmp_path / "out.jsonl"
    score_to(path, records, scorer)
    scores = [msgspec.json.decode(line, type=Score) for line in path.read_bytes().splitlines()]
    conversations = [record for record in records if isinstance(record, Conversation)]
    expected = []
    for talk in conversations:
        turns = range(len(talk.turns))
        expected += [(talk.id, i, name) for i in turns for name in ("fragile", "log_length")]
        expected.append((talk.id, None, "turn_count"))
    assert [(score.conversation, score.turn, score.metric) for score in scores] == expected
    assert (scores[0].meta, scores[0].signature) == ({"rank": 0}, "fragile:1")


@pytest.fixture
def unfinished(tmp_path, records, scorer):
    """A file that a killed run has left."""
    path = tmp_path / "out.jsonl"
    with pytest.raises(KilledError):
        score_to(path, records, scorer, 400)
    return path


def test_what_is_done_is_not_scored_again(unfinished, records, scorer):
    done = json.loads(unfinished.with_name("out.jsonl.state").read_text())["records"]
    assert done > 300
    asked = []

    class Counting(Scorer):
        def score(self, conversations):
            asked.extend(conversations)
            return super().score(conversations)

    score_to(unfinished, records, Counting(*scorer))
    assert asked == [record for record in records[done:] if isinstance(record, Conversation)]


def test_a_changed_input_is_noticed(unfinished, records, scorer):
    for changed in ([records[1], records[0], *records[2:]], records[:10]):
        with pytest.raises(InputError, match="the input has changed"):
            score_to(unfinished, changed, scorer)
    score_to(unfinished, records, scorer)


def test_an_unfinished_file_of_another_run_is_not_continued(unfinished, records, scorer):
    with pytest.raises(InputError, match="left by a run with other metrics"):
        score_to(unfinished, records, scorer, run_name="run-2")
    broken = unfinished.with_name("broken.jsonl")
    broken.with_name("broken.jsonl.state").write_text("{")
    with pytest.raises(InputError, match="not the state of a run"):
        score_to(broken, records, scorer)
    score_to(unfinished, records, scorer, run_name="run-2", resume=False)
    assert unfinished.exists()


def test_a_full_disk_says_so_and_keeps_what_was_scored(tmp_path, records, scorer):
    resource = pytest.importorskip("resource", reason="this system bounds no file sizes")
    path, whole = tmp_path / "out.jsonl", tmp_path / "whole.jsonl"
    score_to(whole, records, scorer)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (whole.stat().st_size - 100, hard))
    try:
        with pytest.raises(OutputError, match="File too large; earlier scores are kept"):
            score_to(path, records, scorer)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (tmp_path / "out.jsonl.state").exists()
    score_to(path, records, scorer)
    assert path.read_bytes() == whole.read_bytes()


def test_two_runs_do_not_write_one_file(tmp_path, records, scorer):
    pytest.importorskip("fcntl", reason="this system has no locks of files")
    path, whole = tmp_path / "out.jsonl", tmp_path / "whole.jsonl"
    score_to(whole, records, scorer)
    first = ScoreFile(path, RUN, resume=True)
    for resume in (True, False):
        with pytest.raises(OutputError, match=r"out\.jsonl: another run is writing it"):
            ScoreFile(path, RUN, resume=resume)
    run(records, scorer, first)
    assert path.read_bytes() == whole.read_bytes()
    score_to(path, records, scorer)


PLANTED = {
    "symbolic link": lambda path, victim: path.symlink_to(victim),
    "hard link": lambda path, victim: path.hardlink_to(victim),
    "pipe": lambda path, _: os.mkfifo(path),
    "folder": lambda path, _: path.mkdir(),
}


@pytest.mark.skipif(os.name != "posix", reason="links and pipes are those of POSIX")
@pytest.mark.parametrize("kind", PLANTED)
@pytest.mark.parametrize("name", ["out.jsonl.partial", "out.jsonl.state"])
def test_nothing_is_reached_through_what_somebody_planted(tmp_path, records, scorer, kind, name):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    PLANTED[kind](tmp_path / name, victim)
    with pytest.raises(OutputError, match="is a link or a special file"):
        score_to(tmp_path / "out.jsonl", records, scorer)
    assert victim.read_text() == "precious"
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.skipif(os.name != "posix", reason="links are those of POSIX")
def test_a_link_stands_for_its_file_and_a_killed_run_goes_on_there(tmp_path, records, scorer):
    whole, link = tmp_path / "whole.jsonl", tmp_path / "link.jsonl"
    score_to(whole, records, scorer)
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "target.jsonl"
    link.symlink_to(target)
    with pytest.raises(KilledError):
        score_to(link, records, scorer, 400)
    assert (tmp_path / "real" / "target.jsonl.partial").exists()
    score_to(link, records, scorer)
    assert link.is_symlink()
    assert target.read_bytes() == whole.read_bytes()
    assert [path.name for path in (tmp_path / "real").iterdir()] == ["target.jsonl"]


def test_one_broken_reply_costs_no_other_and_broken_records_are_counted(records, scorer):
    talk = talk_of("t", "fine", "boom", "good", "also good")
    summary, _ = run([talk, *records], scorer, Sink(RUN))
    broken = [record for record in records if isinstance(record, RecordError)]
    assert summary.metrics[0].counts["failed"] == summary.failed == 1
    assert summary.problems[0] == str(broken[0])
    assert summary.conversations == len(records) - summary.skipped + 1
    [scores] = scorer.score([talk])
    [failed] = [score for score in scores if score.status == "failed"]
    assert (failed.turn, failed.value, failed.reason) == (1, None, "RuntimeError: boom")


def test_an_empty_input_gives_an_empty_file(tmp_path, scorer):
    summary, _ = score_to(tmp_path / "out.jsonl", [], scorer)
    assert summary.conversations == 0
    record = summary.record()["metrics"][0]
    assert [record[name] for name in ("metric", "mean", "low", "high")] == ["fragile", *[None] * 3]
    assert (tmp_path / "out.jsonl").read_bytes() == b""


def test_the_lowest_replies_are_named_with_their_text(scorer):
    talk = talk_of("t", *("x" * count for count in (8, 3, 11, 5, 9, 7, 21)))
    lowest = run([talk], scorer, Sink(RUN))[0].metrics[0].lowest
    assert [low.value for low in lowest] == [0.1, 0.1, 0.3]
    assert ([low.turn for low in lowest], lowest[0].text) == ([2, 6, 1], "x" * 11)


def test_the_interval_of_a_mean_stays_in_the_range_of_the_metric(scorer):
    talks = [talk_of("one", "x" * 9), talk_of("nine", *["x" * 9] * 9), talk_of("low", "xx")]
    mean = run(talks, scorer, Sink(RUN))[0].metrics[0].mean
    assert mean.value > 0.8
    assert 0 < mean.low < mean.value < mean.high < 1


def of_turns(*turns):
    return [Score("c", turn, "m", 0.5, "ok", None, (), (), "m:1") for turn in turns]


@pytest.fixture
def counted(tmp_path):
    """A file that a killed run has left, of exactly the bytes its state counts."""
    sink = ScoreFile(tmp_path / "out.jsonl", RUN, resume=True)
    sink.append(of_turns(0, 1), State(RUN, "digest", 1))
    sink.close()
    return tmp_path / "out.jsonl"


def test_lines_of_just_the_counted_length_are_taken_up_again(counted):
    sink = ScoreFile(counted, RUN, resume=True)
    assert sink.done == State(RUN, "digest", 1, len(encode_scores(of_turns(0, 1))))
    assert list(sink.replay()) == of_turns(0, 1)
    sink.append(of_turns(2), State(RUN, "digest-2", 2))
    sink.finish()
    assert counted.read_bytes() == encode_scores(of_turns(0, 1, 2))
    assert [path.name for path in counted.parent.iterdir()] == ["out.jsonl"]


def test_lines_that_are_missing_are_not_taken_for_done(counted):
    partial = counted.with_name("out.jsonl.partial")
    partial.write_bytes(partial.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"partial: shorter than its state says; give --no-resume"):
        ScoreFile(counted, RUN, resume=True)
    sink = ScoreFile(counted, RUN, resume=False)
    assert sink.done == State(RUN)
    sink.finish()
    assert counted.read_bytes() == b""


def test_lines_are_on_the_disk_before_the_state_counts_them(tmp_path, monkeypatch):
    path, state = tmp_path / "out.jsonl", tmp_path / "out.jsonl.state"
    durable = []

    def fsync(descriptor):
        """Note which file is made durable, how much of it, and what the state counts by then."""
        file = os.fstat(descriptor)
        counted = json.loads(state.read_bytes())["bytes"] if state.exists() else 0
        durable.append((file.st_ino, file.st_size, counted))

    monkeypatch.setattr(os, "fsync", fsync)
    sink, written = ScoreFile(path, RUN, resume=True), 0
    for number in range(3):
        before = written
        sink.append(of_turns(number), State(RUN, "digest", number + 1))
        written += len(encode_scores(of_turns(number)))
        assert (path.with_name("out.jsonl.partial").stat().st_ino, written, before) in durable
        assert msgspec.json.decode(state.read_bytes(), type=State).bytes == written
    sink.finish()
