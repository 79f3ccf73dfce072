"""``make portability``: where the promise is broken the status says so, and the page how far."""

import json
import os
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest

pytest.importorskip("scipy", reason="rank correlations need scipy")

METRICS = ("coherence", "commonsense", "engagement", "relevance", "repetition", "sensibleness")
KERNELS = {"ctranslate2": "AVX2, float32 DNNL, int8 DNNL"}


@pytest.fixture
def bench(monkeypatch, tmp_path):
    """The bench with three environments, whose processes do what a test says."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "bench"))
    import portability

    new = portability.Environment
    tried = [new(), new(workers=2), new("OMP_NUM_THREADS=4", tested=True)]
    tried += [new("CT2_FORCE_CPU_ISA=AVX9000", ("AVX-9000",))]
    monkeypatch.setattr(portability, "environments", lambda: tried)
    monkeypatch.setattr(portability, "PAGE", tmp_path / "portability.md")
    monkeypatch.setattr(os, "nice", lambda _: 0)
    yield portability
    for name in ("portability", "machine"):
        sys.modules.pop(name, None)


def doctor(differing=0, problems=()):
    tried = [{"metric": "relevance", "differing": differing}]
    return CompletedProcess([], 0, json.dumps({"arrangements": tried, "problems": problems}), "")


def write_scores(path, shift=0.0):
    rows = [
        {"metric": metric, "value": i / 8 + (shift if i == 5 else 0), "status": "ok",
         "signature": f"{metric}:1|model:relevance@12345678+encoder@9abcdef0|mode:fast"}
        for metric in METRICS
        for i in range(6)
    ]  # fmt: skip
    Path(path).write_text("\n".join(map(json.dumps, rows)))
    return CompletedProcess([], 0, "", "")


def outcome(bench, monkeypatch, answers):
    """Return exit status and page where each kind of process answers so in an environment."""

    def call(environment, *words):
        if len(words) == 1:
            return CompletedProcess([], 0, json.dumps({"kernels": KERNELS}), "")
        kind = words[2] if words[1] == "grice" else "pytest"
        usual = {"doctor": doctor, "pytest": lambda: CompletedProcess([], 0, "9 passed", "")}
        usual["score"] = lambda: write_scores(words[-1])
        special = answers.get((kind, environment.name))
        return special(words) if special else usual[kind]()

    monkeypatch.setattr(bench, "call", call)
    with pytest.raises(SystemExit) as end:
        bench.main()
    return end.value.code, bench.PAGE.read_text("utf-8")


THREADS = "`OMP_NUM_THREADS=4`"


def test_a_promise_that_is_kept_everywhere(bench, monkeypatch):
    status, page = outcome(bench, monkeypatch, {})
    assert status == 0
    assert "holds in 3 of 3 environments" in page
    assert "none in `fast`, none in `exact`" in page
    assert f"| {THREADS} | ctranslate2: {KERNELS['ctranslate2']} | kept | kept | passed |" in page
    assert "Not on this processor: `CT2_FORCE_CPU_ISA=AVX9000`." in page
    assert "- models: encoder@9abcdef0, relevance@12345678" in page


@pytest.mark.parametrize(("kind", "where", "answer", "message"), [
    ("doctor", THREADS, lambda _: doctor(differing=3), "| broken: relevance |"),
    ("doctor", THREADS, lambda _: doctor(problems=["no model"]), "| no model |"),
    ("doctor", "2 workers", lambda _: CompletedProcess([], -6, "", "x\nabort"), "-6: abort"),
    ("pytest", THREADS, lambda _: CompletedProcess([], 1, "FAILED a.py::b - c", ""),
     "| failed: a.py::b |"),
    ("score", "2 workers", lambda words: write_scores(words[-1], shift=1e-9), "1e-09"),
    ("score", THREADS, lambda _: CompletedProcess([], 3, "", ""), "not scored"),
])  # fmt: skip
def test_a_broken_promise_changes_the_status(bench, monkeypatch, kind, where, answer, message):
    status, page = outcome(bench, monkeypatch, {(kind, where): answer})
    assert status == 1
    assert "holds in 2 of 3 environments" in page
    assert message in page


def test_the_tests_that_it_runs_are_there(bench):
    assert [test for test in bench.TESTS if not (bench.ROOT / test).is_file()] == []
