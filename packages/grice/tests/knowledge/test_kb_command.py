"""``grice kb``, and what editing knowledge does to scores, as a user sees it."""

from __future__ import annotations

import json
import sqlite3

import pytest

from grice.cli import main
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
        status = main(list(words))
        captured = capsys.readouterr()
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


def scores_in(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_the_shipped_knowledge_can_be_looked_into(grice):
    _, out, _ = grice("kb", "info")
    assert "triples: 236,814" in out
    assert "HinderedBy" in out
    _, out, _ = grice("kb", "tails", "PersonX bakes the cake", "xWant", "-k", "3", "--json")
    tails = [json.loads(line) for line in out.splitlines()]
    assert len(tails) == 3
    assert tails[0]["head"] == "PersonX bakes the cake"
    _, out, _ = grice("kb", "find", "bakes", "cake", "-k", "2", "--json")
    for line in out.splitlines():
        triple = json.loads(line)
        assert "cake" in f"{triple['head']} {triple['tail']}"
    _, out, _ = grice("kb", "find", "--exact", "personx bakes the CAKE", "-k", "2", "--json")
    assert {json.loads(line)["head"] for line in out.splitlines()} == {"PersonX bakes the cake"}
    _, out, _ = grice("kb", "tails", "PersonX bakes a cake", "xWant", "--like", "to have dessert",
                      "-k", "2", "--json")  # fmt: skip
    first, second = (json.loads(line) for line in out.splitlines())
    assert first["tail"] == "to eat dessert"
    assert first["tail_similarity"] > second["tail_similarity"]
    _, out, _ = grice("kb", "find", "--near", "PersonX", "bakes", "cakes", "-k", "2")
    assert "cake" in out
    status, out, _ = grice("kb", "verify")
    assert (status, "whole" in out) == (0, True)


def test_the_shipped_knowledge_is_never_changed(grice):
    status, _, err = grice("kb", "add", *CAKE)
    assert status == 2
    assert "name a file of your own with --to MY.kb" in err
    assert grice("kb", "remove", *CAKE, "--to", "bundle:atomic")[0] == 2


def test_a_file_of_your_own_lies_on_the_shipped_knowledge(grice, workplace):
    assert grice("kb", "add", *CAKE, "--to", "my.kb", "--who", "ann")[0] == 0
    _, out, _ = grice("kb", "tails", CAKE[0], CAKE[1], "--kb", "my.kb", "-k", "4")
    assert "to share it with the" in out
    assert "ann" in out
    assert "atomic2018" in out
    _, out, _ = grice("kb", "find", "neighbour", "--kb", "my.kb", "-k", "1")
    assert "ann, add by ann, 2026-01-01T00:00:00Z" in out
    assert grice("kb", "edit", *CAKE, "to give it away", "--to", "my.kb", "--who", "bob")[0] == 0
    assert grice("kb", "remove", "PersonX bakes the cake", "xWant", "to eat dessert",
                 "--to", "my.kb", "--who", "bob")[0] == 0  # fmt: skip
    _, out, _ = grice("kb", "info", "my.kb")
    assert "on top of: bundle:atomic" in out
    assert "triples: 236,814" in out
    assert "bob edit PersonX bakes a cake —xWant→ to give it away (was: to share" in " ".join(
        out.split()
    )
    status, out, _ = grice("kb", "verify", "my.kb")
    assert (status, "whole" in out) == (0, True)
    _, out, _ = grice("kb", "info", "my.kb", "--json")
    facts = json.loads(out)
    assert (facts["own triples"], facts["taken out below"]) == (1, 1)
    assert [change["action"] for change in facts["changes"]] == ["remove", "edit", "add"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["add", "PersonX runs", "xWnt", "to rest", "--to", "my.kb"], "did you mean 'xWant'"),
        (
            ["add", "PersonX runs", "xWant", "--to", "my.kb"],
            "HEAD RELATION TAIL are three, found 2",
        ),
        (["add", "PersonX runs", "xWant", " ", "--to", "my.kb"], "empty tail"),
        (["add", "--to", "my.kb"], "give either HEAD RELATION TAIL or --from FILE"),
        (["tails", "PersonX runs", "xwant"], "did you mean 'xWant'"),
        (["tails", "PersonX runs", "xWant", "--kb", "none.kb"], "none.kb: no such file"),
        (["info", "bundle:atmic"], "did you mean 'atomic'"),
        (["info", "bundle:encoder"], "holds no known triples"),
        (["remove", *CAKE, "--to", "new.kb"], "is not there"),
        (["find", " "], "nothing to find: give words"),
        (["tails", " ", "xWant"], "empty head"),
        (["add", *CAKE, "--to", "."], "a folder, not a file of knowledge"),
    ],
)
def test_what_cannot_be_done_says_so(grice, workplace, words, message):
    status, _, err = grice("kb", *words)
    assert status == 2
    assert message in err
    assert not list(workplace.glob("*.kb"))


