"""A classifier of pairs, whatever computes its logits."""

from __future__ import annotations

import numpy as np
import pytest
from test_engines import folder, kept

from grice.errors import ModelFolderError
from grice.models.cache import Cache
from grice.models.folder import open_folder
from grice.models.pretrained import CrossEncoder, LabelSettings
from grice.models.protocols import Pair


@pytest.fixture
def made(tmp_path):
    """Return what makes a classifier, and the tokens that its network was given."""
    directory = folder(kept(tmp_path), tmp_path / "b", "onnx-nli")
    seen = []

    def make(outputs=2, labels=("no", "yes"), positive="yes", threads=1):
        def logits(ids, types):
            seen.append((ids, types))
            return np.array([len(ids), *range(1, outputs)], np.float32)

        settings = LabelSettings(20, list(labels), positive)
        return CrossEncoder(
            open_folder(directory), settings, logits, Cache(None), engine="test", threads=threads
        )

    return make, seen


def test_probabilities_sum_to_one_and_a_pair_is_read_once(made):
    make, seen = made
    model = make()
    rows = model.label_probabilities([Pair(("i",), "run"), Pair(("i",), "run")])
    assert rows.shape == (2, 2)
    assert rows.sum(axis=1) == pytest.approx([1, 1])
    assert model.classify([Pair(("i",), "run")]) == pytest.approx([rows[0, 1]])
    assert seen == [([1, 4, 2, 9, 2], [0, 0, 0, 1, 1])]


def test_of_a_long_history_the_end_is_read_and_of_a_long_reply_the_beginning(made):
    make, seen = made
    make().classify([Pair(("bread " * 40 + "i",), "run " * 40 + "late")])
    ((ids, types),) = seen
    assert len(ids) == 20
    assert ids[:2] == [1, 6]
    assert ids[ids.index(2) - 1] == 4
    assert ids[-2:] == [9, 2]
    assert sum(types) == 9


def test_a_single_output_is_a_probability_by_itself(made):
    make, _ = made
    model = make(outputs=1, labels=["yes"])
    assert model.classify([Pair((), "run")])[0] == pytest.approx(1 / (1 + np.exp(-4)))


def test_outputs_that_are_no_labels_are_refused(made):
    make, _ = made
    with pytest.raises(ModelFolderError, match="3 outputs for the labels no, yes"):
        make(outputs=3).classify([Pair((), "run")])
    with pytest.raises(ModelFolderError, match="one of no, yes is needed, found 'maybe'"):
        make(positive="maybe")


def test_what_is_too_long_to_be_read_whole_is_said(made):
    make, _ = made
    assert make().truncated(["run", "run " * 30]) == [False, True]
