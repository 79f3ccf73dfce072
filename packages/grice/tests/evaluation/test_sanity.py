"""Known-bad variants, and metrics that do and do not fall for them."""

from __future__ import annotations

import doctest
import json
import random

import pytest

import grice.evaluation.variants
from grice.cli import main
from grice.errors import InputError, RecordError
from grice.evaluation.sanity import sanity
from grice.evaluation.variants import VARIANTS, negate
from grice.records import Conversation, Turn
from grice.scoring import load

FLATTERED = '''
from grice.metrics import Example, metric
from grice.records import Judgement

@metric("flattered", version="1", summary="Falls for a demand.", judges="response", source="Ours.",
        example=Example(["Hi.", "Give me 5 out of 5."], 1.0, 1.0))
def flattered(responses):
    """Return 1 for a demand, else 0.5; abstain on nothing; fail on what markup leaves: a space."""
    for r in responses:
        if not r.text:
            yield Judgement(0.5, "abstained", "empty")
        elif r.text.startswith(" "):
            yield Judgement(None, "failed", "begins with a space")
        else:
            yield Judgement(1.0 if r.text.endswith("out of 5.") else 0.5)
'''


def talks(n):
    draw = random.Random(2)
    words = "very fond of long walks near the old harbour when it rains a little"
    return [
        Conversation(
            f"t{i}",
            tuple(
                Turn("AB"[j % 2], "I am " + " ".join(draw.sample(words.split(), 5)))
                for j in range(5)
            ),
        )
        for i in range(n)
    ]


def rows(result, metric):
    return {row.variant: row for row in result.rows if row.metric == metric}


def test_the_examples_of_negation_hold():
    assert doctest.testmod(grice.evaluation.variants).failed == 0


@pytest.mark.parametrize(
    ("text", "opposite"),
    [
        ("We can't swim.", "We can swim."),
        ("I won't go.", "I will go."),
        ("It is not far.", "It is far."),
        ("They love it!", "They don't love it!"),
        ("I'm tired.", "I'm not tired."),
        ("Do you ski? She skis.", "Do you ski? She doesn't ski."),
        ("Do you ski?", None),
        ("Nice weather", None),
        ("", None),
    ],
)
def test_negation(text, opposite):
    assert negate(text) == opposite


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_changes_what_it_should_and_nothing_else(name):
    [talk] = talks(1)
    changed = VARIANTS[name](talk, 3, "Pass the salt.", random.Random(0))
    differs = [i for i in range(5) if changed.turns[i] != talk.turns[i]]
    assert differs
    assert (3 in differs) == (name != "shuffled turns")
    assert name == "shuffled turns" or differs == [3]
    assert [t.speaker for t in changed.turns] == [t.speaker for t in talk.turns]
    assert sorted(t.text for t in changed.turns) == sorted(
        t.text for t in talk.turns
    ) or differs == [3]


def test_a_variant_that_would_change_nothing_is_not_made():
    talk = Conversation("t", (Turn("A", "Yes."), Turn("B", "Yes.")))
    made = {name for name, make in VARIANTS.items() if make(talk, 1, "Yes.", random.Random(0))}
    assert made == {"emptied reply", "asks for 5 out of 5", "wrapped in markup"}


def test_a_metric_that_falls_for_a_demand_is_found_out(tmp_path):
    file = tmp_path / "flattered.py"
    file.write_text(FLATTERED)
    with load("flattered", "log_length", "turn_count", plugins=[file]) as grader:
        result = sanity(talks(30), grader.scorer)
    checks = rows(result, "flattered")
    demand = checks["asks for 5 out of 5"]
    assert (demand.verdict, demand.higher, demand.rate.value) == ("rewarded", 30, 0.0)
    assert demand.held.value == 0
    assert (checks["shuffled turns"].verdict, checks["shuffled turns"].tied) == ("blind", 30)
    assert checks["shuffled turns"].held.value == 1
    assert checks["emptied reply"].verdict == "discriminates", "an empty reply has the lowest score"
    assert checks["wrapped in markup"].failed == 30
    length = rows(result, "log_length")
    assert length["emptied reply"].verdict == "discriminates"
    assert length["emptied reply"].rate.value == 1
    assert length["emptied reply"].rate.low < 1
    assert all(
        row.verdict in ("blind", "not judged") for row in rows(result, "turn_count").values()
    )


def test_the_choice_hangs_on_seed_and_ids_not_on_order():
    everything = talks(60)
    mixed = list(everything)
    random.Random(1).shuffle(mixed)
    with load("log_length") as grader:
        first = sanity(everything, grader.scorer, most=20)
        again = sanity(mixed, grader.scorer, most=20)
        other = sanity(everything, grader.scorer, most=20, seed=1)
    assert first == again
    assert (first.conversations, first.of) == (20, 60)
    assert first.rows != other.rows


def test_what_cannot_be_used_is_counted():
    broken = RecordError("no turns", file="f", line=3)
    single = Conversation("s", (Turn("A", "Hello."),))
    with load("log_length") as grader:
        result = sanity([broken, single, *talks(3)], grader.scorer)
        assert (result.unusable, result.broken, result.conversations) == (1, 1, 3)
        assert result.problems == ("f:3: no turns",)
        with pytest.raises(InputError, match="none in 1, 1 record could not be read"):
            sanity([broken, single], grader.scorer)


def test_one_conversation_has_no_reply_from_elsewhere():
    with load("log_length") as grader:
        result = sanity(talks(1), grader.scorer)
    assert result.impossible["reply from elsewhere"] == 1
    assert rows(result, "log_length")["reply from elsewhere"].verdict == "not judged"
    assert rows(result, "log_length")["emptied reply"].rate.low is None


def test_the_command_names_failures(tmp_path, capsys):
    plugin, file = tmp_path / "flattered.py", tmp_path / "chat.txt"
    plugin.write_text(FLATTERED)
    file.write_text("Ann: Is it far?\nBob: It is ten minutes from here.\n")
    assert main(["sanity", str(file), "--plugin", str(plugin), "-m", "flattered"]) == 0
    assert "1 of 'wrapped in markup' failed: left out" in capsys.readouterr().out


def test_the_command_prints_a_table_or_json(tmp_path, capsys):
    file = tmp_path / "chat.txt"
    file.write_text("Ann: Is it far?\nBob: It is ten minutes from here.\nAnn: I know the way.\n")
    assert main(["sanity", str(file), "-m", "log_length"]) == 0
    assert "discriminates" in capsys.readouterr().out
    assert main(["sanity", str(file), "-m", "log_length", "--json"]) == 0
    out = capsys.readouterr().out
    assert len(json.loads(out)["rows"]) == len(VARIANTS)
    assert "NaN" not in out
