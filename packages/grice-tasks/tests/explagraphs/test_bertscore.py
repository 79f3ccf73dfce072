from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import ClassVar

import pytest

from grice.cli import main
from grice.errors import GriceError
from grice_tasks.explagraphs.embedding import bert_likeness

GOLD = "(zoos; is a; place)(place; causes; harm)(harm; not desires; bad)"


class FakeScorer:
    """Takes what bert-score 0.3.13 takes, and returns precision, recall and F1 of each pair."""

    made: ClassVar[list[dict[str, object]]] = []
    scored: ClassVar[list[tuple[str, str]]] = []

    def __init__(self, model_type=None, num_layers=None, lang=None):
        if model_type is not None and num_layers is None:
            raise KeyError(model_type)
        FakeScorer.made.append({"model": model_type, "layers": num_layers, "lang": lang})

    def score(self, cands, refs):
        FakeScorer.scored += zip(cands, refs, strict=True)
        scores = [float(a == b) for a, b in zip(cands, refs, strict=True)]
        return [0.0] * len(scores), [0.0] * len(scores), scores


@pytest.fixture
def package(monkeypatch):
    fake = ModuleType("bert_score")
    fake.BERTScorer = FakeScorer
    monkeypatch.setitem(sys.modules, "bert_score", fake)
    FakeScorer.made, FakeScorer.scored = [], []
    return FakeScorer


def test_english_is_the_default_and_a_pair_is_computed_once(package):
    alike = bert_likeness()
    assert [alike("a", "a"), alike("a", "b"), alike("a", "a")] == [1, 0, 1]
    assert package.made == [{"model": None, "layers": None, "lang": "en"}]
    assert package.scored == [("a", "a"), ("a", "b")]


def test_a_folder_needs_its_layer(package):
    bert_likeness("some/folder", 6)
    assert package.made == [{"model": "some/folder", "layers": 6, "lang": None}]
    with pytest.raises(GriceError, match="number of the layer"):
        bert_likeness("some/folder")


def test_the_command_asks_for_the_model_it_was_told(package, tmp_path, capsys):
    path = tmp_path / "s.jsonl"
    line = {"id": "0", "belief": "Zoos are bad.", "argument": "Zoos do harm in a place.",
            "stance": "support", "graph": GOLD}  # fmt: skip
    path.write_text(json.dumps(line) + "\n", "utf-8")
    asked = ["--bertscore", "--bertscore-model", "m", "--bertscore-layer", "4", "--json"]
    assert main(["explagraphs", "score", str(path), str(path), *asked]) == 0
    rows = map(json.loads, capsys.readouterr().out.splitlines())
    values = {(row["row"], row["measure"]): row["value"] for row in rows}
    assert values["s.jsonl", "g_bertscore"] == 1
    assert values["nonsense", "g_bertscore"] == 0
    assert package.made[0]["layers"] == 4


def test_without_the_package_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "bert_score", None)
    with pytest.raises(GriceError, match="pip install bert-score"):
        bert_likeness()