def test_a_file_is_built_from_files_and_counts_what_it_left_out(grice, workplace):
    (workplace / "a.tsv").write_text(
        "PersonX runs\txWant\tto rest\nPersonX runs\txWant\tnone\nPersonX runs\txWnt\tto win\n"
        "PersonX sits\txWnt\tto stand\n"
    )
    (workplace / "b.tsv").write_text("PersonX runs\txWant\tto rest\nPersonX runs\txAttr\tfit\n")
    status, out, err = grice("kb", "build", "a.tsv", "b.tsv", "-o", "my.kb")
    assert status == 4, "rows that could not be used"
    assert "my.kb: 2 triples" in out
    assert "left out, said twice: 1" in out
    assert "left out, tail says none: 1" in out
    assert "a.tsv:3: unknown relation 'xWnt'; did you mean 'xWant'? (2 such rows)" in " ".join(
        out.split()
    )
    assert "a.tsv: atomic2020, read with the relations of atomic2020" in err
    status, _, err = grice("kb", "build", "b.tsv", "-o", "my.kb")
    assert (status, "is there already" in err) == (2, True)
    status, out, _ = grice("kb", "build", "b.tsv", "-o", "my.kb", "--replace", "--json")
    assert status == 0
    assert json.loads(out)["triples"] == 2
    status, out, _ = grice("kb", "add", "--from", "a.tsv", "--to", "my.kb")
    assert status == 2, "one broken row and nothing is added"
    assert json.loads(grice("kb", "info", "my.kb", "--json")[1])["triples"] == 2
    (workplace / "c.tsv").write_text("PersonX eats\txWant\tto sleep\n")
    assert "1 added, 0 were there" in grice("kb", "add", "--from", "c.tsv", "--to", "my.kb")[1]


def test_files_on_top_of_each_other_can_move_together(grice, workplace, monkeypatch):
    (workplace / "a.tsv").write_text("PersonX runs\txWant\tto rest\n")
    grice("kb", "build", "a.tsv", "-o", "below.kb")
    grice("kb", "build", "a.tsv", "-o", "own.kb", "--on", "below.kb")
    assert grice("kb", "add", "PersonX runs", "xWant", "to win", "--to", "own.kb")[0] == 0
    (workplace / "moved").mkdir()
    for name in ("below.kb", "own.kb"):
        (workplace / name).rename(workplace / "moved" / name)
    _, out, _ = grice("kb", "tails", "PersonX runs", "xWant", "--kb", "moved/own.kb", "--json")
    assert [json.loads(line)["tail"] for line in out.splitlines()] == ["to win", "to rest"]
    assert grice("kb", "add", "PersonX runs", "xAttr", "fit", "--to", "moved/below.kb")[0] == 0
    status, out, _ = grice("kb", "verify", "moved/own.kb")
    assert (status, "made on top of below@" in out) == (1, True)


def test_a_changed_file_is_found_by_verify_and_refused_by_score(grice, workplace, talks):
    grice("kb", "add", *CAKE, "--to", "my.kb")
    connection = sqlite3.connect("my.kb")
    with connection:
        connection.execute("UPDATE texts SET text = 'to keep it' WHERE id = 2")
    connection.close()
    status, out, _ = grice("kb", "verify", "my.kb")
    assert status == 1
    assert "changed by something other than grice: rows 0 to 1023 of the table" in " ".join(
        out.split()
    )
    status, _, err = grice(
        "score", talks, "-m", "commonsense", "--commonsense-knowledge", "file:my.kb"
    )
    assert (status, "changed by something other than grice" in err) == (2, True)


