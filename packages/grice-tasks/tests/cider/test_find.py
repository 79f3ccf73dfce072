from __future__ import annotations

import json
import re
from itertools import pairwise

import numpy as np
import pytest

from grice.cli import main
from grice.data import Conversation, Span, Turn
from grice.errors import InputError, ModelFolderError, RecordError
from grice.models.embedded import Hidden
from grice.models.protocols import TaggedSpan
from grice_tasks.cider.find import (
    Link,
    Wanted,
    find_all,
    find_links,
    links_of_records,
    wanted_links,
)
from grice_tasks.cider.models import LinkHead, TripletModels, span_vectors
from grice_tasks.cider.page import links_page
from grice_tasks.cider.reading import (
    NEW,
    STRUCTURE,
    layout_of,
    locate,
    read_texts,
    stretches,
    structure,
)
from grice_tasks.cider.span_candidates import find_candidates, join_turns, slices, things

WIDTH = 8


def states(text):
    """Return a state per word that depends on the word alone."""
    offsets, rows, at = [], [], 0
    for word in text.split(" "):
        if word:
            offsets.append((at, at + len(word)))
            rows.append(np.random.default_rng(sum(map(ord, word))).normal(size=WIDTH))
        at += len(word) + 1
    return Hidden(np.array(rows, np.float32).reshape(-1, WIDTH), offsets)


class FakeEncoder:
    identity = "fake"

    def hidden(self, texts):
        return [states(text) for text in texts]

    def encode(self, texts):
        return [states(text).states.sum(axis=0) for text in texts]


class FakeTagger:
    """Takes every clause up to a mark, without a word that begins it, for an event."""

    def tag(self, texts):
        return [
            tuple(
                TaggedSpan(text.index(part), text.index(part) + len(part), "event", 0.9)
                for part in re.split(r"[,.]\s*(?:because\s)?", text)
                if part.strip()
            )
            for text in texts
        ]


@pytest.fixture
def links_file(tmp_path):
    draw = np.random.default_rng(0)
    width, hidden = 4, 5
    shapes = {"head": (WIDTH, width), "tail": (WIDTH, width),
              "hidden": (3 * width + STRUCTURE, hidden), "out": (hidden, 93)}  # fmt: skip
    arrays = {}
    for name, shape in shapes.items():
        arrays[f"{name}_weight"] = draw.normal(size=shape)
        arrays[f"{name}_bias"] = draw.normal(size=shape[1])
    np.savez(tmp_path / "links.npz", **arrays)
    return tmp_path / "links.npz"


@pytest.fixture
def models(links_file):
    return TripletModels(
        LinkHead(links_file),
        -500.0,
        FakeEncoder(),
        tagger=lambda hidden: FakeTagger(),
    )


@pytest.fixture
def bus():
    return Conversation(
        "bus",
        (
            Turn("A", "I missed the early bus, because my wallet was lost."),
            Turn("B", "You came home late. The meeting room was empty"),
        ),
    )


def test_spans_point_at_the_words(bus, models):
    links = find_links(bus, models, Wanted(most=50, each=50))
    assert links
    for triplet in links:
        for words, span in ((triplet.head, triplet.head_span), (triplet.tail, triplet.tail_span)):
            assert bus.turns[span.turn].text[span.start : span.end] == words
        assert 0 <= triplet.confidence <= 1
    assert len({frozenset((triple.head.lower(), triple.tail.lower())) for triple in links}) == len(
        links
    )


def test_a_connective_makes_a_link_explicit_whatever_the_network_would_say(models):
    talk = Conversation("x", (Turn("A", "I stayed at home, because I lost my wallet"),))
    (triplet,) = [
        candidate for candidate in find_links(talk, models, Wanted(most=50)) if candidate.explicit
    ]
    assert (triplet.head, triplet.relation, triplet.tail) == (
        "lost my wallet",
        "Causes",
        "stayed at home",
    )
    bare = Conversation("x", (Turn("A", "I stayed at home. I lost my wallet"),))
    assert not [
        candidate for candidate in find_links(bare, models, Wanted(most=50)) if candidate.explicit
    ]


