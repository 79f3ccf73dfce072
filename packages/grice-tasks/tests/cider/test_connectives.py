import pytest

from grice.data import Conversation, Turn
from grice_tasks.cider.span_candidates import (
    Nouns,
    SpanCandidate,
    explicit_links,
    informative,
    join_turns,
)

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


@pytest.mark.parametrize(("text", "stretches", "wanted"), [
    ("I stayed home because it was raining", ("stayed home", "was raining"),
     ("was raining", "Causes", "stayed home")),
    ("It was raining, so I stayed home", ("was raining", "stayed home"),
     ("was raining", "Causes", "stayed home")),
    ("It rained hard so I want to go", ("rained hard", "want to go"),
     ("rained hard", "CausesDesire", "want to go")),
    ("I ran so that I could win", ("ran", "win"), ("ran", "MotivatedByGoal", "win")),
    ("I called her to say sorry", ("called her", "say sorry"),
     ("called her", "MotivatedByGoal", "say sorry")),
    ("We can go if you are ready", ("can go", "are ready"),
     ("can go", "HasPrerequisite", "are ready")),
    ("I ate lunch after I went home", ("ate lunch", "went home"),
     ("went home", "Before", "ate lunch")),
    ("I want to go but I can't drive", ("want to go", "can't drive"),
     ("want to go", "ObstructedBy", "can't drive")),
    ("The cats in the room", ("*cats", "*room"), ("cats", "AtLocation", "room")),
    ("The cat in Boston", ("*cat", "*Boston"), ("cat", "AtLocation", "Boston")),
    ("a knife to cut bread", ("*knife", "cut bread"), ("knife", "UsedFor", "cut bread")),
    ("We went out in the morning", ("went out", "*morning"),
     ("went out", "HappensIn", "morning")),
    ("My boss is a genius", ("*boss", "*genius"), ("boss", "IsA", "genius")),
    ("I stayed home. Because it was raining", ("stayed home", "was raining"), None),
    ("I like tea but coffee is good", ("like tea", "is good"), None),
    ("I gave money to Save the Children", ("gave money", "Save the Children"), None),
    ("They get no time to win both", ("get no time", "win both"), None),
    ("It is cheaper to hire them", ("is cheaper", "hire them"), None),
    ("I told them to go home", ("told them", "go home"), None),
    ("I have a family to provide for", ("have a family", "provide for"), None),
    ("the only knife in town to win a prize", ("*knife", "win a prize"), None),
    ("The emperor of Japan is a scientist", ("*Japan", "*scientist"), None),
    ("We met in the knife to eat", ("*knife", "eat"), None),
    ("Save the Children is a charity", ("*Children", "*charity"), None),
    ("What was the peel a reference to?", ("*peel", "*reference"), None),
    ("My boss is a jazz film fan", ("*boss", "*jazz film"), None),
    ("The difference in lives", ("*difference", "*lives"), None),
    ("It is a party and a cat", ("*party", "*cat"), None),
    ("I stayed home, as everybody in town knows, because it rained hard",
     ("stayed home", "rained hard"), None),
    ("A movie is a little", ("*movie", "*little"), None),
])  # fmt: skip
def test_only_a_connective_says_how_two_stretches_are_linked(text, stretches, wanted):
    assert explicit_triples(text, *stretches) == ([wanted] if wanted else [])


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
