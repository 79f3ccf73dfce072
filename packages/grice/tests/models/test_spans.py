"""Spans are cut at words, do not depend on batch mates, and state their own probability."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from grice.errors import ModelFolderError
from grice.models.cache import Cache
from grice.models.embedded import EmbeddedEncoder
from grice.models.folder import Card, ModelFolder, open_folder
from grice.models.loader import ModelLoader, read_settings
from grice.models.mlp import Mlp
from grice.models.spans import CHARACTERS, WINDOWS, SpanHead, SpanSettings

ROOM = 250
"""Tokens the invented encoder reads; it keeps the end of a longer text."""
SETTINGS = {
    "label": "event",
    "reach": 0,
    "start": [0.3, -0.2, 0.0],
    "transitions": [0.5, -0.4, 0.0, -0.3, 0.1, 0.6, 0.2, -0.1, 0.4],
}


def stated(settings):
    card = Card("tiny", "span-head", "1", "-", "-", {}, settings=settings)
    return read_settings(ModelFolder(Path(), card, "0"), SpanSettings)


def by_character(texts):
    """An invented encoder: every character is a token whose state is its three tag weights."""
    weights, answers = {"B": (0.0, 3.0, 0.0), "I": (0.0, 0.0, 3.0), "?": (0.2, 0.5, 0.4)}, []
    for text in texts:
        places = [(i, i + 1) for i, c in enumerate(text) if not c.isspace()][-ROOM:]
        states = [(0.0, 0.0, 0.0), *(weights.get(text[a], (2.0, 0.0, 0.0)) for a, _ in places)]
        answers.append((np.array(states, np.float32), [(0, 0), *places]))
    return answers


@pytest.fixture
def folder(tmp_path):
    Mlp([(np.eye(3, dtype=np.float32), np.zeros(3, np.float32))]).save(tmp_path / "head.npz")
    return tmp_path


@pytest.fixture
def head(folder):
    return SpanHead(stated(SETTINGS), folder, by_character, "invented")


@pytest.fixture(scope="module")
def shipped():
    folder = open_folder("events")
    encoder = ModelLoader().load("builtin:encoder", EmbeddedEncoder)
    settings = read_settings(folder, SpanSettings)
    return SpanHead(settings, folder.path, encoder.hidden_states, "events")


def cut(text, spans):
    return [text[span.start : span.end] for span in spans]


def brute_force(text):
    """Return every span's probability and the most probable tags, by trying all sequences."""
    ((states, places),) = by_character([text])
    weights, scores = np.array(SETTINGS["transitions"]).reshape(3, 3), {}
    for tags in itertools.product(range(3), repeat=len(places) - 1):
        if tags[0] == 2 or any(a == 0 and b == 2 for a, b in itertools.pairwise(tags)):
            continue
        score = SETTINGS["start"][tags[0]] + sum(states[i + 1, t] for i, t in enumerate(tags))
        scores[tags] = score + sum(weights[a, b] for a, b in itertools.pairwise(tags))
    total = sum(np.exp(score) for score in scores.values())
    spans: dict[tuple[int, int], float] = {}
    for tags, score in scores.items():
        for begin in (i for i, t in enumerate(tags) if t == 1):
            end = begin + 1
            while end < len(tags) and tags[end] == 2:
                end += 1
            key = (places[begin + 1][0], places[end][1])
            spans[key] = spans.get(key, 0.0) + float(np.exp(score) / total)
    return spans, max(scores, key=scores.__getitem__)


@pytest.mark.parametrize("text", ["? ? ?", "B I . ? I", ". ? B ? I .", "? B ? ? . ?", "B"])
def test_spans_are_those_of_the_best_sequence_with_their_probability(head, text):
    probabilities, best = brute_force(text)
    spans = head.tag([text])[0]
    assert len(spans) == best.count(1)
    for span in spans:
        assert span.confidence == pytest.approx(probabilities[span.start, span.end], abs=1e-5)


@pytest.mark.parametrize("text", ["Bx Ix", "BxB xI"])  # weights want borders inside of words
def test_a_span_never_cuts_a_word(head, text):
    assert cut(text, head.tag([text])[0]) == [text]


def test_nothing_of_a_long_text_is_lost(head):
    text = "B I . " * 1000
    assert len(text) > 5 * CHARACTERS
    assert cut(text, head.tag([text])[0]) == ["B I"] * 1000
    dense = ("B I" + "." * 7) * 400  # without a blank between most tokens
    ((_, offsets),) = by_character([dense[:CHARACTERS]])
    assert offsets[1][0] > 0, "the invented encoder would leave out the beginning"
    assert len(head.tag([dense])[0]) == 400


def test_the_shipped_model_finds_clauses_and_no_courtesies(shipped):
    text = "Well, I just got fired because I made a mistake. My wife is angry!"
    clauses = ["I just got fired", "I made a mistake", "My wife is angry"]
    assert cut(text, shipped.tag([text])[0]) == clauses
    blank = ["", " ", "\n\t \u00a0"]
    assert not any(shipped.tag(["Thank you!", "Hello, how are you?", "lol", *blank]))


def test_spans_have_the_same_bits_in_every_batch_and_come_in_order(shipped):
    texts = ["i quit my job and now i travel", "She adopted a dog.", "", "ok"]
    texts += ["Do you like hiking? I climbed a mountain last year."]
    together = shipped.tag(texts)
    assert together == [shipped.tag([text])[0] for text in texts]
    assert together[::-1] == shipped.tag(texts[::-1])
    spans = shipped.tag(["I lost my job, so I moved home and my parents helped me. " * 40])[0]
    assert len(spans) >= 80
    assert all(a.end <= b.start for a, b in itertools.pairwise(spans))
    assert all(0 < span.confidence <= 1 for span in spans)


def test_spans_come_from_the_cache_as_they_were(folder):
    head = SpanHead(stated(SETTINGS), folder, by_character, "invented", Cache(None))
    first = head.tag(["B I . ? I"])
    head._hidden_states = None
    assert head.tag(["B I . ? I"]) == first


@pytest.mark.parametrize(("changed", "message"), [
    ({"start": [0.0]}, "settings.start: expected `array` of length >= 3"),
    ({"transitions": [0.0]}, "settings.transitions: expected `array` of length >= 9"),
    ({"reach": "two"}, "settings.reach"),
])  # fmt: skip
def test_a_card_that_does_not_fit_is_refused(changed, message):
    with pytest.raises(ModelFolderError, match=message):
        stated(SETTINGS | changed)


def test_a_network_of_other_outputs_is_refused(tmp_path):
    Mlp([(np.eye(3, 2, dtype=np.float32), np.zeros(2, np.float32))]).save(tmp_path / "head.npz")
    with pytest.raises(ModelFolderError, match="3 outputs"):
        SpanHead(stated(SETTINGS), tmp_path, by_character, "invented")


def test_a_text_has_the_spans_it_has_alone_among_hundreds_of_others(head):
    texts = ["".join(draw) for draw in itertools.product("BI?.", repeat=6)]
    assert len(texts) > 3 * WINDOWS
    assert head.tag(texts) == [head.tag([text])[0] for text in texts]
