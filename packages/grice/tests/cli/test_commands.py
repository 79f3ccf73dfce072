"""The real command, end to end, as a user runs it."""

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

import made_metric
from grice.cli import main
from grice.cli.output import MEANINGS

ROOT = Path(__file__).parents[4]
EXAMPLES = ROOT / "examples"


@pytest.fixture
def chat(tmp_path):
    pets = ["Do you have any pets?", "Yes, two cats and a parrot.", "What is the parrot called?"]
    exam, path = ["How was the exam?", "The moon is made of old shoes."], tmp_path / "chat.jsonl"
    talks = [{"id": f"t{i}", "turns": turns} for i, turns in enumerate((pets, exam))]
    path.write_text("".join(json.dumps(talk) + "\n" for talk in talks))
    return path


def scores_in(text):
    return [json.loads(line) for line in text.splitlines()]


def test_examples_are_scored_with_a_report(tmp_path, capsys):
    out, report = tmp_path / "out.jsonl", tmp_path / "report.html"
    files = [str(EXAMPLES / "chatbots.jsonl"), str(EXAMPLES / "charity.txt")]
    assert main(["score", *files, "-o", str(out), "--report", str(report)]) == 0
    shown = capsys.readouterr().out
    assert "10 conversations, 143 turns" in shown
    assert "\n\nlowest relevance\n" in shown
    assert max(len(line) for line in shown.splitlines()) <= 80
    scores = scores_in(out.read_text("utf-8"))
    assert Counter(score["metric"] for score in scores) == {"relevance": 122, "repetition": 122}
    assert {score["meta"]["file"] for score in scores} == set(files)
    assert "<html" in report.read_text("utf-8")[:500]


def test_the_help_describes_the_options_of_the_metrics_asked_for(capsys):
    for words, listed in ([], False), (["-m", "relevance"], True):
        with pytest.raises(SystemExit):
            main(["score", *words, "--help"])
        assert ("--relevance-history" in capsys.readouterr().out) is listed


