"""A card that names what is wrong, and stays silent where nothing is."""

from __future__ import annotations

import json
import math
import random

import pytest

from grice.cli import main
from grice.errors import InputError, RecordError
from grice.evaluation.health import Thresholds, health
from grice.records import Conversation, Turn
from grice.scoring import load

PLUGIN = """
import hashlib
from grice.metrics import Example, metric
from grice.records import Judgement, KnownTail, Triple, TripleEvidence

def declare(name, give, **more):
    @metric(name, version="1", summary="For tests.", judges="response", source="Ours.",
            example=Example(["Hi.", "Hello."], 0.0, 1.0), **more)
    def judge(responses):
        return [give(r) for r in responses]
    return judge

def chance(r):
    key = f"{r.conversation} {r.turn} {r.text}"
    return int(hashlib.sha256(key.encode()).hexdigest()[:8], 16) / 2**32

fair = declare("fair", lambda r: Judgement(0.1 + 0.8 * chance(r)))
later = declare("later", lambda r: Judgement(min(1.0, 0.1 * r.turn + 0.1 * chance(r))))
topped = declare("topped", lambda r: Judgement(1.0 if chance(r) < 0.6 else chance(r)))
flat = declare("flat", lambda r: Judgement(0.5))
shy = declare("shy", lambda r: Judgement(0.5, "abstained", "shy") if chance(r) < 0.5
              else Judgement(chance(r), flags=("truncated",)))
broken = declare("broken", lambda r: Judgement(None, "failed", "no"))
knowing = declare("knowing", lambda r: Judgement(chance(r), evidence=(
    TripleEvidence(Triple("a", "xWant", "b"), 0.5, KnownTail("a", "b", 0.75, 0.5, "atomic")),)))
"""


@pytest.fixture(scope="module")
def grader(tmp_path_factory):
    file = tmp_path_factory.mktemp("plugin") / "odd.py"
    file.write_text(PLUGIN)
    names = ("fair", "later", "topped", "flat", "shy", "broken", "knowing", "log_length")
    with load(*names, plugins=[file]) as grader:
        yield grader


def talks(n):
    draw = random.Random(4)
    return [
        Conversation(
            f"t{i}",
            tuple(
                Turn("AB"[j % 2], " ".join("ha" for _ in range(draw.randint(1, 20))))
                for j in range(6)
            ),
        )
        for i in range(n)
    ]


@pytest.fixture(scope="module")
def cards(grader):
    return {card.metric: card for card in health(talks(60), grader.scorer).cards}


def test_nothing_is_said_against_a_fair_metric(cards):
    assert cards["fair"].warnings == ()
    assert abs(cards["fair"].length_bias.value) < 0.2


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("log_length", "it follows length: longer items score higher (Spearman 1.00"),
        ("later", "it follows position: later items score higher"),
        ("topped", "of its scores lie at the top of its range"),
        ("flat", "it gives every item the same value"),
        ("shy", "of the items give it nothing to judge"),
        ("shy", "of the items are too long to be read whole"),
        ("broken", "100% of the items could not be judged at all"),
        ("broken", "only 0 conversations have a score"),
    ],
)
def test_what_is_wrong_is_said_in_words(cards, metric, words):
    warnings = [warning for warning in cards[metric].warnings if words in warning]
    assert len(warnings) == 1
    assert warnings[0].startswith(f"do not trust {metric} on this file because ")


def test_figures_have_intervals_and_no_bound_is_no_ceiling(cards):
    for card in cards.values():
        for name in ("truncated", "abstained", "failed"):
            estimate = getattr(card, name)
            assert estimate.low <= estimate.value <= estimate.high
    assert cards["log_length"].ceiling is None
    assert cards["flat"].length_bias is None
    assert cards["broken"].mean is None


def test_distance_from_known_events_is_told_only_where_it_can_be(cards):
    assert cards["knowing"].nearest_known.value == pytest.approx(0.75)
    assert cards["fair"].nearest_known is None
    assert "cannot be told" in cards["fair"].remarks[0]


def test_few_conversations_are_said_to_be_few(grader):
    [card, *_] = health(talks(4), grader.scorer).cards
    assert "only 4 conversations have a score" in card.warnings[0]
    [card, *_] = health(talks(1), grader.scorer).cards
    assert "only 1 conversation has a score" in card.warnings[0]
    assert card.length_bias is None
    assert card.mean.low is None


