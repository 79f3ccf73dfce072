"""``grice verify``: nothing in a file of scores is believed."""

from __future__ import annotations

import json

import pytest

import grice
from grice.cli import main
from grice.errors import InputError
from grice.evaluation.counterfactuals import counterfactuals
from grice.evaluation.faithful import faithfulness, opposite, without
from grice.evaluation.verify import stated
from grice.evaluation.verify import verify as verify_scores
from grice.metrics.declaration import Example, metric
from grice.metrics.registry import find_metrics
from grice.records import (
    Conversation,
    FeatureEvidence,
    Judgement,
    Span,
    Triple,
    TripleEvidence,
    Turn,
    TurnEvidence,
)
from grice.scoring.loaded import LoadedMetric

TALKS = {
    "fired": ["What do you do?", "I just got fired because I made a mistake at work."],
    "lost": ["How was your day?", "I lost my keys and I feel happy."],
    "ok": ["Fine?", "Ok."],
}


@pytest.fixture
def scored(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    with (tmp_path / "talks.jsonl").open("w") as file:
        for name, turns in TALKS.items():
            turn_records = [{"speaker": "AB"[i], "text": text} for i, text in enumerate(turns)]
            file.write(json.dumps({"id": name, "turns": turn_records}) + "\n")
    words = ["score", "talks.jsonl", "-m", "commonsense,relevance,log_length", "-o", "s.jsonl"]
    assert main([*words, "--relevance-history", "2"]) == 0
    capsys.readouterr()
    return tmp_path / "s.jsonl"


@pytest.fixture
def verify(scored, capsys):
    def verifying(change=None, *words):
        lines = [json.loads(line) for line in scored.read_text("utf-8").splitlines()]
        if change is not None:
            change(lines)
        scored.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        status = main(["verify", "s.jsonl", "talks.jsonl", "--json", *words])
        captured = capsys.readouterr()
        return status, json.loads(captured.out) if captured.out else captured.err

    return verifying


def pieces(lines):
    return [piece for line in lines for piece in line["evidence"] if piece["kind"] == "triple"]


def emptied(span):
    span["end"] = span["start"]


def test_what_was_scored_follows(verify):
    status, result = verify()
    assert (status, result["differences"]) == (0, [])
    tallies = {(tally["metric"], tally["kind"]): tally for tally in result["tallies"]}
    assert tallies["commonsense", "value"]["verified"] == 6
    assert tallies["commonsense", "triple"]["verified"] >= 2
    assert ("log_length", "value") in tallies
    assert all(tally["differs"] == 0 for tally in tallies.values())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: lines[3].update(value=0.5), "value 0.5, found"),
        (lambda lines: lines[3].update(status="abstained"), "status 'abstained', found 'ok'"),
        (lambda lines: lines[3].update(turn=7), "turn 7 is not judged in this conversation"),
        (lambda lines: pieces(lines)[0].update(plausibility=0.9), "plausibility 0.9, found"),
        (lambda lines: pieces(lines)[0]["triple"].update(head="PersonX flies"),
         "at these places the text gives: "),
        (lambda lines: pieces(lines)[0]["triple"]["tail_span"].update(end=999),
         "tail at characters"),
        (lambda lines: emptied(pieces(lines)[0]["triple"]["tail_span"]), "tail at characters"),
        (lambda lines: pieces(lines)[0]["triple"]["head_span"].update(turn=9),
         "head in turn 9, there are 2"),
        (lambda lines: pieces(lines)[0]["known"].update(source="a dream"), "its source is atomic"),
        (lambda lines: pieces(lines)[0]["known"].update(tail="to the moon"), "is not known"),
        (lambda lines: pieces(lines)[0]["known"].update(head_similarity=1.5),
         "head_similarity 1.5, found"),
        (lambda lines: [line["evidence"].clear() for line in lines], "found, but not in the file"),
    ],
)  # fmt: skip
def test_whatever_was_changed_in_the_file_is_named(verify, change, message):
    status, result = verify(change)
    assert status == 1
    assert any(message in difference["what"] for difference in result["differences"])


def test_in_python_too_a_small_difference_is_one(scored):
    lines = [json.loads(line) for line in scored.read_text("utf-8").splitlines()]
    moved = next(line for line in lines if line["metric"] == "log_length")
    moved["value"] += 0.01
    scored.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    talks = scored.with_name("talks.jsonl")
    with grice.load("log_length") as grader:
        metrics = grader.scorer.metrics
        [difference] = verify_scores(str(scored), grice.read(talks), metrics).differences
        assert "found" in difference.what
        assert verify_scores(str(scored), grice.read(talks), metrics, tolerance=0.02).ok