def test_bounds_hold(bus, models):
    assert len(find_links(bus, models, Wanted(most=1))) == 1
    assert all(triplet.confidence >= 0.8 for triplet in find_links(bus, models, Wanted(least=0.8)))
    assert not find_links(bus, models._replace(level=500.0))
    assert all(triplet.explicit for triplet in find_links(bus, models, Wanted(implicit=False)))
    (some, *_) = find_links(bus, models)
    only = find_links(bus, models, Wanted(relations=frozenset({some.relation}), most=50))
    assert {triplet.relation for triplet in only} == {some.relation}
    with pytest.raises(InputError, match="1 or more"):
        find_links(bus, models, Wanted(most=0))
    with pytest.raises(InputError, match="no tagger"):
        find_links(bus, models._replace(tagger=None))


def test_conversations_read_together_have_the_links_they_have_alone(bus, models):
    empty = Conversation("empty", ())
    several = [bus, empty, *[bus] * 9]
    alone = find_links(bus, models)
    assert list(find_all(several, models)) == [alone, [], *[alone] * 9]


def test_records_that_cannot_be_read_come_between_the_links_of_the_others(bus, models):
    broken = RecordError("no turns", file="talks.jsonl", line=2)
    items = list(links_of_records([bus, broken, bus], models, wanted_links(most=1)))
    assert broken in items
    read = [item for item in items if item is not broken]
    assert [item.conversation for item in read] == [bus, bus]
    assert read[0].links == find_links(bus, models, Wanted(most=1))
    with pytest.raises(InputError, match="did you mean 'Causes'"):
        wanted_links(["Cauzes"])


@pytest.mark.parametrize(
    "turns",
    [(), (Turn("", ""),), (Turn("", "   "), Turn("", "ok")), (Turn("", "."),)],
)
def test_nothing_to_link(turns, models):
    assert find_links(Conversation("x", turns), models) == []


def test_conversations_without_speakers(bus, models):
    bare = Conversation("bus", tuple(Turn("", turn.text) for turn in bus.turns))
    assert find_links(bare, models) == find_links(bus, models)


def test_a_long_text_is_read_in_windows_and_no_word_is_lost():
    text = " ".join(f"word{i}." for i in range(400))
    parts = list(stretches(text))
    assert len(parts) > 3
    assert parts[0][0] == 0
    assert parts[-1][1] == len(text)
    assert all(a[1] == b[0] for a, b in pairwise(parts))
    assert all(b - a <= NEW + 250 for a, b in parts)
    reading = read_texts([text], FakeEncoder().hidden)[0]
    assert [text[a:b] for a, b in zip(reading.starts, reading.ends, strict=True)] == text.split()
    place = locate(text, "word300. word301.")
    wanted = states("word300. word301.").states.mean(axis=0)
    assert reading.vector(place) == pytest.approx(wanted / np.linalg.norm(wanted), abs=1e-5)
    assert not reading.vector((0, 0)).any()


def test_turns_get_the_states_of_the_conversation(bus):
    joined = join_turns(bus)
    reading = read_texts([joined.text], FakeEncoder().hidden)[0]
    for (text, hidden), turn in zip(slices(reading, joined), bus.turns, strict=True):
        assert text == turn.text
        assert [text[a:b] for a, b in hidden.offsets] == text.split()


def test_events_lose_their_subject_and_marks(bus):
    joined = join_turns(bus)
    candidates = find_candidates(joined, FakeTagger().tag)
    events = {
        joined.text[candidate.place[0] : candidate.place[1]]: candidate.event
        for candidate in candidates
    }
    assert events["my wallet was lost"]
    assert events["meeting room"] is False
    assert things("!!!") == []


def test_structure_of_spans_that_stand_nowhere():
    layout = layout_of("I missed the bus. You are late.")
    here = structure(layout, "missed the bus", "late", (2, 16), (26, 30))
    assert here.shape == (STRUCTURE,)
    assert here[12] > 0
    assert structure(layout, "late", "missed the bus", (26, 30), (2, 16))[12] < 0
    gone = structure(layout, "missed the bus", "tired", (2, 16), None)
    assert gone[6] == 1
    assert not gone[12:].any()
    assert locate("abc", " ") is None


