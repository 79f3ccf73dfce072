import json
import re
from itertools import pairwise

import numpy as np
import pytest

from grice.cli import main
from grice.data import Conversation, Span, Turn
from grice.errors import InputError, ModelFolderError, RecordError
from grice.models.embedded import HiddenStates
from grice.models.protocols import TaggedSpan
from grice_tasks.cider.find import Link, Wanted, find_links, links_page
from grice_tasks.cider.models import LinkHead, TripletModels, span_vectors
from grice_tasks.cider.reading import NEW, STRUCTURE, layout_of, locate, read_texts, stretches
from grice_tasks.cider.span_candidates import find_candidates, join_turns, slices

WIDTH = 8


def states(text):
    """Return a state per word that depends on the word alone."""
    offsets, rows, at = [], [], 0
    for word in text.split(" "):
        if word:
            offsets.append((at, at + len(word)))
            rows.append(np.random.default_rng(sum(map(ord, word))).normal(size=WIDTH))
        at += len(word) + 1
    return HiddenStates(np.array(rows, np.float32).reshape(-1, WIDTH), offsets)


class FakeEncoder:
    identity = "fake"

    def hidden_states(self, texts):
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
    tagger = lambda hidden: FakeTagger()  # noqa: E731
    return TripletModels(LinkHead(links_file), -500.0, FakeEncoder(), tagger=tagger)


def talk(*texts, speakers="AB", name="talk"):
    return Conversation(name, tuple(Turn(speakers[i % 2], text) for i, text in enumerate(texts)))


BUS = ("I missed the early bus, because my wallet was lost.",
       "You came home late. The meeting room was empty")  # fmt: skip


def links_in(conversation, models, **wanted):
    (found,) = find_links([conversation], models, Wanted(**wanted))
    assert found.conversation is conversation
    return found.links


def test_spans_point_at_the_words_and_no_pair_comes_twice(models):
    bus = talk(*BUS)
    links = links_in(bus, models, most=50, each=50)
    for link in links:
        for words, span in ((link.head, link.head_span), (link.tail, link.tail_span)):
            assert bus.turns[span.turn].text[span.start : span.end] == words
        assert 0 <= link.confidence <= 1
    pairs = {frozenset((link.head.lower(), link.tail.lower())) for link in links}
    assert len(pairs) == len(links) > 0


def test_a_connective_makes_a_link_explicit(models):
    def explicit(text):
        return [link for link in links_in(talk(text), models, most=50) if link.explicit]

    (link,) = explicit("I stayed at home, because I lost my wallet")
    assert (link.head, link.relation, link.tail) == ("lost my wallet", "Causes", "stayed at home")
    assert explicit("I stayed at home. I lost my wallet") == []


def test_conditions_on_links_hold(models):
    bus = talk(*BUS)
    assert len(links_in(bus, models, most=1)) == 1
    assert all(link.confidence >= 0.8 for link in links_in(bus, models, least=0.8))
    assert not links_in(bus, models._replace(level=500.0))
    assert all(link.explicit for link in links_in(bus, models, implicit=False))
    some = links_in(bus, models)[0].relation
    assert {link.relation for link in links_in(bus, models, relations=(some,))} == {some}
    with pytest.raises(InputError, match="no tagger"):
        links_in(bus, models._replace(tagger=None))
    for wanted, message in (({"most": 0}, "1 or more"), ({"least": 1.1}, "0 to 1"),
                            ({"relations": ("Cauzes",)}, "did you mean 'Causes'")):  # fmt: skip
        with pytest.raises(InputError, match=message):
            Wanted(**wanted)


def test_conversations_read_together_have_the_links_that_they_have_alone(models):
    bus, empty = talk(*BUS), talk(name="empty")
    broken, alone = RecordError("no turns", file="talks.jsonl", line=2), links_in(bus, models)
    first, second, third, *others = find_links([bus, broken, empty, *[bus] * 9], models)
    assert (first.links, second, third.links) == (alone, broken, [])
    assert [item.links for item in others] == [alone] * 9
    assert links_in(talk(*BUS, speakers="  "), models) == alone
    for texts in ((), ("",), ("   ", "ok"), (".",)):
        assert links_in(talk(*texts), models) == []