def test_other_knowledge_shows_in_the_signature_and_in_what_it_moves(verify, capsys):
    triple = None

    def look(lines):
        nonlocal triple
        triple = next(
            piece["triple"] for piece in pieces(lines) if "happy" in piece["triple"]["tail"]
        )

    verify(look)
    words = [triple["head"], triple["relation"], triple["tail"]]
    assert main(["kb", "add", *words, "--to", "my.kb"]) == 0
    capsys.readouterr()
    status, result = verify(None, "--commonsense-knowledge", "file:my.kb")
    assert status == 1
    differences = {difference["kind"]: difference["what"] for difference in result["differences"]}
    assert "computed with knowledge:atomic@" in differences["signature"]
    assert "here knowledge:my@" in differences["signature"]
    assert "plausibility" in differences["triple"]


def test_metrics_can_be_chosen_and_unknown_ones_are_refused(verify):
    status, result = verify(None, "-m", "log_length")
    assert (status, result["scores"]) == (0, 6)
    assert {tally["metric"] for tally in result["tallies"]} == {"log_length"}
    status, messages = verify(None, "-m", "coherence_of_all")
    assert (status, "no scores of metric 'coherence_of_all'" in messages) == (2, True)


def test_other_conversations_are_refused(verify, scored):
    (scored.parent / "talks.jsonl").write_text(
        json.dumps({"id": "else", "turns": [{"speaker": "A", "text": "Hi"}]}) + "\n"
    )
    status, messages = verify()
    assert status == 2
    assert "conversation 'fired' is scored, but does not follow in the input" in messages


def test_scores_of_several_files_are_told_apart(scored, capsys):
    lines = [json.dumps({"id": "fired", "turns": [{"speaker": "A", "text": "No way, I am sad."}]})]
    (scored.parent / "more.jsonl").write_text("\n".join(lines) + "\n")
    files = ["talks.jsonl", "more.jsonl"]
    assert main(["score", *files, "-m", "commonsense", "-o", "both.jsonl"]) == 0
    assert main(["verify", "both.jsonl", *files]) == 0
    assert "7 scores re-derived" in capsys.readouterr().out
    assert main(["verify", "both.jsonl", *reversed(files)]) == 2


def test_two_ways_of_computing_in_one_file_are_refused(verify):
    status, messages = verify(lambda lines: lines[0].update(signature="log_length:0"))
    assert (status, "was computed in two ways in one file" in messages) == (2, True)


def test_the_terminal_says_what_follows_and_what_does_not(scored, capsys):
    assert main(["verify", "s.jsonl", "talks.jsonl"]) == 0
    out = capsys.readouterr().out
    assert "everything follows" in out
    lines = [json.loads(line) for line in scored.read_text("utf-8").splitlines()]
    lines[0]["value"] = 0.123
    scored.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    assert main(["verify", "s.jsonl", "talks.jsonl"]) == 1
    out = capsys.readouterr().out
    assert "value 0.123, found" in out
    assert max(len(line) for line in out.splitlines()) <= 80
    assert main(["verify", "s.jsonl"]) == 2
    assert "give the scores and the conversations" in capsys.readouterr().err


def test_options_are_read_from_the_signature(scored):
    how = stated(str(scored), find_metrics().metrics)
    assert set(how.signatures) == {"commonsense", "relevance", "log_length"}
    assert how.options["relevance"] == {"history": 2}
    with pytest.raises(InputError, match="cannot be read"):
        stated(str(scored.with_name("none.jsonl")), {})


class Store:
    """Says how plausible a tail is, by its words."""

    typed = ("xReact",)
    bad = ("awful", "not", "n't", "sad", "unhappy")

    def plausibility(self, triples, known=None):
        return [0.2 if any(word in triple.tail for word in self.bad) else 0.9 for triple in triples]

    def best_known(self, triples, *, tails=2):
        # The metric looks at one; whoever looks at more re-derives other figures.
        assert tails == 1
        return [None for _ in triples]


def clauses(text):
    spans, start = [], 0
    for part in text.rstrip(".").split(", "):
        spans.append((start, start + len(part), part))
        start += len(part) + 2
    return spans


