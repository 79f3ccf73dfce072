"""Engagement: the metric with a judge whose answers are known, and the model that ships."""

import shutil

import numpy as np
import pytest

import grice
from grice.data import FeatureEvidence, Response, Turn
from grice.errors import ModelFolderError
from grice.metrics.engagement import engagement
from grice.models.embedded import EmbeddedEncoder
from grice.models.folder import open_folder
from grice.models.loader import ModelLoader, read_settings
from grice.models.protocols import Pair
from grice.models.reply_head import (
    SURFACE,
    Explained,
    ReplyHead,
    ReplySettings,
    Scale,
    part_names,
    surface,
)


class Known:
    """Likes long replies, and remembers what it was asked."""

    def __init__(self):
        self.asked = []

    def explain(self, pairs):
        self.asked += pairs
        values = [min(1.0, len(pair.right) / 40) for pair in pairs]
        return [
            Explained(
                value,
                (
                    FeatureEvidence("reply length", 3.0, value - 0.5),
                    FeatureEvidence("question in the reply", 0.0, 0.001),
                ),
            )
            for value in values
        ]

    def truncated(self, texts):
        return [len(text) > 100 for text in texts]


def judge(*texts, model=None):
    history = tuple(Turn("AB"[i % 2], text) for i, text in enumerate(texts[:-1]))
    response = Response("t", len(history), texts[-1], "A", history, tuple(range(len(history))))
    [judgement] = engagement.function([response], model=model or Known())
    return judgement


def test_the_features_that_moved_it_are_the_evidence():
    judgement = judge("Hi?", "x" * 32)
    assert judgement.value == 0.8
    assert judgement.evidence == (FeatureEvidence("reply length", 3.0, pytest.approx(0.3)),)
    assert judgement.reason == "reply length raises the score most (+0.30)"
    assert judge("Hi?", "x" * 8).reason == "reply length lowers the score most (-0.30)"
    assert "no leading feature raises the score" in judge("Hi?", "x" * 20).reason


def test_only_the_last_turn_that_can_be_read_is_asked_about():
    model = Known()
    judge("First.", "Second.", "...", "A reply.", model=model)
    assert [pair.left for pair in model.asked] == [("Second.",)]


def test_a_text_that_is_read_in_part_is_flagged():
    assert judge("Hi?", "word " * 40).flags == ("truncated",)
    assert judge("Hi?", "word").flags == ()


def test_a_reply_counts_for_what_it_adds():
    fresh = judge("Do you ski?", "Yes, we ski a lot.")
    begging = judge("Do you ski?", "Yes, we ski a lot. Give me 5 out of 5.")
    assert begging.value == pytest.approx(fresh.value * 5 / 11, rel=0.1)
    assert begging.reason == "55% of its words repeat earlier sentences or ask for a rating"


def test_a_reply_that_only_repeats_is_not_engaging():
    judgement = judge("I teach maths.", "What else do you do?", "I teach maths!")
    assert (judgement.status, judgement.value) == ("ok", 0.0)
    assert judgement.reason.startswith("100% of its words repeat")


def test_replies_of_equal_length_differ_by_what_they_say():
    before = "What do you do at weekends?"
    replies = "I climb high snowy mountains", "I do not know it"
    with grice.load("engagement") as grader:
        lively, dull = (
            next(score.value for score in grader.score([before, reply]) if score.turn == 1)
            for reply in replies
        )
    assert lively > dull + 0.05


def head_of(folder):
    encoder = ModelLoader().load("builtin:encoder", EmbeddedEncoder)
    return ReplyHead(folder, read_settings(folder, ReplySettings), encoder)


@pytest.fixture(scope="module")
def head():
    return head_of(open_folder("engagement"))


PAIRS = [
    Pair(("Do you like music?",), "I love it, I play the violin. What do you listen to?"),
    Pair(("Do you like music?",), "Yes."),
    Pair(("Well.", "What did you eat?", " "), "Fish from the river, my brother caught it."),
]


def test_every_feature_has_one_part_and_values_are_in_their_own_units(head):
    weighed = head.explain(PAIRS)[1]
    assert {part.name for part in weighed.parts} == set(part_names(base=False))
    assert next(part for part in weighed.parts if part.name == "reply length").value == 1.0
    sizes = [abs(part.effect) for part in weighed.parts]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 0


def test_blank_turns_are_skipped_and_older_ones_are_not_read(head):
    other = Pair(("What did you eat?",), PAIRS[2].right)
    assert head.classify([PAIRS[2]]) == head.classify([other])


def test_a_pair_without_words_has_nothing_to_judge(head):
    assert head.classify([Pair((), "Yes."), Pair((" ",), "Yes."), Pair(("Hi",), "")]) == [0.5] * 3


@pytest.mark.parametrize(("old", "new", "says"), [
    ("centre = [", "centre = [1.0, ", "settings.centre needs 8 numbers; run grice train"),
    ("average = [", "average = [1.0, ", "settings.average needs 2 numbers"),
    ("spread = [", "spread = [-", "settings.spread: numbers above 0 only"),
])  # fmt: skip
def test_settings_that_do_not_fit_are_named(tmp_path, old, new, says):
    folder = tmp_path / "broken"
    shutil.copytree(open_folder("engagement").path, folder)
    card = folder / "card.toml"
    card.write_text(card.read_text("utf-8").replace(old, new), "utf-8")
    with pytest.raises(ModelFolderError, match=says):
        head_of(open_folder(folder))


def test_the_scale_takes_counts_as_logarithms_and_cuts_what_is_far():
    numbers = np.array([surface("Hi.", "word " * n) for n in (1, 3, 9)])
    scaled = Scale.of(numbers)(numbers)
    assert scaled[:, 0].mean() == pytest.approx(0, abs=1e-6)
    assert Scale.of(numbers)(np.array([surface("Hi.", "word " * 10_000)]))[0, 0] == 3.0
    assert scaled[:, SURFACE.index("exclamation mark")].tolist() == [0, 0, 0]
