"""The overall quality: ranks among reference replies, parts without a value, evidence."""

import msgspec
import pytest

import grice
from grice.data import Judgement
from grice.errors import ModelFolderError
from grice.metrics.quality import PARTS, contributions, quality_of
from grice.models.folder import open_folder, write_card
from grice.models.joined import FILE, Part, read_parts

MADE = Part("relevance", 1.0, (0.0, 0.2, 0.2, 0.6, 1.0), {"model": "builtin:relevance"})
RANKS = {-1: 0, 0: 0, 0.1: 0.125, 0.2: 0.375, 0.4: 0.625, 0.6: 0.75, 1: 1, 2: 1}
SAID = "I teach maths at a school in Leeds."


def test_low_ranks_decide_and_parts_without_a_value_contribute_nothing():
    assert {value: MADE.rank(value) for value in RANKS} == pytest.approx(RANKS)
    assert msgspec.structs.replace(MADE, ceiling=0.2).rank(0.9) == pytest.approx(0.375)
    parts = [MADE, msgspec.structs.replace(MADE, metric="repetition", weight=3.0)]
    good, silent = Judgement(1.0), Judgement(0.5, "abstained", "no history")
    both = contributions(parts, {"relevance": good, "repetition": Judgement(0.0)})
    assert both["repetition"] < -0.2 < 0 < both["relevance"] < 0.1
    assert quality_of(both) == pytest.approx(1 / (0.25 / 1.2 + 0.75 / 0.2) - 0.2)
    alone = contributions(parts, {"relevance": good, "repetition": silent})
    assert alone == pytest.approx({"relevance": 1 / (0.25 / 1.2 + 0.75 / 0.7) - 0.2 - 0.5})
    assert contributions(parts, {"relevance": silent}) == {}


def test_a_score_names_its_parts_and_does_not_depend_on_the_run():
    talk = ["Hi!", SAID, "Where is it?", SAID]
    with grice.load("quality", *PARTS.keys() - {"likelihood"}) as grader:
        beside = {score.metric: score for score in grader.score(talk)}
    score = beside["quality"]
    assert [score] == grice.score(talk, "quality")
    parts = score.evidence[: len(read_parts(open_folder("quality-small")))]
    for piece in parts:
        assert piece.value == pytest.approx(beside[piece.name].value)
    assert score.value == pytest.approx(0.5 + sum(piece.effect for piece in parts))
    # A verbatim repetition is named, also where another part is lower.
    assert score.reason == f"repetition 0.00: {beside['repetition'].reason}"
    assert score.evidence[len(parts) :] == beside["repetition"].evidence
    [first] = grice.score([SAID], "quality")
    assert (first.status, first.reason) == ("abstained", "no turn before the reply")


@pytest.mark.parametrize("size", ["small", "medium", "large"])
def test_the_parts_that_ship_weigh_the_same_and_have_ranks_of_the_shipped_models(size):
    parts = read_parts(open_folder(f"quality-{size}"))
    assert {part.weight for part in parts} == {1.0}
    for part in parts:
        models = part.models.values()
        for name, identity in zip(models, part.identities, strict=True):
            own = name.startswith("model:") or open_folder(name[8:]).identity in identity
            assert own, f"python -m grice_research.recipes.overall.fit --models {size}"


@pytest.mark.parametrize(("part", "problem"), [
    ({"models": {"model": "builtin:encoder"}}, "depends on builtin:encoder, which the card does"),
    ({"quantiles": (0.5, 0.1)}, "needs two quantiles or more, in ascending order"),
    ({"weight": 0.0}, "has the weight 0.0"),
])  # fmt: skip
def test_parts_that_fit_nothing_are_refused(tmp_path, part, problem):
    (tmp_path / FILE).write_bytes(msgspec.json.encode([msgspec.structs.replace(MADE, **part)]))
    facts = {"name": "m", "kind": "joined-metrics", "version": "1", "summary": "", "licence": ""}
    write_card(tmp_path, facts, {}, {"parts": ["builtin:relevance"]}, files=[FILE])
    with pytest.raises(ModelFolderError, match=problem):
        read_parts(open_folder(tmp_path))