def test_bars_decide_and_stand_in_the_result(grader):
    result = health(talks(30), grader.scorer, thresholds=Thresholds(abstained=0.9, truncated=0.9))
    shy = next(card for card in result.cards if card.metric == "shy")
    assert shy.warnings == ()
    assert result.bars.abstained == 0.9


def test_nothing_to_read_is_an_error(grader):
    with pytest.raises(InputError, match="1 broken record\\)"):
        health([RecordError("no turns", file="f", line=1)], grader.scorer)


def test_one_conversation_is_said_in_the_singular(tmp_path, capsys):
    file = tmp_path / "chat.txt"
    file.write_text("A: Where are you from?\nB: I grew up in Lisbon.\n")
    assert main(["health", str(file), "-m", "log_length"]) == 0
    shown = capsys.readouterr().out
    assert "1 of 1 conversation\n" in shown
    assert "1 conversations" not in shown


def test_the_command_prints_words_or_json_without_nan(tmp_path, capsys):
    file = tmp_path / "chat.jsonl"
    rows = [
        {"id": talk.id, "turns": [{"speaker": t.speaker, "text": t.text} for t in talk.turns]}
        for talk in talks(12)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["health", str(file), "-m", "log_length,turn_count"]) == 0
    shown = capsys.readouterr().out
    assert "do not trust log_length on this file because it follows length" in shown
    assert "do not trust turn_count" in shown
    assert main(["health", str(file), "-m", "log_length,turn_count", "--json"]) == 0
    out = capsys.readouterr().out
    cards = json.loads(out, parse_constant=lambda word: pytest.fail(word))["cards"]
    assert cards[0]["length_bias"]["value"] == pytest.approx(1.0)
    assert not any(isinstance(v, float) and math.isnan(v) for v in cards[1].values())


def test_what_instructs_a_model_is_no_length_of_the_conversation():
    plain = talks(20)
    instructed = [
        Conversation(talk.id, (Turn("system", "You are kind. " * i, role="system"), *talk.turns))
        for i, talk in enumerate(plain)
    ]
    with load("turn_count") as grader:
        cards = [health(some, grader.scorer).cards[0] for some in (plain, instructed)]
    assert cards[0].length_bias == cards[1].length_bias


def test_scores_of_another_tool_are_judged(tmp_path, capsys):
    file, table = tmp_path / "talks.jsonl", tmp_path / "judge.csv"
    conversations = talks(20)
    file.write_text("".join(json.dumps({"id": talk.id, "turns": [
        {"speaker": turn.speaker, "text": turn.text} for turn in talk.turns]}) + "\n"
        for talk in conversations))  # fmt: skip
    table.write_text("conversation,turn,helpful\n" + "".join(
        f"{talk.id},{turn},{min(5, turn + 1)}\n" for talk in conversations for turn in range(6)
    ))  # fmt: skip
    assert main(["health", str(file), "--scores", f"{table}#helpful", "--json"]) == 0
    (card,) = json.loads(capsys.readouterr().out)["cards"]
    assert card["counts"]["ok"] == 120
    assert card["mean"]["value"] == pytest.approx(20 / 6)
    assert card["ceiling"]["value"] == pytest.approx(1 / 3)
    assert any("position" in warning or "later" in warning for warning in card["warnings"])
    assert any("top of its range" in warning for warning in card["warnings"])


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ("a,0,3\nb,0,3\n", "ids there are 't0', in the scores 'a', 'b'"),
        ("t0,9,3\n", "'t0' has turns 0 to 5, and helpful a score of turn 9"),
    ],
)
def test_scores_of_other_conversations_are_refused(tmp_path, capsys, rows, problem):
    file, table = tmp_path / "talks.jsonl", tmp_path / "judge.csv"
    turns = [{"speaker": turn.speaker, "text": turn.text} for turn in talks(1)[0].turns]
    file.write_text(json.dumps({"id": "t0", "turns": turns}) + "\n")
    table.write_text("conversation,turn,helpful\n" + rows)
    assert main(["health", str(file), "--scores", f"{table}#helpful"]) == 2
    assert problem in " ".join(capsys.readouterr().err.split())
