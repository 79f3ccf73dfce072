"""Fluency: words of a reply that are out of their place, in the metric and in relevance."""

from __future__ import annotations

import json

import numpy as np
import pytest

from grice.data import FeatureEvidence
from grice.errors import ModelFolderError
from grice.models.folder import file_sha256, open_folder
from grice.models.loader import ModelLoader
from grice.models.protocols import Pair
from grice.models.ranker import FluencyModel

METRIC = "fluency"
PLAIN = "I went to the park with my sister and we had a lot of fun."


@pytest.mark.parametrize("broken", [
    "I went park to the sister with my and had we a lot of fun.",
    "I went to the the park with my sister and we had had a lot of fun.",
    "I goes to park with the my sister and we having lot of fun.",
])  # fmt: skip
def test_words_out_of_place_lower_the_value(judged, broken):
    assert judged("Hi!", broken).value < judged("Hi!", PLAIN).value
    assert judged("Hi!", PLAIN).value > 0.5


def test_the_reason_accuses_no_word_of_a_fluent_reply(judged):
    fine, broken = judged("Hi!", PLAIN), judged("Hi!", "To went park it the a of.")
    assert fine.value > 0.5
    assert fine.reason == f"mean excess surprisal of {fine.evidence[0].value:.2f} nats per token"
    assert broken.value < 0.5
    assert broken.reason.startswith(broken.evidence[1].name)


def test_the_evidence_points_at_the_words(judged):
    text = "  That sounds nice. I went to park the with my sister."
    score = judged("Hi!", text)
    words = [piece for piece in score.evidence if isinstance(piece, FeatureEvidence) and piece.span]
    places = [text[piece.span.start : piece.span.end] for piece in words]
    assert places
    assert {piece.span.turn for piece in words} == {1}
    assert [piece.name for piece in words] == [f"unexpected word: {place!r}" for place in places]
    assert {"park", "the", "with"} & set(places)
    assert [piece.value for piece in words] == sorted((w.value for w in words), reverse=True)


def test_what_was_said_before_does_not_matter(judged):
    first = judged("Where did you go?", PLAIN)
    assert judged("Name three metals, please.", PLAIN).value == first.value
    assert judged(PLAIN).value == first.value


def test_a_long_reply_is_read_sentence_by_sentence(judged):
    text = " ".join([PLAIN] * 15 + ["Then home went bus the by tired we."])
    score = judged("Hi!", text)
    spans = [piece.span for piece in score.evidence if piece.span is not None]
    assert any(span.start > len(PLAIN) * 15 for span in spans)
    assert all(text[span.start : span.end].strip() for span in spans)


PIECES = ["<s>", "</s>", "it", "is", "good", "axolotl"]
USUAL = np.log(np.array([0.01, 0.29, 0.2, 0.2, 0.2, 0.1], np.float32))
IN_PLACE = {"</s>": -0.5, "it": -1.0, "is": -0.4, "axolotl": -3.0, "good": -7.0}


class Model:
    """Says of every piece the same wherever it stands."""

    identity = "model"

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []

    def token_log_probabilities(self, items):
        self.asked += items
        texts = [text for _, text, _ in items]
        return [[(piece, IN_PLACE[piece]) for piece in (*text.split(), "</s>")] for text in texts]


def folder_of(path, *, usual=USUAL, begin="<s>"):
    path.mkdir()
    (path / "shared_vocabulary.json").write_text(json.dumps(PIECES))
    np.save(path / "usual.npy", usual)
    sums = "\n".join(f'"{file.name}" = "{file_sha256(file)}"' for file in sorted(path.iterdir()))
    (path / "card.toml").write_text(
        'name = "tiny"\nkind = "generator"\nversion = "1"\nsummary = "-"\nlicence = "-"\n'
        f'[settings]\nbegin = "{begin}"\n[files]\n{sums}\n'
    )
    return open_folder(path)


@pytest.fixture
def model():
    return Model()


@pytest.fixture
def fluency(tmp_path, model):
    return FluencyModel(folder_of(tmp_path / "bundle"), model)


def test_a_piece_is_disfluent_where_it_is_less_likely_than_at_large(fluency, model):
    good, *usual = fluency.disfluency(["it is good", "it is", "axolotl", "it is"])
    assert (good, usual) == (pytest.approx((np.log(0.2) + 7.0 - 1.0) / 4, abs=1e-5), [0.0] * 3)
    assert model.asked == [("", text, "<s>") for text in ("it is good", "it is", "axolotl")]
    assert fluency.disfluency([]) == []


@pytest.mark.parametrize(("usual", "begin"), [(USUAL[:-1], "<s>"), (USUAL, "<start>")])
def test_files_that_do_not_fit_one_another_are_named(tmp_path, model, usual, begin):
    folder = folder_of(tmp_path / "bundle", usual=usual, begin=begin)
    with pytest.raises(ModelFolderError, match=r"usual\.npy has \d numbers for 6 pieces"):
        FluencyModel(folder, model)


def test_relevance_of_a_broken_reply_is_below_the_same_one_well_said():
    replies = "Actually, it is good to say.", "Actually, it good to say."
    judge = ModelLoader().load("builtin:relevance")
    well, broken = judge.classify([Pair(("Do you like tea?",), reply) for reply in replies])
    assert well > broken + 0.1