def test_a_pair_is_judged_alike_among_others(links_file):
    head = LinkHead(links_file)
    encoder = FakeEncoder()
    text = "I missed the bus. You are late."
    reading = read_texts([text], encoder.hidden)[0]
    spans = ["missed the bus", "late", "tired"]
    sides = span_vectors(reading, layout_of(text), spans, alone=encoder.encode, both=False)
    assert sides.places[2] is None
    scores = head(sides, [(0, 1), (1, 0), (0, 2)])
    assert scores.shape == (3, 3, 31)
    assert np.array_equal(head(sides, [(0, 1)])[0], scores[0])
    with pytest.raises(InputError, match="did you mean 'Causes'"):
        head.index("Cause")
    with pytest.raises(InputError, match="this head reads 8"):
        head(sides._replace(vectors=np.zeros((3, 5), np.float32)), [(0, 1)])


def test_arrays_that_do_not_fit_are_refused(links_file):
    with np.load(links_file) as arrays:
        kept = dict(arrays)
    kept["out_weight"] = kept["out_weight"][:, :90]
    np.savez(links_file, **kept)
    with pytest.raises(ModelFolderError, match="do not fit"):
        LinkHead(links_file)


def link(**changes):
    stated = {
        "conversation": "bus", "head": "missed the bus", "relation": "Causes", "tail": "late",
        "head_span": Span(0, 2, 16), "tail_span": Span(1, 8, 12), "confidence": 0.7,
        "explicit": False,
    }  # fmt: skip
    return Link(**(stated | changes))


def test_the_page_shows_every_link_and_escapes_what_was_said(bus):
    evil = Conversation("<b>", (*bus.turns, Turn("<i>", "<script>alert(1)</script>\x07" * 9)))
    overlapping = link(explicit=True, relation="Unknown", tail_span=Span(0, 9, 16))
    page = links_page([(evil, [link(), overlapping]), (Conversation("empty", ()), [])])
    assert "<script>alert" not in page
    assert "\x07" not in page
    assert page.count("<tr data-link=") == 2
    assert '<span class="linked" data-head="0 1" data-tail="">missed </span>' in page
    assert '<span class="linked" data-head="0 1" data-tail="1">the ear</span>' in page
    assert '<span class="linked" data-head="" data-tail="0"> hom</span>' in page
    assert "no link is sure enough" in page
    assert "://" not in page


def test_a_model_without_links_is_refused_by_name(tmp_path, capsys):
    talk = tmp_path / "talk.txt"
    talk.write_text("A: Hello there.\nB: Hello to you.\n")
    assert main(["cider", str(talk), "--model", "bundle:extraction"]) == 2
    message = " ".join(capsys.readouterr().err.split())
    assert "bundle:extraction finds no links: name a model such as bundle:triplets" in message


def test_an_event_ends_before_the_connective_that_its_tagger_took_in():
    text = "I brushed my teeth before I went to bed."
    joined = join_turns(Conversation("teeth", (Turn("A", text),)))
    spans = (TaggedSpan(0, 25, "event", 0.9), TaggedSpan(26, 39, "event", 0.9))
    events = [
        text[slice(*candidate.place)]
        for candidate in find_candidates(joined, lambda _: [spans])
        if candidate.event
    ]
    assert events == ["brushed my teeth", "went to bed"]


def test_the_command_writes_lines_that_a_file_of_knowledge_can_take(tmp_path, capsys):
    pytest.importorskip("ctranslate2")
    from grice.models.folder import shipped_models

    if "triplets" not in shipped_models():
        pytest.skip("the heads are not in this checkout")
    talk = tmp_path / "talk.txt"
    talk.write_text("A: I missed the bus because I overslept.\nB: So you are late for work?\n")
    out, page = tmp_path / "links.jsonl", tmp_path / "links.html"
    status = main(
        ["cider", str(talk), "--least", "0.01", "-o", str(out), "--report", str(page)]
    )  # fmt: skip
    assert status == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert rows
    assert {"head", "relation", "tail", "head_span", "tail_span", "explicit"} <= rows[0].keys()
    assert "<tr data-link=" in page.read_text()
    assert main(["cider", str(talk), "--relation", "Cause"]) == 2
    assert "did you mean 'Causes'" in capsys.readouterr().err
