"""The bench of preferred replies: by set, and where people prefer the longer or the shorter one."""

from __future__ import annotations

import gzip
import json

import pytest

from grice.errors import InputError
from grice.metrics.registry import find_metrics
from grice.records import Score
from grice_research.benches import preferences
from grice_research.rows import find_task

ROWS = {
    "pandalm_test": [
        {"chosen": "four words are here", "rejected": "two words"},
        {"chosen": "one", "rejected": "now two words"},
        {"chosen": "equally long", "rejected": "just so"},
        {"chosen": "a tie", "rejected": "of two", "tie": True},
        {"chosen": "fine", "rejected": "<nooutput>"},
    ],
    "autoj_pairwise": [
        {"chosen": "Hello, how are you?", "rejected": "Hi.", "category": "chitchat"},
        {"chosen": "x = 1", "rejected": "y", "category": "code_generation"},
    ],
    "llmeval2": [{"chosen": "yes it is", "rejected": "no"}],
    "rm_bench_chat": [{"chosen": "right", "rejected": "wrong now", "category": "hard"}],
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "llm_pairs").mkdir()
    for name, rows in ROWS.items():
        context = [{"speaker": "user", "text": "Well?"}]
        lines = [json.dumps({"id": name, "context": context, **row}) for row in rows]
        path = tmp_path / "llm_pairs" / f"{name}.jsonl.gz"
        path.write_bytes(gzip.compress("\n".join(lines).encode()))
    return tmp_path


class Grader:
    """Prefers what has fewer letters; ``log_length`` what has more words."""

    def __init__(self, name, *, fails=False):
        self.name, self.fails = name, fails

    def score(self, talks):
        for talk in talks:
            text = talk.turns[-1].text
            value = float(len(text.split())) if self.name == "log_length" else -float(len(text))
            yield Score(talk.id, 1, self.name, None if self.fails else value, "ok", None, (), (),
                        self.name)  # fmt: skip


class Context:
    def __init__(self, folder, *, fails=False):
        self.folder, self.fails, self.without = folder, fails, ()

    def grader(self, name):
        return Grader(name, fails=self.fails), {name: f"{name}:1"}


def share(rows, row, on):
    [row_on] = [r for r in rows if (r.row, r.measure, r.on) == (row, preferences.RIGHT, on)]
    return row_on.estimate.value, row_on.estimate.n


def test_pairs_are_told_apart_by_whether_people_prefer_the_longer(folder):
    rows = list(preferences.measure(Context(folder)))
    assert share(rows, "log_length", "PandaLM: people prefer the longer") == (1.0, 1)
    assert share(rows, "log_length", "PandaLM: people prefer the shorter") == (0.0, 1)
    assert share(rows, "log_length", "PandaLM: lengths within a tenth") == (0.5, 1)
    assert share(rows, "relevance", "PandaLM: people prefer the shorter") == (1.0, 1)


def test_ties_empty_replies_and_prompts_that_are_no_conversation_are_left_out(folder):
    rows = list(preferences.measure(Context(folder)))
    assert share(rows, "log_length", "PandaLM")[1] == 3
    assert share(rows, "log_length", "Auto-J, conversation") == (1.0, 1)
    assert share(rows, "log_length", "RM-Bench: hard") == (0.0, 1)


def test_what_rerank_chooses_by_stands_beside_the_metrics(folder):
    rows = list(preferences.measure(Context(folder)))
    assert share(rows, preferences.BLEND, "PandaLM: people prefer the shorter") == (1.0, 1)
    names = {row.row for row in rows}
    assert "relevance less log_length" in names
    signed = next(row.signature for row in rows if row.row == preferences.BLEND)
    assert signed == "+".join(f"{name}:1" for name in find_metrics().defaults()) + "|on:llm_pairs"


def test_a_metric_that_fails_stops_the_bench(folder):
    with pytest.raises(InputError, match="failed on"):
        list(preferences.measure(Context(folder, fails=True)))


def test_the_bench_is_found():
    assert find_task("preferences").title == preferences.TITLE
