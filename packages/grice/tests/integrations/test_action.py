"""The GitHub Action: its steps, run in the shell that runs them there."""

import json
import os
import re
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

ROOT = Path(__file__).parents[4]
ACTION = (ROOT / "action.yml").read_text("utf-8")
STEP = re.compile(r"- name: (\w+)\n(?:      .*\n)*?      run: (\|\n(?:        .*\n)+|.*\n)")


def steps():
    for name, run in STEP.findall(ACTION):
        yield name, re.sub(r"^        ", "", run.removeprefix("|\n"), flags=re.MULTILINE)


@pytest.fixture
def shell(tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, words in {"grice": "-m grice", "python": ""}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (programs / name).chmod(0o755)

    def run(name, **inputs):
        script = dict(steps())[name]
        environment = {
            **os.environ, "PATH": f"{programs}:{os.environ['PATH']}",
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"), "FOLDER": "out", **inputs,
        }  # fmt: skip
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        return subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)

    return run


LOG = str(ROOT / "examples" / "convai.jsonl")


@pytest.mark.slow
def test_the_action_checks_scores_and_gates(shell, tmp_path):
    names = ["Install", "Check", "Score", "Compare", "Gate", "Comment"]
    assert [name for name, _ in steps()] == names
    assert re.search(r'  install:\n    description: .*\n    default: ""\n', ACTION)
    checked = shell("Check", FILES=LOG, CHECK="--select T101")
    assert (checked.returncode, checked.stdout.count("::error file=")) == (0, 18), checked.stderr
    scored = shell("Score", FILES=LOG, SCORE="-m log_length --no-cache")
    assert scored.returncode == 0, scored.stderr
    assert (tmp_path / "out" / "report.html").exists()
    passed = shell("Gate", GATE="--min log_length=0.5", FAIL="false")
    assert passed.returncode == 0, passed.stderr
    assert shell("Gate", GATE="--min log_length=9", FAIL="false").returncode == 1
    assert shell("Gate", GATE="", FAIL="true").returncode == 1, "it has findings"
    assert (tmp_path / "out" / "junit.xml").read_text().startswith("<testsuites>")
    summary = (tmp_path / "summary.md").read_text()
    assert "log\\_length" in summary  # as Markdown wants it: an underscore is escaped


class Comments(BaseHTTPRequestHandler):
    """GitHub's comments of one pull request, 100 a page; others have written 120."""

    def do_GET(self):
        page = int(self.path.rpartition("page=")[2])
        self.answer(self.server.comments[100 * (page - 1) : 100 * page])

    def do_POST(self):
        self.server.comments.append(self.comment("Bot", self.given()["body"]))
        self.answer({})

    def do_PATCH(self):
        place = int(self.path.rpartition("/")[2])
        self.server.comments[place]["body"] = self.given()["body"]
        self.answer({})

    def comment(self, kind, body):
        return {"id": len(self.server.comments), "user": {"type": kind}, "body": body}

    def given(self):
        assert self.headers["Authorization"] == "Bearer secret"
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, data):
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(json.dumps(data).encode())

    def log_message(self, *_):
        """Say nothing."""


@pytest.mark.slow
@pytest.mark.enable_socket
def test_a_pull_request_has_one_comment_with_findings_and_comparison(shell, tmp_path):
    talks = [{"id": f"</pre>{i}", "turns": ["Hi?", f"{'so ' * i}{{{{name}}}}"]} for i in range(12)]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, talks)))
    (tmp_path / "event.json").write_text('{"pull_request": {"number": 7}}')
    with HTTPServer(("127.0.0.1", 0), Comments) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        server.status = 200
        server.comments = [
            {"id": i, "user": {"type": "User"}, "body": "<!-- grice -->"} for i in range(120)
        ]
        inputs = {
            "FILES": "log.jsonl", "SCORE": "-m log_length", "CHECK": "", "FAIL": "false",
            "GITHUB_EVENT_PATH": "event.json", "GITHUB_TOKEN": "secret",
            "GITHUB_REPOSITORY": "o/r", "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_API_URL": f"http://127.0.0.1:{server.server_port}",
        }  # fmt: skip
        for name in ("Check", "Score", "Comment", "Compare", "Gate", "Comment"):
            done = shell(name, GATE="--min log_length=0", BASELINE="out/scores.jsonl", **inputs)
            assert done.returncode == 0, (name, done.stderr)
        assert len(server.comments) == 121, "the second run updates the comment of the first"
        body = server.comments[-1]["body"]
        assert "<b>Findings</b>: 12 findings in 24 replies of 12 conversations" in body
        assert "<b>Gate</b>: passed log_length: mean" in body
        assert "no significant difference from the baseline" in body
        assert (body.count("</pre>"), body.count("&lt;/pre&gt;")) == (3, 12)
        server.status = 403  # of a fork
        done = shell("Comment", **inputs)
        assert (done.returncode, "::warning" in done.stdout) == (0, True)
        (tmp_path / "event.json").write_text("{}")
        assert "no pull request" in shell("Comment", **inputs).stdout
        server.shutdown()


def test_the_hook_of_pre_commit_checks_what_is_committed(tmp_path):
    """As pre-commit runs it: the entry, then the files that match."""
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")
    fields = dict(re.findall(r"^(?:- |  )(\w+): (.+)$", hook, re.MULTILINE))
    assert re.search(fields["files"], "logs/a.jsonl")
    assert not re.search(fields["files"], "README.md")
    (tmp_path / "a.jsonl").write_text('{"turns": ["Hi?", "Dear {{name}},"]}\n')
    words = [sys.executable, "-m", *fields["entry"].split(), "a.jsonl"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, "T105" in done.stdout) == (1, True)


@pytest.mark.parametrize(("stated", "installed"), [
    ("", [f"the action's/checkout/packages/{name}" for name in ("grice-models", "grice[stats]")]),
    ("grice[arrow] ./plugin", ["grice[arrow]", "./plugin"]),
])  # fmt: skip
def test_the_action_installs_its_own_checkout(shell, tmp_path, stated, installed):
    python = tmp_path / "bin" / "python"
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    python.chmod(0o755)
    done = shell("Install", INSTALL=stated, GITHUB_ACTION_PATH="the action's/checkout")
    assert done.returncode == 0, done.stderr
    words = done.stdout.splitlines()
    assert words[:3] == ["-m", "pip", "install"]
    assert [word for word in words[3:] if not word.startswith("-")] == installed


def test_records_that_cannot_be_read_are_for_the_gate(shell, tmp_path):
    (tmp_path / "talk.jsonl").write_text('{"turns": ["Hi.", "Hello."]}\n{"turns": 3}\n')
    assert shell("Score", FILES="talk.jsonl", SCORE="-m log_length").returncode == 0
    assert shell("Score", FILES="nothing.jsonl", SCORE="-m log_length").returncode == 1
