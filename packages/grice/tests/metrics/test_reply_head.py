"""The head on single replies: its parts add up, and a bundle that does not fit is refused."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from grice.errors import BundleError
from grice.metrics.engagement import (
    SURFACE,
    ReplyHead,
    ReplySettings,
    Scale,
    part_names,
    surface,
)
from grice.models.bundle import open_bundle
from grice.models.embedded import EmbeddedEncoder
from grice.models.loader import read_settings
from grice.models.protocols import Pair, PairClassifier


def head_of(bundle):
    encoder = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)
    return ReplyHead(bundle, read_settings(bundle, ReplySettings), encoder)


@pytest.fixture(scope="module")
def head():
    return head_of(open_bundle("engagement"))


PAIRS = [
    Pair(("Do you like music?",), "I love it, I play the violin. What do you listen to?"),
    Pair(("Do you like music?",), "Yes."),
    Pair(("Well.", "What did you eat?", " "), "Fish from the river, my brother caught it."),
]


def test_it_is_a_classifier_and_a_long_answer_beats_a_yes(head):
    assert isinstance(head, PairClassifier)
    long, short, _ = head.classify(PAIRS)
    assert long > short


def test_every_feature_has_one_part_and_values_are_in_their_own_units(head):
    weighed = head.explain(PAIRS)[1]
    assert {part.name for part in weighed.parts} == set(part_names(base=False))
    assert next(part for part in weighed.parts if part.name == "words").value == 1.0


def test_blank_turns_are_skipped_and_older_ones_are_not_read(head):
    assert head.classify([PAIRS[2]]) == head.classify(
        [Pair(("What did you eat?",), PAIRS[2].right)]
    )


def test_a_pair_without_words_has_nothing_to_judge(head):
    assert head.classify([Pair((), "Yes."), Pair((" ",), "Yes."), Pair(("Hi",), "")]) == [0.5] * 3


def test_the_bits_do_not_depend_on_the_company(head):
    alone = [head.classify([pair])[0] for pair in PAIRS]
    assert head.classify(PAIRS * 100) == alone * 100


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("centre = [", "centre = [1.0, ", "settings.centre: a list of 9 numbers"),
        ("average = [", "average = [1.0, ", "settings.average: a list of 3 numbers"),
        ("spread = [", "spread = [-", "settings.spread: numbers above 0 only"),
    ],
)
def test_settings_that_do_not_fit_are_named(tmp_path, old, new, says):
    folder = tmp_path / "broken"
    shutil.copytree(open_bundle("engagement").folder, folder)
    card = folder / "card.toml"
    card.write_text(card.read_text("utf-8").replace(old, new), "utf-8")
    with pytest.raises(BundleError, match=says):
        head_of(open_bundle(folder))


def test_the_scale_takes_counts_as_logarithms_and_cuts_what_is_far():
    numbers = np.array([surface("Hi.", "word " * n) for n in (1, 3, 9)])
    scaled = Scale.of(numbers)(numbers)
    assert scaled[:, 0].mean() == pytest.approx(0, abs=1e-6)
    far = Scale.of(numbers)(np.array([surface("Hi.", "word " * 10_000)]))
    assert far[0, 0] == 3.0
    constant = SURFACE.index("is asked")
    assert scaled[:, constant].tolist() == [0, 0, 0]
