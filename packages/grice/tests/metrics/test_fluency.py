"""Fluency: words of a reply that are out of their place, in the metric and in relevance."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from grice.data import FeatureEvidence
from grice.errors import ModelFolderError
from grice.metrics.fluency import FluencyModel
from grice.models.folder import file_sha256, open_folder, shipped_models
from grice.models.loader import ModelLoader
from grice.models.protocols import Pair

METRIC = "fluency"
PLAIN = "I went to the park with my sister and we had a lot of fun."


@pytest.mark.parametrize(
    "broken",
    [
        "I went park to the sister with my and had we a lot of fun.",
        "I went to the the park with my sister and we had had a lot of fun.",
        "I goes to park with the my sister and we having lot of fun.",
    ],
)
def test_words_out_of_place_lower_the_value(judged, broken):
    assert judged("Hi!", broken).value < judged("Hi!", PLAIN).value
    assert judged("Hi!", PLAIN).value > 0.5


def test_the_reason_accuses_no_word_of_a_fluent_reply(judged):
    fine, broken = judged("Hi!", PLAIN), judged("Hi!", "To went park it the a of.")
    assert (fine.value > 0.5, fine.reason) == (True, "its words are in place")
    assert broken.value < 0.5
    assert broken.reason.startswith(broken.evidence[1].name)


def test_the_evidence_points_at_the_words(judged):
    text = "  That sounds nice. I went to park the with my sister."
    score = judged("Hi!", text)
    words = [piece for piece in score.evidence if isinstance(piece, FeatureEvidence) and piece.span]
    places = [text[piece.span.start : piece.span.end] for piece in words]
    assert places
    assert {piece.span.turn for piece in words} == {1}
    assert [piece.name for piece in words] == [f"out of place: {place!r}" for place in places]
    assert {"park", "the", "with"} & set(places)
    assert [piece.value for piece in words] == sorted((w.value for w in words), reverse=True)


def test_what_was_said_before_does_not_matter(judged):
    first = judged("Where did you go?", PLAIN)
    assert judged("Name three metals, please.", PLAIN).value == first.value
    assert judged(PLAIN).value == first.value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Yes, sure.", "fewer than 3 words say too little"),
        ("... !!! ...", "the reply holds no word"),
        (
            "Ich bin gestern mit meiner Schwester in den Park gegangen.",
            "the reply is in German, not in English",
        ),
    ],
)
def test_what_cannot_be_judged_abstains(judged, text, reason):
    score = judged("Hi!", text)
    assert (score.status, score.value, score.reason) == ("abstained", 0.5, reason)


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

    def piece_log_probabilities(self, prompts, texts, *, begin):
        self.asked += zip(prompts, texts, begin, strict=True)
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


def test_a_piece_is_disfluent_where_it_is_less_likely_than_at_large(fluency):
    assert fluency.disfluency(["it is good"]) == [
        pytest.approx((np.log(0.2) + 7.0 - 1.0) / 4, abs=1e-5)
    ]


def test_what_is_likely_in_its_place_and_what_is_rare_everywhere_is_fluent(fluency):
    assert fluency.disfluency(["it is", "axolotl"]) == [0.0, 0.0]


def test_each_text_is_read_once_and_without_what_was_said_before(fluency, model):
    first, second, third = fluency.disfluency(["it is", "good", "it is"])
    assert first == third
    assert second > 0
    assert sorted(model.asked) == [("", "good", "<s>"), ("", "it is", "<s>")]


def test_no_text_is_no_question(fluency):
    assert fluency.disfluency([]) == []


@pytest.mark.parametrize(("usual", "begin"), [(USUAL[:-1], "<s>"), (USUAL, "<start>")])
def test_files_that_do_not_fit_one_another_are_named(tmp_path, model, usual, begin):
    folder = folder_of(tmp_path / "bundle", usual=usual, begin=begin)
    with pytest.raises(ModelFolderError, match=r"usual\.npy has \d numbers for 6 pieces"):
        FluencyModel(folder, model)


@pytest.fixture(scope="module")
def judge():
    models = ModelLoader(mode="exact", workers=1, cache=None)
    yield models.load("builtin:relevance")
    models.close()


def test_a_broken_reply_is_judged_below_the_same_one_well_said(judge):
    before = ("Do you like tea?",)
    well, broken = judge.classify(
        [Pair(before, "Actually, it is good to say."), Pair(before, "Actually, it good to say.")]
    )
    assert well > broken + 0.1


def test_an_answer_hangs_on_its_own_pair_alone(judge):
    pairs = [
        Pair(("Do you like tea?",), "Yes, very much."),
        Pair(("Where is it?", "Over there."), "Thank you so much for your help with all of this."),
        Pair(("Hello.",), "blue my yesterday the of"),
    ]
    together = judge.classify(pairs * 3)
    assert together == [value for pair in pairs * 3 for value in judge.classify([pair])]


def test_where_there_is_nothing_to_judge_it_says_so(judge):
    assert judge.classify([Pair((), "Hello there."), Pair(("Hello.",), " ")]) == [0.5, 0.5]
    assert judge.classify([]) == []


def test_weights_must_be_stated(tmp_path):
    folder = tmp_path / "head"
    shutil.copytree(shipped_models()["relevance"], folder)
    card = folder / "card.toml"
    card.write_text(card.read_text("utf-8").replace("weight_shift", "shift"), "utf-8")
    with pytest.raises(ModelFolderError, match="missing required field `weight_shift`"):
        ModelLoader(mode="exact", workers=1, cache=None).load(f"file:{folder}")
