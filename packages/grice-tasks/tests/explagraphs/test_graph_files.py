"""Files of graphs from Python, as the command takes them."""

from __future__ import annotations

import json

import pytest

from grice.errors import InputError
from grice_tasks.explagraphs.files import (
    ScoreOptions,
    describe_graphs,
    draw_sample,
    read_graphs,
    samples_to_explain,
    score_files,
    score_files_by_shape,
)

GRAPH = "(zoos; has property; cages)(cages; causes; suffering)(suffering; desires; abolished)"


@pytest.fixture
def files(tmp_path):
    samples, predictions = tmp_path / "gold.jsonl", tmp_path / "system.jsonl"
    texts = {"belief": "Zoos should be abolished.", "argument": "Animals live in cages."}
    gold = [{"id": name, **texts, "stance": "support", "graph": GRAPH} for name in "abc"]
    samples.write_text("".join(f"{json.dumps(line)}\n" for line in gold))
    answers = [{"id": name, "stance": "support", "graph": GRAPH} for name in "ab"]
    predictions.write_text("".join(f"{json.dumps(line)}\n" for line in answers))
    return samples, predictions


def test_files_are_scored_beside_the_baselines(files):
    rows, total = score_files(*files, ScoreOptions(gate="none"))
    assert [row.name for row in rows][:2] == ["system.jsonl", "nonsense"]
    assert (rows[0].missing, total) == (1, 3)
    assert rows[0].measures["g_bleu"].value == 1


def test_files_are_scored_by_shape(files):
    scores = score_files_by_shape(*files)
    assert (scores.missing, scores.total) == (1, 3)
    assert set(scores.parts) == {"depth 1 to 3", "linear"}


def test_each_graph_stands_with_its_sample(files):
    assert [item.sample.id for item in read_graphs(files[0])] == ["a", "b", "c"]
    assert [item.sample.id for item in read_graphs(*files)] == ["a", "b"]
    assert describe_graphs(read_graphs(*files)).shapes.n == 2
    assert draw_sample(read_graphs(*files), "b").startswith("<svg")
    with pytest.raises(InputError, match="no graph of a sample 'c'"):
        draw_sample(read_graphs(*files), "c")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None, None, None), "give either SAMPLES"),
        ((None, "Zoos are bad.", None), "belong together"),
    ],
)
def test_what_to_explain_is_stated_once_and_whole(arguments, message):
    with pytest.raises(InputError, match=message):
        samples_to_explain(*arguments)