def test_the_summary_is_json_and_a_reply_is_explained(chat, tmp_path, capsys):
    out = tmp_path / "out.jsonl"
    assert main(["score", str(chat), "-m", "log_length", "-o", str(out), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    [metric] = summary["metrics"]
    assert (metric["counts"], summary["conversations"]) == ({"ok": 5}, 2)
    assert metric["low"] < metric["mean"] < metric["high"]
    words = ["--id", "t0", "--turn", "1", "-m", "log_length", "--json"]
    assert main(["explain", "--file", str(chat), *words]) == 0
    [score] = scores_in(capsys.readouterr().out)
    assert (score["conversation"], score["turn"]) == ("t0", 1)


@pytest.mark.parametrize(("words", "shown"), [
    (["explain", "I broke my leg.", "How?", "I fell."], "relevance repetition #0 broke"),
    (["perturb", "--json"], "turn-order deam"), (["perturb", "list"], "turn-order"),
    (["list"], "relevance* messages"), (["list", "--json"], "relevance commonsense log_length"),
])  # fmt: skip
def test_what_there_is_and_why_a_score_is_what_it_is_are_shown(words, shown, capsys):
    assert main(words) == 0
    assert set(shown.split()) <= set(re.split(r'[\s"]+', capsys.readouterr().out))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("name", ["pipe", "pipe.gz"])
def test_a_pipe_as_an_output_is_written_through(chat, tmp_path, name):
    pipe, came = tmp_path / name, []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: came.append(pipe.read_bytes()), daemon=True)
    reader.start()
    assert main(["score", str(chat), "-m", "log_length", "-o", str(pipe)]) == 0
    reader.join(30)
    text = gzip.decompress(came[0]) if name.endswith(".gz") else came[0]
    assert len(scores_in(text.decode())) == 5
    assert pipe.is_fifo()


def test_a_full_device_is_named(chat, capsys):
    if not Path("/dev/full").is_char_device():
        pytest.skip("this system has no /dev/full")
    assert main(["score", str(chat), "-m", "log_length", "-o", "/dev/full"]) == 2
    assert "grice: /dev/full: cannot be written: No space left" in capsys.readouterr().err


def test_broken_records_are_skipped_counted_and_change_the_status(chat, capsys):
    with chat.open("a") as file:
        file.write('{"id": "broken", "turns": [{"speaker": "A"}]}\nnot json\n')
    assert main(["score", str(chat), "-m", "log_length"]) == 4
    captured = capsys.readouterr()
    assert len(scores_in(captured.out)) == 5
    assert "chat.jsonl:3: turns[0]" in captured.err
    assert "2 records could not be read" in captured.err


@pytest.fixture
def fragile(tmp_path):
    body = """for response in responses:
    if word in response.text.lower():
        raise RuntimeError(f"{word} in {response.text!r}")
    yield Judgement(0.5)"""
    options = {"options": 'word: str = "moon"', "about": "Break.\n\n    Args:\n        word: It.\n"}
    plugin = made_metric.write(tmp_path / "fragile.py", "fragile", body, **options)
    return ["--plugin", plugin, "-m", "fragile,log_length"]


def test_failed_items_are_told_from_a_failed_run(chat, tmp_path, fragile, capsys):
    out = tmp_path / "out.jsonl"
    assert main(["score", str(chat), *fragile, "-o", str(out)]) == 4
    statuses = Counter(score["status"] for score in scores_in(out.read_text()))
    assert statuses == {"ok": 9, "failed": 1}
    shown = capsys.readouterr().err
    assert "1 of 5 scores failed; the first: t1 #1: RuntimeError: moon in 'The moon" in shown
    assert main(["score", str(chat), *fragile, "--fragile-word", "not there"]) == 0
    assert main(["explain", "Hello.", "The moon is up.", *fragile]) == 4
    assert "RuntimeError: moon in 'The moon is up.'" in capsys.readouterr().out
    assert main(["explain", "Hello.", "The moon is up.", *fragile[:2], "-m", "fragile"]) == 2


def test_the_commonest_reason_of_failures_is_told(tmp_path, chat, capsys):
    body = """for response in responses:
    yield Judgement(None, "failed", "no answer" if response.turn else "the first turn")"""
    words = ["--plugin", made_metric.write(tmp_path / "shy.py", "shy", body), "-m", "shy"]
    assert main(["score", str(chat), *words, "-o", str(tmp_path / "out.jsonl"), "--json"]) == 2
    shown = capsys.readouterr()
    assert "5 of 5 scores failed, most often (3): no answer; the first: " in shown.err
    (metric,) = json.loads(shown.out)["metrics"]
    assert metric["reasons"]["failed"] == {"reason": "no answer", "count": 3}


def test_every_exit_status_is_in_the_help_and_the_docs(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    page = (ROOT / "docs" / "commands" / "gate.md").read_text("utf-8")
    for status, meaning in MEANINGS.items():
        assert f"{status} {meaning}" in shown
        assert f"| {status} | {meaning.partition(':')[0]}" in page


@pytest.mark.parametrize(("arguments", "message"), [
    (["score", "nowhere.jsonl"], "nowhere.jsonl: cannot be read: No such file"),
    (["score", "{chat}", "-m", "relevnce"], "did you mean 'relevance'"),
    (["score", "{chat}", "--format", "turn"], "did you mean 'turns'"),
    (["score", "{chat}", "--relevance-model", "gpt"], "model reference 'gpt'"),
    (["score", "{chat}", "--relevance-model", "builtin:x"], "no model 'x' is shipped"),
    (["score", "{chat}", "-o", "/nowhere/out.jsonl"], "written: there is no folder /nowhere\n"),
    (["score", "{chat}", "--report", "/nowhere/r.html"], "/nowhere"),
    (["score", "{chat}", "--plugin", "none.py"], "not a Python file"),
    (["explain"], "nothing to explain"), (["explain", "{chat}"], "is a file: give it as --file"),
    (["explain", "--file", "{chat}", "--id", "t9"], "no conversation with the id 't9'"),
    (["explain", "--file", "{chat}", "--id", "t0", "--turn", "7"], "turns 0 to 2, not 7"),
    (["explain", "a", "b", "--turn", "0"], "--id and --turn need --file"),
    (["explain", "--file", "{broken}"], "no conversation; 1 could not be read, the first: "),
    (["score", "{broken}", "--bad-records", "fail"], "broken.jsonl:1"),
    (["list", "coherense"], "no metric 'coherense'"),
])  # fmt: skip
def test_a_mistake_gets_one_clear_line(chat, capsys, arguments, message):
    broken = chat.with_name("broken.jsonl")
    broken.write_text('{"turns": []}\n')
    places = {"{chat}": str(chat), "{broken}": str(broken)}
    assert main([places.get(word, word) for word in arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


@pytest.fixture
def _interruptible():
    # Where a shell starts the tests in the background, they ignore interrupts, and their children.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interruptible")
def test_an_interrupted_run_is_finished_by_the_same_command(tmp_path):
    big, out = tmp_path / "big.jsonl", tmp_path / "out.jsonl"
    turns = [f"We saw {i} birds over the lake." for i in range(40)]
    big.write_text("".join(json.dumps({"id": str(i), "turns": turns}) + "\n" for i in range(600)))
    words = ["score", str(big), "-m", "log_length,turn_count", "-o", str(out)]
    command = [sys.executable, "-m", "grice", *words]
    state = tmp_path / "out.jsonl.state"
    for stop in (signal.SIGKILL, signal.SIGINT):
        process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        before = state.read_bytes() if state.exists() else b""
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline and process.poll() is None:
            if state.exists() and state.read_bytes() != before:
                break
            time.sleep(0.01)
        os.kill(process.pid, stop)
        _, errors = process.communicate(timeout=300)
        assert not out.exists()
    assert process.returncode == 130
    assert "the same command resumes it" in errors.decode()
    subprocess.run(command, check=True, capture_output=True)
    finished = out.read_bytes()
    subprocess.run([*command[:-1], str(tmp_path / "whole.jsonl")], check=True, capture_output=True)
    assert finished == (tmp_path / "whole.jsonl").read_bytes()
    assert not state.exists()


@pytest.mark.parametrize("words", [
    ["score", "{chat}", "-m", "log_length", "-o", "{chat}"],
    ["score", "{chat}", "-m", "log_length", "--report", "{chat}"],
    ["score", "{folder}", "-m", "log_length", "-o", "{chat}"],
    ["score", "{link}", "-m", "log_length", "-o", "{chat}"], ["perturb", "{chat}", "-o", "{chat}"],
    ["gate", "{chat}", "--min", "relevance=0.1", "--junit", "{chat}"],
    ["compare", "{chat}", "{chat}", "--report", "{chat}"],
    ["calibrate", "{chat}", "{chat}", "-o", "{chat}"],
])  # fmt: skip
def test_no_command_writes_over_what_it_reads(chat, tmp_path, capsys, words):
    before, link = chat.read_bytes(), tmp_path / "link.jsonl"
    link.symlink_to(chat)
    places = {"{chat}": str(chat), "{folder}": str(tmp_path), "{link}": str(link)}
    assert main([places.get(word, word) for word in words]) == 2
    assert "name another output" in capsys.readouterr().err
    assert chat.read_bytes() == before


@pytest.mark.filterwarnings("default")
def test_a_cache_that_cannot_be_used_is_said_in_one_line(chat, tmp_path, capsys):
    assert main(["score", str(chat), "-m", "log_length", "--cache", str(chat / "below")]) == 0
    shown = capsys.readouterr()
    assert len(scores_in(shown.out)) == 5
    [warning] = [line for line in shown.err.splitlines() if "ignored" in line]
    assert warning.startswith("grice: the cache cannot be used and is ignored: ")


def test_a_table_of_figures_is_narrowed_before_it_folds(chat, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["meta-eval", "list"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^ grade_empatheticdialogues +turn ", shown, re.MULTILINE)
    assert "…" not in shown
    out = str(tmp_path / "out.jsonl")
    assert main(["score", str(chat), "-m", "log_length", "-o", out]) == 0
    capsys.readouterr()
    assert main(["compare", out, out]) == 0
    shown = capsys.readouterr().out.splitlines()
    [titles] = [line for line in shown if "metric" in line]
    assert "difference 95 % interval p (Holm)" in " ".join(titles.split())
    [row] = [line for line in shown if line.lstrip().startswith("log_length ")]
    assert "+0.000 – +0.000" in row
    assert row.split()[-1] == "5"


def test_a_speaker_whom_nobody_heard_is_named(chat, capsys):
    assert main(["score", str(chat), "-m", "log_length,coherence", "--speaker", "Ann"]) == 2
    assert "no turn is by Ann" in capsys.readouterr().err
    assert main(["score", str(chat), "-m", "coherence", "--speaker", "Ann"]) == 0
    assert main(["score", str(chat), "-m", "log_length", "--speaker", "A"]) == 0
    assert "no turn" not in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_commands_options_and_files(chat, capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--print-completion", "bash"])
    script = capsys.readouterr().out + (
        'line() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _shtab_grice; '
        'echo "${COMPREPLY[@]}"; }; line grice sc; line grice score --repo; line grice score ch'
    )
    ran = subprocess.run(
        [shutil.which("bash"), "-c", script], cwd=chat.parent, capture_output=True, text=True
    )
    assert ran.stdout.split() == ["score", "--report", "chat.jsonl"], ran.stderr


@pytest.mark.parametrize("command", ["check --rank", "score"])
def test_small_says_once_what_large_finds(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "talk.txt").write_text("Ann: Where were you?\nBob: At home, all day.\n")
    runs = [
        ("state", "", ["-q"]), ("state", "1", []), ("talk.txt", "", []), *[("state", "", [])] * 2,
    ]  # fmt: skip
    said = []
    for state, continuous, options in runs:
        monkeypatch.setenv("GRICE_STATE", state)
        monkeypatch.setenv("CI", continuous)
        assert main([*command.split(), "talk.txt", *options]) == 0
        said.append(capsys.readouterr().err)
    assert ["grice models get large" in text for text in said] == [False] * 3 + [True, False]
    figures = r"large .* \d\.\d\d \[\d\.\d\d, \d\.\d\d\] .* small \d\.\d\d \[\d\.\d\d, \d\.\d\d\]: "
    assert re.search(figures, said[3])
