import json
from pathlib import Path

import pytest

from grice.data import Conversation, Turn
from grice_tasks.cider.span_candidates import (
    Nouns,
    SpanCandidate,
    explicit_links,
    informative,
    join_turns,
)

CASES = Path(__file__).with_name("connectives.jsonl").read_text("utf-8")
NOUNS = Nouns(frozenset({"room", "city"}), frozenset({"party", "cat"}), frozenset({"knife"}))


def explicit_triples(text, *stretches):
    """Return what the connectives of a turn say; a stretch with a mark before it is a thing."""
    joined, places = join_turns(Conversation("x", (Turn("", text),))), []
    for stretch in stretches:
        bare = stretch.removeprefix("*")
        start = text.index(bare)
        places.append(SpanCandidate((start, start + len(bare)), not stretch.startswith("*")))
    links = explicit_links(joined, places, NOUNS)
    names = [marked.removeprefix("*") for marked in stretches]
    return [(names[link.head], link.relation, names[link.tail]) for link in links]


@pytest.mark.parametrize("case", CASES.splitlines())
def test_only_a_connective_says_how_two_stretches_are_linked(case):
    text, spans, link = json.loads(case).values()
    assert explicit_triples(text, *spans) == ([tuple(link)] if link else [])


def test_neighbours_are_of_one_turn_and_questions_and_empty_words_are_not_linked():
    talk = Conversation("x", (Turn("A", "I stayed home"), Turn("B", "because it rained hard")))
    joined = join_turns(talk)
    at = [joined.text.index(phrase) for phrase in ("stayed home", "rained hard")]
    candidates = [SpanCandidate((start, start + 11), event=True) for start in at]
    assert list(explicit_links(joined, candidates, NOUNS)) == []
    for text, event, wanted in (
        ("did you see that game", True, False), ("that is so", True, False),
        ("missed the bus", True, True), ("lol", False, False), ("old bus", False, True),
        (" ".join(["word"] * 15), True, False),
    ):  # fmt: skip
        assert informative(text, SpanCandidate((0, len(text)), event)) is wanted, text