@metric(
    "moods",
    version="1",
    summary="Are the moods said in the reply good ones?",
    judges="response",
    models={"store": "bundle:none"},
    source="Made for this test.",
    example=Example(["Hi", "Hello"], 0, 1),
)
def moods(responses, *, store):
    """Rate each clause."""
    for response in responses:
        triples = [
            Triple("he", "xReact", text, tail_span=Span(response.turn, start, end))
            for start, end, text in clauses(response.text)
        ]
        values = store.plausibility(triples)
        yield Judgement(
            sum(values) / len(values),
            evidence=(
                *(TripleEvidence(t, v) for t, v in zip(triples, values, strict=True)),
                TurnEvidence(0, 0.1),
                FeatureEvidence("clauses", len(triples)),
            ),
        )


@pytest.fixture
def loaded():
    return LoadedMetric(moods, "moods:1", {"store": Store()})


def talk(name, text):
    return Conversation(name, (Turn("A", "And?"), Turn("B", text)), (1,))


def test_rates_are_those_of_a_metric_that_is_faithful(loaded):
    talks = [
        talk("a", "I am awful, I am happy"),
        talk("b", "he is sad, she is glad"),
        talk("c", "I feel fine, it is warm"),
    ]
    result = faithfulness(loaded, talks)
    assert result.replies == 3
    rates = {rate.name.split(",")[0]: rate.share for rate in result.rates}
    least = rates["least plausible triple deleted"]
    assert (least.value, least.n) == (1.0, 2)
    assert rates["most plausible triple deleted"].value == 0.0
    assert rates["tail said to the contrary"].value == 1.0
    negated = rates["tail of the triple negated"]
    assert 0.0 < negated.value < 1.0, "what is bad already cannot fall"
    assert negated.low < negated.value < negated.high


def test_nothing_to_look_at_gives_no_rate(loaded):
    assert faithfulness(loaded, []).rates == ()


def test_words_are_left_out_that_lift_a_score(loaded):
    conversation = talk("a", "I am awful, I am happy")
    (score,) = loaded.score([conversation])[0]
    best, *_ = counterfactuals(loaded, conversation, score)
    assert (best.kind, best.change, best.value) == ("text", "I am awful", 0.9)
    assert best.lift == pytest.approx(0.9 - score.value)
    assert (
        counterfactuals(loaded, conversation, loaded.score([talk("b", "I am happy")])[0][0]) == []
    )


@pytest.mark.parametrize(
    ("clause", "contrary"),
    [
        ("I feel happy", "I don't feel happy"),
        ("PersonX is late", "PersonX isn't late"),
        ("PersonY wants to help PersonX", "PersonY doesn't want to help PersonX"),
        ("it doesn't rain", "it does rain"),
        ("to the moon", None),
    ],
)
def test_a_clause_is_said_to_the_contrary(clause, contrary):
    assert opposite(clause) == contrary


def test_a_stretch_is_left_out_with_its_blanks():
    assert without("I won, so I smiled.", Span(0, 7, 18)) == "I won,."
    assert without("I won, so I smiled.", Span(0, 0, 5)) == ", so I smiled."


def test_what_follows_and_what_does_not_is_printed(verify, capsys, scored):
    assert main(["verify", "s.jsonl", "talks.jsonl"]) == 0
    out = capsys.readouterr().out
    assert "everything follows" in out
    assert max(map(len, out.splitlines())) <= 80
    lines = [json.loads(line) for line in scored.read_text("utf-8").splitlines()]
    for line in lines:
        line["value"] = 0.123456
    scored.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    assert main(["verify", "s.jsonl", "talks.jsonl"]) == 1
    out = capsys.readouterr().out
    assert "fired #1 commonsense, value" in out
    assert "value 0.123456, found" in out


def test_faithfulness_is_printed_with_its_intervals(scored, capsys):
    assert main(["verify", "--faithful", "--on", "talks.jsonl"]) == 0
    shown = capsys.readouterr().out
    assert "commonsense: " in shown
    assert main(["verify", "--faithful", "--on", "talks.jsonl", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    for rate in result["rates"]:
        assert rate["name"].split()[0] in shown
        assert f"{rate['share']['value']:.3f}" in shown
    assert main(["verify", "--faithful"]) == 2
    assert "give conversations" in capsys.readouterr().err