def test_editing_knowledge_moves_the_scores_it_touches_and_no_others(
    grice, workplace, talks, monkeypatch
):
    score = ("score", talks, "-m", "commonsense", "--cache", "answers")
    own = ("--commonsense-knowledge", "file:my.kb")
    grice("kb", "add", "PersonX sings", "xWant", "to dance", "--to", "my.kb")
    assert grice(*score, *own, "-o", "before.jsonl")[0] == 0
    before = scores_in(workplace / "before.jsonl")
    lost = next(row for row in before if row["conversation"] == "lost")
    triple = next(
        evidence["triple"] for evidence in lost["evidence"]
        if evidence["kind"] == "triple" and "happy" in evidence["triple"]["tail"]
    )  # fmt: skip
    new = (triple["head"], triple["relation"], triple["tail"])
    assert grice("kb", "add", *new, "--to", "my.kb", "--source", "a dream")[0] == 0

    encoded = []
    for name in ("encode", "hidden"):
        real = getattr(EmbeddedEncoder, name)

        def watched(self, texts, real=real):
            encoded.extend(texts)
            return real(self, texts)

        monkeypatch.setattr(EmbeddedEncoder, name, watched)
    assert grice(*score, *own, "-o", "after.jsonl")[0] == 0
    assert set(encoded) <= {"he sings"}, "heads of your own at most; nothing that was said"

    after = scores_in(workplace / "after.jsonl")
    moved = [a["conversation"] for a, b in zip(after, before, strict=True)
             if a["value"] != b["value"]]  # fmt: skip
    assert moved == ["lost"]
    for line, other in zip(after, before, strict=True):
        assert line["signature"] != other["signature"], "other knowledge, another signature"
        if line["conversation"] != "lost":
            assert line["evidence"] == other["evidence"]
    known = [evidence["known"] for evidence in after[0]["evidence"] if evidence["kind"] == "triple"]
    assert "a dream" in {entry["source"] for entry in known}
    assert after[0]["value"] > lost["value"]

    status, _, err = grice("compare", "before.jsonl", "after.jsonl")
    assert (status, "was not computed alike" in err) == (2, True)
    status, out, _ = grice("compare", "before.jsonl", "after.jsonl", "--across-signatures")
    assert status == 0
    assert "moved most in commonsense\n  +" in out
    assert " ".join(f"{new[0]} —{new[1]}→ {new[2]}".split()) in " ".join(out.split())


def test_knowledge_of_other_relations_is_a_reason_and_no_number(grice, workplace, talks):
    (workplace / "cn.tsv").write_text("UsedFor\tkey\topen door\n")
    grice("kb", "build", "cn.tsv", "-o", "cn.kb")
    status, out, _ = grice(
        "score", talks, "-m", "commonsense", "--commonsense-knowledge", "file:cn.kb", "--json"
    )
    assert status == 2, "no score could be computed"
    for score in map(json.loads, out.splitlines()):
        assert (score["status"], score["value"]) == ("failed", None)
        assert "schema 'conceptnet' has no relation" in score["reason"]


def test_what_would_lift_a_low_score_is_tried_out(grice):
    words = ("explain", *TALKS["lost"], "-m", "commonsense")
    _, out, _ = grice(*words, "--what-if", "--json")
    score, *changes = [json.loads(line) for line in out.splitlines()]
    best = next(change for change in changes if change["kind"] == "knowledge")
    assert best["value"] == pytest.approx(score["value"] + best["lift"])
    assert changes == sorted(changes, key=lambda change: -change["lift"])
    head, relation, tail = (
        best["change"].replace("→ ", "—").split(" —", 1)[0],
        *(best["change"].split(" —", 1)[1].split("→ ")),
    )
    assert grice("kb", "add", head, relation, tail, "--to", "my.kb")[0] == 0
    _, out, _ = grice(*words, "--commonsense-knowledge", "file:my.kb", "--json")
    assert json.loads(out)["value"] == pytest.approx(best["value"], abs=1e-12)
    _, out, _ = grice(*words, "--what-if")
    assert "what would lift commonsense" in out
    assert "knowing: " in out
    _, out, _ = grice("explain", "Hm?", "Ok.", "-m", "commonsense", "--what-if")
    assert "no single change that was tried" in out
