"""``grice kb`` and triples of your own, as a user sees them."""

import json
import re
from pathlib import Path

import pytest

from grice.cli import main
from grice.knowledge.schema import load_schema
from grice.models.embedded import EmbeddedEncoder

CAKE = ("PersonX bakes a cake", "xWant", "to share it with the neighbours")
TALKS = {
    "lost": ["How was your day?", "I lost my keys and I feel happy."],
    "rain": ["Did you go out?", "It was raining so I stayed at home and read a book."],
    "race": ["Who won?", "I ran a race and I felt proud of my time."],
}


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    return tmp_path


@pytest.fixture
def grice(capsys):
    def running(*words):
        status, captured = main(list(words)), capsys.readouterr()
        assert max((len(line) for line in captured.out.splitlines()), default=0) <= 80 or (
            "--json" in words
        )
        return status, captured.out, captured.err

    return running


@pytest.fixture
def talks(workplace):
    lines = [
        {"id": name, "targets": [1],
         "turns": [{"speaker": "AB"[i], "text": text} for i, text in enumerate(turns)]}
        for name, turns in TALKS.items()
    ]  # fmt: skip
    (workplace / "talks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return "talks.jsonl"


def own(path, *triples):
    Path(path).write_text("".join("\t".join(triple) + "\n" for triple in triples), "utf-8")


def scores_in(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_the_shipped_knowledge_can_be_looked_into(grice):
    def rows(*words):
        return [json.loads(line) for line in grice("kb", *words, "--json")[1].splitlines()]

    assert "236,814" in grice("kb", "info")[1]
    [facts] = rows("info")
    assert facts["relations"].keys() == set(load_schema("atomic2020").group("accent"))
    tails = rows("tails", "PersonX bakes the cake", "xWant", "-k", "3")
    assert [tail["head"] for tail in tails].index("PersonX bakes the cake") == 0
    assert len(tails) == 3
    for row in rows("find", "bakes", "cake", "-k", "2"):
        assert "cake" in f"{row['head']} {row['tail']}"
    found = rows("find", "--exact", "personx bakes the CAKE", "-k", "2")
    assert {row["head"] for row in found} == {"PersonX bakes the cake"}
    like = ("--like", "to have dessert", "-k", "2")
    first, second = rows("tails", "PersonX bakes a cake", "xWant", *like)
    assert first["tail"] == "to eat dessert"
    assert first["tail_similarity"] > second["tail_similarity"]
    assert "cake" in grice("kb", "find", "--near", "PersonX", "bakes", "cakes", "-k", "2")[1]


def test_triples_of_your_own_are_merged_with_the_shipped_ones(grice):
    own("my.tsv", (*CAKE, "ann"), ("PersonX bakes the cake", "xWant", "to eat dessert"))
    _, out, _ = grice("kb", "tails", CAKE[0], CAKE[1], "--kb", "my.tsv", "-k", "4")
    assert "to share it" in out
    assert "ann" in out
    assert "atomic2018" in out
    _, out, _ = grice("kb", "find", "neighbour", "--kb", "my.tsv", "-k", "1")
    assert out.split()[-1] == "ann"
    _, out, _ = grice("kb", "info", "my.tsv", "--json")
    facts = json.loads(out)
    assert facts["triples"] == 236_815
    assert facts["identity"].startswith("my@")
    assert "+atomic@" in facts["identity"]
    assert facts["sources"]["ann"] == 1


@pytest.mark.parametrize(("words", "message"), [
    (["tails", "PersonX runs", "xwant"], "did you mean 'xWant'"),
    (["tails", "PersonX runs", "xWant", "--kb", "none.tsv"], "none.tsv: no such file"),
    (["info", "wrong.tsv"], "no relation 'xWnt'; did you mean 'xWant'?"),
    (["info", "builtin:atmic"], "did you mean 'atomic'"),
    (["info", "builtin:encoder"], "is not a knowledge base"),
    (["find", " "], "no search words"), (["tails", " ", "xWant"], "empty head"),
])  # fmt: skip
def test_what_cannot_be_done_says_so(grice, words, message):
    own("wrong.tsv", CAKE, ("PersonX runs", "xWnt", "to rest"))
    status, _, err = grice("kb", *words)
    assert status == 2
    assert message in " ".join(err.split())


def test_knowledge_moves_the_scores_it_touches_and_no_others(grice, workplace, talks, monkeypatch):
    score = ("score", talks, "-m", "commonsense", "--cache", "answers")
    given = ("--commonsense-knowledge", "my.tsv")
    sings = ("PersonX sings", "xWant", "to dance")
    own("my.tsv", sings)
    assert grice(*score, *given, "-o", "before.jsonl")[0] == 0
    before = scores_in(workplace / "before.jsonl")
    assert grice(*score, "-o", "shipped.jsonl")[0] == 0
    for line, other in zip(scores_in(workplace / "shipped.jsonl"), before, strict=True):
        assert (line["value"], line["evidence"]) == (other["value"], other["evidence"])
    lost = next(row for row in before if row["conversation"] == "lost")
    triples = [each["triple"] for each in lost["evidence"] if each["kind"] == "triple"]
    happy = next(triple for triple in triples if "happy" in triple["tail"])
    own("my.tsv", sings, (happy["head"], happy["relation"], happy["tail"], "a dream"))

    encoded, real = [], EmbeddedEncoder._forward

    def watched(self, texts, use):
        encoded.extend(texts)
        return real(self, texts, use)

    monkeypatch.setattr(EmbeddedEncoder, "_forward", watched)
    assert grice(*score, *given, "-o", "after.jsonl")[0] == 0
    assert set(encoded) <= {"he sings"}, "heads of your own at most; nothing that was said"

    after = scores_in(workplace / "after.jsonl")
    for line, other in zip(after, before, strict=True):
        assert line["signature"] != other["signature"], "other knowledge, another signature"
        untouched = line["conversation"] != "lost"
        assert (line["value"] == other["value"]) == untouched
        assert not untouched or line["evidence"] == other["evidence"]
    known = [evidence["known"] for evidence in after[0]["evidence"] if evidence["kind"] == "triple"]
    assert "a dream" in {entry["source"] for entry in known}
    assert after[0]["value"] > lost["value"]


def test_what_would_lift_a_low_score_is_tried_out(grice):
    words = ("explain", *TALKS["lost"], "-m", "commonsense")
    _, out, _ = grice(*words, "--what-if", "--json")
    score, *changes = [json.loads(line) for line in out.splitlines()]
    best = next(change for change in changes if change["kind"] == "knowledge")
    assert best["value"] == pytest.approx(score["value"] + best["lift"])
    assert changes == sorted(changes, key=lambda change: -change["lift"])
    own("my.tsv", re.split(" —|→ ", best["change"]))
    _, out, _ = grice(*words, "--commonsense-knowledge", "file:my.tsv", "--json")
    assert json.loads(out)["value"] == pytest.approx(best["value"], abs=1e-12)
    _, out, _ = grice(*words, "--what-if")
    assert "changes that would raise commonsense" in out
    assert "knowing: " in out
    _, out, _ = grice("explain", "Hm?", "Ok.", "-m", "commonsense", "--what-if")
    assert "none of the changes that were tried" in out
