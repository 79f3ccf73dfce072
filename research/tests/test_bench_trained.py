"""A bench marks figures of metrics whose models were trained on the evaluated texts."""

from __future__ import annotations

import shutil

import pytest

import made_sets
from grice.evaluation.datasets import known_sets, load_rated
from grice.evaluation.trained import record_texts
from grice.runtime.bundle import shipped_bundles
from grice.scoring import load
from grice_research.context import BenchContext
from grice_research.figures import figures
from grice_research.published import Bench, Table


@pytest.fixture
def rated(tmp_path):
    made_sets.fed_turn(tmp_path)
    return load_rated(known_sets()["fed_turn"], tmp_path)


@pytest.fixture
def made(tmp_path):
    """A relevance bundle of one's own, whose training texts a test records."""
    folder = tmp_path / "made"
    shutil.copytree(shipped_bundles()["relevance"], folder)
    return folder


def long_replies(rated):
    replies = [item.conversation.turns[-1].text for item in rated.items]
    return list(dict.fromkeys(reply for reply in replies if len(reply.split()) >= 5))


def test_a_bench_says_so_beside_its_figure(rated, made, tmp_path, monkeypatch):
    record_texts(made, long_replies(rated))
    monkeypatch.setattr("grice.evaluation.trained.shipped_bundles", lambda: {"relevance": made})

    def loaded(names):
        grader = load(*names)
        return grader, grader.signatures

    names = ("relevance", "log_length")
    table = Table(
        id="table 1",
        column_lines=("fed_turn:overall | spearman | 40",),
        row_lines="Theirs | -0.99\n",
        ours=dict.fromkeys(names, "Theirs"),
    )
    context = BenchContext(tmp_path, loaded, names)
    bench = Bench(title="T", paper="P", name="small", tables=(table,))
    why = {figure.row: figure.why for figure in figures(bench, context) if figure.kind == "ours"}
    assert "relevance was trained on about 100 %" in why["relevance (ours)"]
    assert "trained" not in why["log_length (ours)"]
