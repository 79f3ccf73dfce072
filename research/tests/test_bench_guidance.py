"""The bench of guided replies: which systems stand in it, and what is counted of a reply."""

from __future__ import annotations

import gzip
import json
from types import SimpleNamespace

import numpy as np
import pytest

from grice.records import Score
from grice.runtime.stepwise import Chosen
from grice.steer.guide import vocabulary_digest
from grice_research.benches import guidance
from grice_research.context import Skipped
from grice_research.rows import find_task

WORDS = ("tea", "is", "good", "bad", ".", "yes", "no", "so")


class Model:
    """Writes five tokens, the likeliest ones by logits that only know how many were written."""

    identity = "model@1/fast"
    vocabulary = WORDS

    def choose(self, prompts, choosers, *, stop, max_tokens):
        return [self._written(choose) for choose in choosers]

    def _written(self, choose):
        ids = []
        for place in range(5):
            logits = np.roll(np.arange(8, 0, -1), place).astype(np.float32)
            ids.append(choose(logits, ids))
        return Chosen(" ".join(WORDS[token] for token in ids), 5, ended=False)

    def log_probabilities(self, prompts, texts):
        return [-1.0 for _ in texts]


class Guide:
    """Likes one word."""

    settings = SimpleNamespace(base="model@1", vocabulary=vocabulary_digest(WORDS))

    def check(self, model):
        assert model.identity.startswith(self.settings.base)

    def weighed(self, logits, before, strength):
        return logits + strength * np.eye(8, dtype=np.float32)[6]


class Grader:
    def __init__(self, word):
        self.word = word

    def score(self, talks):
        for talk in talks:
            value = float(self.word in talk.turns[-1].text)
            yield Score(talk.id, 1, self.word, value, "ok", None, (), (), self.word)


class Context:
    """Relevance likes "no", every other metric likes "good"."""

    def __init__(self, folder):
        self.folder = folder

    def models(self):
        return SimpleNamespace(open=lambda *_: Model())

    def weights(self, _):
        return self.folder / "guides"

    def grader(self, name):
        return Grader("no" if name == "relevance" else "good"), {}


@pytest.fixture
def context(tmp_path, monkeypatch):
    (tmp_path / "topical_chat").mkdir()
    turns = [{"speaker": "AB"[i % 2], "text": f"tea number {i}"} for i in range(8)]
    talks = "\n".join(json.dumps({"id": f"t{i}", "turns": turns}) for i in range(12))
    for name in ("test_freq", "test_rare"):
        path = tmp_path / "topical_chat" / f"{name}.jsonl.gz"
        path.write_bytes(gzip.compress(talks.encode()))
    (tmp_path / "guides" / "both").mkdir(parents=True)
    monkeypatch.setattr(guidance, "load_guide", lambda _: Guide())
    return Context(tmp_path)


def value(rows, row, measure):
    [figure] = [each for each in rows if (each.row, each.measure) == (row, measure)]
    return figure.estimate.value


def test_contexts_end_before_what_was_said(context):
    contexts = guidance.read_contexts(context.folder, count=10)
    assert len(contexts) == 10
    for each in contexts:
        assert 1 <= len(each.turns) <= 4
        number = int(each.turns[-1].text.split()[-1])
        assert each.reply.text == f"tea number {number + 1}"


def test_what_steers_rises_and_what_does_not_is_told(context):
    rows = list(guidance.measure(context))
    strong = f"guide both, strength {max(guidance.STRENGTHS):g}"
    assert value(rows, "base", "relevance") < 1
    assert value(rows, strong, "relevance") == 1
    assert value(rows, strong, "share better than the base by relevance") > 0.5
    assert value(rows, strong, guidance.REPEATED) == 1
    assert value(rows, strong, "distinct-2 of a reply") < value(
        rows, "base", "distinct-2 of a reply"
    )
    assert value(rows, "base", guidance.PERPLEXITY) == 1


def test_the_best_of_more_costs_more(context):
    rows = list(guidance.measure(context))
    assert value(rows, "base", guidance.CHOSEN_TOKENS) == 5
    assert value(rows, "best of 4", guidance.CHOSEN_TOKENS) == 20


def test_without_a_guide_nothing_is_measured(context):
    (context.folder / "guides" / "both").rmdir()
    with pytest.raises(Skipped, match="grice train guide writes them"):
        list(guidance.measure(context))


@pytest.mark.parametrize(
    ("text", "repeats"),
    [("we went home", 0.0), ("tea is good tea is good tea is good", 1.0), ("tea number 0.", 1.0)],
)
def test_replies_that_repeat_themselves_are_counted(context, text, repeats):
    [first] = guidance.read_contexts(context.folder, count=1)
    turn = first.turns[0].__class__("A", "tea number 0.")
    given = first._replace(turns=(turn,))
    assert guidance.texts_of(Model(), [given], [text])[guidance.REPEATED] == [repeats]


def test_the_bench_is_found():
    assert find_task("guidance").title == guidance.TITLE
