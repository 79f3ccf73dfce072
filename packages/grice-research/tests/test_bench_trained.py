import doctest
import shutil

import pytest

import grice_research.training_texts as training_texts
import made_sets
from fake_metrics import loaded
from grice.errors import InputError
from grice.scoring import load
from grice_research.context import BenchContext
from grice_research.figures import figures
from grice_research.published import Bench, Table
from grice_research.training_texts import record_texts, trained_on, trained_share


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Record into a copy of the table."""
    own = tmp_path / "training_overlap.tsv"
    shutil.copy(training_texts.TABLE, own)
    monkeypatch.setattr(training_texts, "TABLE", own)
    training_texts._read.cache_clear()
    yield own
    training_texts._read.cache_clear()


def signature_of(metric):
    with load(metric) as grader:
        return grader.signatures[metric]


def test_the_record_of_what_ships_has_shares():
    assert doctest.testmod(training_texts).failed == 0
    rows = training_texts._read()
    assert {row.kind for row in rows} == {"trained", "chosen"}
    assert all(0 <= row.share <= 1 and row.texts > 0 for row in rows)
    signature = signature_of("relevance")
    assert trained_share(signature, "dbdc3") > 0
    assert trained_share(signature.replace("relevance@", "relevance@0"), "nothing") == 0


def test_a_recipe_records_the_share_of_each_set(rated_turns, own_relevance, table, tmp_path):
    replies = made_sets.long_replies(rated_turns)
    rows = record_texts(own_relevance, [text.upper() for text in replies], tmp_path)
    assert [row.set for row in rows] == ["fed_turn"]
    signature = signature_of("relevance")
    assert trained_share(signature, "fed_turn") == pytest.approx(rows[0].share, abs=1e-4)
    assert "relevance was trained on about" in trained_on(signature, "fed_turn")
    before = len(table.read_text().splitlines())
    record_texts(own_relevance, ["Nothing that any set has said."], tmp_path, kind="chosen")
    assert len(table.read_text().splitlines()) <= before
    assert record_texts(own_relevance, [], tmp_path) == []
    assert trained_on(signature, "fed_turn") == ""
    with pytest.raises(InputError, match="no evaluated set"):
        record_texts(own_relevance, ["Some words of no set at all."], tmp_path / "none")


def test_a_bench_says_so_beside_its_figure(rated_turns, own_relevance, table, tmp_path):
    record_texts(own_relevance, made_sets.long_replies(rated_turns), tmp_path)

    names = ("relevance", "log_length")
    printed = Table(id="table 1", column_lines=("fed_turn:overall | spearman | 40",),
                    row_lines="Theirs | -0.99\n", ours=dict.fromkeys(names, "Theirs"))  # fmt: skip
    context = BenchContext(tmp_path, loaded, names)
    bench = Bench(title="T", paper="P", name="small", tables=(printed,))
    why = {figure.row: figure.why for figure in figures(bench, context) if figure.kind == "ours"}
    assert "relevance was trained on about 100 %" in why["relevance (ours)"]
    assert "trained" not in why["log_length (ours)"]
