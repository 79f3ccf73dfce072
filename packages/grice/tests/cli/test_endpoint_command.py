"""``grice score`` with judges: what it says before it sends, and what a limit leaves behind."""

import json

import pytest

from grice.cli import main
from stub_endpoint import StubEndpoint

pytestmark = pytest.mark.enable_socket
REPLIES = 40


@pytest.fixture(autouse=True)
def talks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("CACHE", "CONFIG"):
        monkeypatch.setenv(f"GRICE_{name}", str(tmp_path / name))
    lines = [json.dumps({"turns": ["Hi", f"No {i}"], "targets": [1]}) for i in range(REPLIES)]
    (tmp_path / "talks.jsonl").write_text("\n".join(lines) + "\n")


def score(server, *words):
    options = ("-m", "judge_relevance", "--models", server.model)
    return main(["score", "talks.jsonl", *options, *words])


def test_a_dry_run_sends_and_writes_nothing(tmp_path, capsys):
    with StubEndpoint() as server:
        assert score(server, "--dry-run", "-o", "out.jsonl") == 0
        assert (score(server, "--dry-run", "--json"), server.requests) == (0, [])
    shown = capsys.readouterr().out
    assert "40 requests" in shown
    planned = json.loads(shown.splitlines()[-1])
    assert planned["prompt_tokens"] > planned["completion_tokens"] > 0
    assert not (tmp_path / "out.jsonl").exists()


def test_a_limit_ends_the_run_and_the_same_command_goes_on(tmp_path, capsys):
    with StubEndpoint() as server:
        assert score(server, "-o", "whole.jsonl", "--cache", "another", "--timeout", "30") == 0
        assert score(server, "-o", "out.jsonl", "--limit-requests", "25") == 2
        assert "the limit of 25 requests is reached" in capsys.readouterr().err
        assert not (tmp_path / "out.jsonl").exists()
        assert score(server, "-o", "out.jsonl", "--limit-requests", "25") == 0
        assert len(server.requests) == 2 * REPLIES
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


@pytest.mark.parametrize("words", [("--limit-requests", "much"), ("--concurrency", "0")])
def test_what_cannot_be_used_is_said_before_anything_is_sent(words, capsys):
    with StubEndpoint() as server:
        with pytest.raises(SystemExit, match="2"):
            score(server, *words)
        assert server.requests == []
    assert "an integer of 1 or more" in capsys.readouterr().err