def test_a_long_text_is_read_in_windows_and_no_word_is_lost():
    text = " ".join(f"word{i}." for i in range(400))
    parts = list(stretches(text))
    assert (parts[0][0], parts[-1][1]) == (0, len(text))
    assert len(parts) > 3
    assert all(a[1] == b[0] for a, b in pairwise(parts))
    assert all(b - a <= NEW + 250 for a, b in parts)
    reading = read_texts([text], FakeEncoder().hidden_states)[0]
    assert [text[a:b] for a, b in zip(reading.starts, reading.ends, strict=True)] == text.split()
    wanted = states("word300. word301.").states.mean(axis=0)
    vector = reading.vector(locate(text, "word300. word301."))
    assert vector == pytest.approx(wanted / np.linalg.norm(wanted), abs=1e-5)
    assert not reading.vector((0, 0)).any()
    assert locate("abc", " ") is None


def test_turns_get_the_states_of_the_conversation():
    bus = talk(*BUS)
    joined = join_turns(bus)
    reading = read_texts([joined.text], FakeEncoder().hidden_states)[0]
    for (text, hidden), turn in zip(slices(reading, joined), bus.turns, strict=True):
        assert (text, [text[a:b] for a, b in hidden.offsets]) == (turn.text, text.split())


def test_events_lose_their_subject_marks_and_the_connective_behind_them():
    joined = join_turns(talk(*BUS))
    candidates = find_candidates(joined, FakeTagger().tag)
    events = {joined.text[slice(*one.place)]: one.event for one in candidates}
    assert events["my wallet was lost"]
    assert events["meeting room"] is False
    teeth = join_turns(talk("I brushed my teeth before I went to bed."))
    spans = (TaggedSpan(0, 25, "event", 0.9), TaggedSpan(26, 39, "event", 0.9))
    found = find_candidates(teeth, lambda _: [spans])
    events = [teeth.text[slice(*one.place)] for one in found if one.event]
    assert events == ["brushed my teeth", "went to bed"]


def test_a_pair_is_judged_alike_among_others_and_arrays_have_to_fit(links_file):
    head, encoder = LinkHead(links_file), FakeEncoder()
    text = "I missed the bus. You are late."
    reading = read_texts([text], encoder.hidden_states)[0]
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
    with np.load(links_file) as arrays:
        kept = dict(arrays)
    kept["out_weight"] = kept["out_weight"][:, :90]
    np.savez(links_file, **kept)
    with pytest.raises(ModelFolderError, match="do not fit"):
        LinkHead(links_file)


def test_the_page_shows_every_link_and_escapes_the_texts():
    def link(relation, tail_span):
        return Link("bus", "missed the bus", relation, "late", Span(0, 2, 16), tail_span, 0.7, True)

    evil = talk(*BUS, "<script>alert(1)</script>\x07" * 9, name="<b>")
    links = [link("Causes", Span(1, 8, 12)), link("Unknown", Span(0, 9, 16))]
    page = links_page([(evil, links), (talk(name="empty"), [])])
    assert not any(bad in page for bad in ("<script>alert", "\x07", "://"))
    assert page.count("<tr data-link=") == 2
    assert '<span class="linked" data-head="0 1" data-tail="">missed </span>' in page
    assert '<span class="linked" data-head="0 1" data-tail="1">the ear</span>' in page
    assert '<span class="linked" data-head="" data-tail="0"> hom</span>' in page
    assert "no link is sure enough" in page


def test_the_command_writes_lines_and_a_page(tmp_path, capsys):
    file = tmp_path / "talk.txt"
    file.write_text("A: I missed the bus because I overslept.\nB: So you are late for work?\n")
    out, page = tmp_path / "links.jsonl", tmp_path / "links.html"
    words = ["cider", str(file)]
    assert main([*words, "--least", "0.01", "-o", str(out), "--report", str(page)]) == 0
    row = json.loads(out.read_text().splitlines()[0])
    assert {"head", "relation", "tail", "head_span", "tail_span", "explicit"} <= row.keys()
    assert "<tr data-link=" in page.read_text()
    assert main([*words, "--relation", "Cause"]) == 2
    assert "did you mean 'Causes'" in capsys.readouterr().err
    assert main([*words, "--model", "builtin:extraction"]) == 2
    assert "finds no links" in " ".join(capsys.readouterr().err.split())
