import gzip
import re

import pytest

from grice_tasks.situatedgen.frames import Frames, named
from grice_tasks.situatedgen.words import match_keywords


@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    file = tmp_path_factory.mktemp("frames") / "classes.txt.gz"
    lines = ["animal lizard marmot turkey", "person actor president tourist", "food honey",
             "ground swamp continent", "act tennis", "thing bridge",
             "land turkey california"]  # fmt: skip
    file.write_bytes(gzip.compress("\n".join(lines).encode()))
    return Frames(file)


@pytest.mark.parametrize(("keywords", "contexts", "expected"), [
    (("lizard", "wild", "Utah"), {"Utah": "GEO"}, "One can find a lizard in the wild in Utah"),
    (("Jackie Chan", "actor", "film", "Hong Kong"), {"Hong Kong": "GEO"},
     "Jackie Chan is an actor known for film in Hong Kong"),
    (("California", "Fresno"), {"California": "GEO", "Fresno": "GEO"},
     "Fresno is in California"),
    (("July", "winter", "Chile"), {"July": "TEMP", "Chile": "GEO"},
     "July is during the winter in Chile"),
    (("Tourists", "honey", "united states"), {"united states": "GEO"},
     "Tourists can find honey in the united states"),
    (("The Moon Club", "role", "war", "Spain"), {"Spain": "GEO"},
     "The Moon Club plays a role in the war in Spain"),
    (("bridge", "Sunday"), {"Sunday": "TEMP"}, "One can find a bridge on Sunday"),
    (("Betty White", "98 years old"), {"98 years old": "TEMP"}, "Betty White is 98 years old"),
    (("Memphis", "city", "U.S."), {"Memphis": "GEO", "U.S.": "GEO"},
     "Memphis is a city in the U.S."),
])  # fmt: skip
def test_clauses_of_keywords(frames, keywords, contexts, expected):
    assert frames.write(keywords, contexts) == expected


@pytest.mark.parametrize("keywords", [
    ("x",), ("Paris",), ("July", "July"), ("24 hours", "day"), ("king", "queen", "1066"),
    ("a", "b", "c", "d", "e", "f", "g"), ("city", "country"), ("swamp",), ("winter",),
    ("hundreds", "lizard", "Texas"), ("role", "part", "people"), ("United States", "marmot"),
])  # fmt: skip  # fmt: skip
@pytest.mark.parametrize("kind", ["", "GEO", "TEMP"])
def test_every_keyword_stands_in_its_clause(frames, keywords, kind):
    text = frames.write(keywords, {keywords[0]: kind})
    assert match_keywords(f"{text}.", keywords, [0] * len(keywords)).missing == ()
    for word in keywords:
        assert re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text)


def test_a_living_thing_is_no_place_but_where_a_land_has_its_name(frames):
    assert not frames.is_place("marmot")
    assert not frames.is_place("Lizards")
    assert frames.is_place("Turkey")
    assert not frames.is_place("turkey")
    assert frames.is_place("Fresno")
    assert named("Big Ben")
    assert not named("Snow")
