"""What lies farther out than almost all held-out training turns, by made and by real vectors."""

from __future__ import annotations

import inspect
import shutil

import numpy as np
import pytest

from grice.errors import BundleError
from grice.evaluation.domain import Domain, nearest, open_domain
from grice.evaluation.health import Thresholds, health
from grice.models import embedded
from grice.models.bundle import file_sha256, open_bundle, shipped_bundles
from grice.records import Conversation, Turn
from grice.scoring import load

EVERYDAY = [
    "Hi, how are you doing today?",
    "I went to the park with my dog this morning.",
    "Do you like to watch movies on weekends?",
    "I have two kids and I work as a nurse.",
    "What would you like to eat for dinner?",
    "My sister is getting married next month, so we are all very busy.",
    "I love listening to music while I cook.",
    "Can you book me a table for two at seven?",
]
CODE = [line.strip() for line in inspect.getsource(embedded).splitlines() if "(" in line]
RUSSIAN = ["Как прошёл твой день?", "Я весь день гулял с собакой."]


def along(angles):
    """Return an encoder whose vectors have the stated cosine to the first axis, by text."""

    def encode(texts):
        return [np.array([np.cos(angles[t]), np.sin(angles[t])], np.float32) for t in texts]

    return encode


def test_the_nearest_centroid_counts_and_what_cannot_be_read_is_farthest():
    centroids = np.array([[1, 0], [0, 1]], np.float32)
    encode = along({"first": 0.1, "second": np.pi / 2 - 0.2, "opposite": np.pi * 1.25})
    texts = ["opposite", "...", "second", "Да, конечно.", "first"]
    expected = [np.cos(np.pi * 0.75), -1, np.cos(0.2), -1, np.cos(0.1)]
    assert nearest(texts, encode, centroids) == pytest.approx(expected)


def test_a_turn_lies_outside_if_its_cosine_is_below_the_limit():
    domain = Domain(np.array([[1, 0]], np.float32), 0.5, "encoder@0")
    encode = along({"inside": np.arccos(0.51), "outside": np.arccos(0.49)})
    assert domain.outside(["outside", "inside"], encode).tolist() == [True, False]
    assert domain.outside([], encode).tolist() == []


def test_the_shipped_one_was_measured_with_the_shipped_encoder():
    domain = open_domain()
    assert domain.fits([open_bundle("relevance"), open_bundle("encoder")])
    assert not domain.fits([open_bundle("relevance")])
    assert np.linalg.norm(domain.centroids, axis=1) == pytest.approx(1, abs=1e-3)


def test_a_changed_file_and_another_kind_are_refused(tmp_path):
    folder = tmp_path / "domain"
    shutil.copytree(shipped_bundles()["domain"], folder)
    assert open_domain(folder).limit == open_domain().limit
    with (folder / "domain.npz").open("ab") as file:
        file.write(b"\0")
    with pytest.raises(BundleError, match=r"domain\.npz is not the file"):
        open_domain(folder)
    with pytest.raises(BundleError, match="a bundle of kind domain is needed"):
        open_domain("relevance")


def test_its_file_is_small():
    bundle = open_bundle("domain")
    assert bundle.path("domain.npz").stat().st_size <= 80_000
    assert bundle.card.files["domain.npz"] == file_sha256(bundle.path("domain.npz"))


def talks(texts, count=12):
    return [
        Conversation(
            f"t{i}", tuple(Turn("AB"[j % 2], texts[(i + j) % len(texts)]) for j in range(6))
        )
        for i in range(count)
    ]


@pytest.fixture(scope="module")
def grader():
    with load("relevance", "log_length") as grader:
        yield grader


def card(grader, texts, **more):
    [relevance, length] = health(talks(texts), grader.scorer, encode=grader.encode, **more).cards
    assert length.outside is None
    assert any("cannot be told" in remark for remark in length.remarks)
    return relevance


def distance_warnings(card):
    return [
        warning
        for warning in card.warnings
        if "unlike anything its models were trained on" in warning
    ]


def test_everyday_talk_is_near(grader):
    health_card = card(grader, EVERYDAY)
    assert health_card.outside.value == 0
    assert health_card.outside.n == 72
    assert health_card.outside.low == 0 < health_card.outside.high
    assert distance_warnings(health_card) == []
    [distance_remark] = [
        remark for remark in health_card.remarks if "held-out conversations" in remark
    ]
    assert distance_remark.startswith("0.0% of its turns lie farther")
    assert not any("cannot be told" in remark for remark in health_card.remarks)


@pytest.mark.parametrize("texts", [CODE, RUSSIAN], ids=["code", "Russian"])
def test_code_and_another_script_are_far(grader, texts):
    health_card = card(grader, texts)
    assert health_card.outside.value > 0.5
    [warning] = distance_warnings(health_card)
    assert warning.startswith(
        f"do not trust relevance on this file because {health_card.outside.value:.0%}"
    )
    assert "(5% are usual)" in warning
    assert distance_warnings(card(grader, texts, thresholds=Thresholds(outside=1.0))) == []


def test_the_share_counts_turns_not_distinct_texts(grader):
    health_card = card(grader, [EVERYDAY[0], EVERYDAY[1], RUSSIAN[0]])
    assert health_card.outside.value == pytest.approx(1 / 3)


def test_without_vectors_it_is_said_that_nothing_can_be_told(grader):
    [relevance, _] = health(talks(EVERYDAY), grader.scorer).cards
    assert relevance.outside is None
    assert any("cannot be told" in remark for remark in relevance.remarks)
