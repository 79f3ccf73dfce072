"""Changed conversations, scored again: shares of pairs, and changes that lift a score."""

import gzip
import json
import re
from statistics import fmean

import pytest

from grice.cli import main
from grice.data import Conversation, Judgement, Signature, Span, Triple, TripleEvidence, Turn
from grice.evaluation.perturbed import EVERY, Pair, accuracy, counterfactuals, judge_pairs
from grice.metrics.declaration import Example, metric
from grice.scoring import load
from grice.scoring.loaded import LoadedMetric


def share_of(values, versions):
    """Return the accuracy of a metric with these values, and 0 on the original."""
    talks = [Conversation(str(i), ()) for i in range(len(values))]
    whole = Conversation("whole", ())
    pairs = [Pair("k", str(i // versions), whole, talk) for i, talk in enumerate(talks)]
    return accuracy(pairs, {"whole": 0.0, **{str(i): v for i, v in enumerate(values)}})


def test_the_share_is_over_pairs_and_its_interval_over_sources():
    # Ten versions of each of four sources, all right or all wrong together, are four facts.
    values = [-1.0] * 20 + [1.0] * 10 + [-1.0] * 10
    together, apart = (share_of(values, versions).kinds[EVERY] for versions in (10, 1))
    assert together.value == apart.value == 0.75
    assert together.n == apart.n == 40
    assert together.high - together.low > 2 * (apart.high - apart.low)


def test_a_tie_counts_half_and_a_missing_value_not_at_all():
    tied = share_of([0.0, 0.0, 0.0], 1)
    assert (tied.kinds[EVERY].value, tied.ties) == (0.5, 1.0)
    whole, other = Conversation("whole", ()), Conversation("other", ())
    row = accuracy([Pair("k", "s", whole, other)], {"whole": 1.0})
    assert (row.kinds, row.failed) == ({}, 1)


def test_perturb_prints_the_share_of_broken_conversations_that_score_lower(tmp_path, capsys):
    texts = ["Do you have a dog?", "Yes, a small one. It is brown.", "Is it old?", "It is ten."]
    lines = [json.dumps({"id": "same", "turns": [f"{t} {i}" for t in texts]}) for i in range(6)]
    file = tmp_path / "talks.jsonl"
    file.write_text("\n".join(lines) + "\n")
    words = ["perturb", str(file), "--kind", "half-swap", "--kind", "turn-order"]
    assert main([*words, "--score", "turn_count,log_length", "--json", "--no-cache"]) == 0
    block = json.loads(capsys.readouterr().out)
    assert block["pairs"] == 12
    assert block["sources"] == 6, "the ids of records may be the same"
    count = {row["metric"]: row for row in block["rows"]}["turn_count"]
    assert set(count["kinds"]) == {EVERY, "half-swap", "turn-order"}
    share = count["kinds"]["half-swap"]
    assert (share["value"], share["n"], count["ties"]) == (0.5, 6, 1.0)
    assert share["low"] < 0.5 < share["high"]
    broken = tmp_path / "broken.jsonl"
    assert main([*words, "--score", "turn_count", "-o", str(broken), "--no-cache"]) == 0
    assert "chance is .500" in capsys.readouterr().out
    assert len(broken.read_text().splitlines()) == 12
    assert main([*words, "--training", str(broken)]) == 0
    first, second, *_ = lines = broken.read_text().splitlines()
    assert (len(lines), first.count("</UTT>"), first[-1], second[-1]) == (24, 4, "1", "0")
    assert capsys.readouterr().out == "", "perturbed conversations go where they are asked for"
    file.write_text('{"turns": ["Hi."]}\n')
    assert main(["perturb", str(file), "--kind", "half-swap", "--score", "log_length"]) == 2
    assert "no conversation could be perturbed" in capsys.readouterr().err


@pytest.mark.data
@pytest.mark.slow
def test_trivial_baselines_get_the_recomputed_shares_of_every_kind(golden, data_folder):
    def talk(name, context, reply):
        turns = tuple(Turn("AB"[i % 2], text) for i, text in enumerate([*context, reply]))
        return Conversation(name, turns, targets=(len(context),))

    expected, pairs = golden("robust_pairs_golden")["values"], []
    with gzip.open(data_folder / "rated" / "robust_turn_pairs.jsonl.gz", "rt") as file:
        for number, row in enumerate(map(json.loads, file)):
            texts = row["context"], row["response"]
            changed = row.get("context_perturbed") or row["context"], row["response_perturbed"]
            if texts != changed and changed[1] is not None:
                versions = talk(f"{number}", *texts), talk(f"{number}*", *changed)
                pairs.append(Pair(row["kind"], "\n".join(row["context"]), *versions))
    with load("log_length", "overlap_last_turn") as grader:
        rows = {row.metric: row.kinds for row in judge_pairs("pairs", pairs, grader).rows}
    features = {"log_length": "log_words", "overlap_last_turn": "overlap_last_turn"}
    for name, feature in features.items():
        assert set(rows[name]) - {EVERY} == set(expected)
        for kind, figures in expected.items():
            assert rows[name][kind].n == figures["n"]
            assert rows[name][kind].value == pytest.approx(figures[feature], abs=5e-7)


@metric("moods", version="1", summary="?", judges="response", source="-",
        example=Example(["Hi", "Hello"], 0, 1))  # fmt: skip
def moods(responses):
    """Rate each clause: an awful one is not plausible."""
    for response in responses:
        pieces = []
        for clause in re.finditer(r"\w[^,.]*", response.text):
            span = Span(response.turn, *clause.span())
            triple = Triple("he", "xReact", clause[0], tail_span=span)
            pieces.append(TripleEvidence(triple, 0.2 if "awful" in clause[0] else 0.9))
        yield Judgement(fmean(piece.plausibility for piece in pieces), evidence=tuple(pieces))


@pytest.mark.parametrize(("reply", "lifts"), [
    ("I am awful, I am happy.", [("text", "I am awful", 0.9)]), ("I am happy.", []),
])  # fmt: skip
def test_words_are_removed_that_lower_a_score(reply, lifts):
    loaded = LoadedMetric(moods, Signature("moods", "1"), {})
    talk = Conversation("a", (Turn("A", "And?"), Turn("B", reply)), (1,))
    [[score]] = loaded.score([talk])
    found = counterfactuals(loaded, talk, score)
    assert [(change.kind, change.change, change.value) for change in found] == lifts
    assert all(change.lift == pytest.approx(0.9 - score.value) for change in found)


def test_triples_that_would_raise_a_score_if_they_were_known_are_named():
    talk = Conversation("a", (Turn("A", "I lost my job."), Turn("B", "You must feel proud.")), (1,))
    with load("commonsense") as grader:
        [score] = grader.score(talk)
        [change] = counterfactuals(grader.scorer.metrics[0], talk, score)
    words = "PersonX loses PersonX's job —xReact→ PersonX feels proud"
    assert (change.kind, change.change, change.lift > 0) == ("knowledge", words, True)
