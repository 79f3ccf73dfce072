"""A bench marks figures of metrics whose models were trained on the evaluated texts."""

from __future__ import annotations

import made_sets
from grice.evaluation.trained import record_texts
from grice.scoring import load
from grice_research.context import BenchContext
from grice_research.figures import figures
from grice_research.published import Bench, Table


def test_a_bench_says_so_beside_its_figure(rated_turns, own_relevance, tmp_path, monkeypatch):
    record_texts(own_relevance, made_sets.long_replies(rated_turns))
    monkeypatch.setattr(
        "grice.evaluation.trained.shipped_bundles", lambda: {"relevance": own_relevance}
    )

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
