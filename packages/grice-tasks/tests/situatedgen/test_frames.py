import gzip
import json
import re
from pathlib import Path

import pytest

from grice_tasks.situatedgen.frames import Frames, named
from grice_tasks.situatedgen.words import match_keywords

CLAUSES = Path(__file__).with_name("clauses.jsonl").read_text("utf-8")


@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    file = tmp_path_factory.mktemp("frames") / "classes.txt.gz"
    lines = ["animal lizard marmot turkey", "person actor president tourist", "food honey",
             "ground swamp continent", "act tennis", "thing bridge",
             "land turkey california"]  # fmt: skip
    file.write_bytes(gzip.compress("\n".join(lines).encode()))
    return Frames(file)


@pytest.mark.parametrize("case", CLAUSES.splitlines())
def test_clauses_of_keywords(frames, case):
    clause, keywords, contexts = json.loads(case).values()
    assert frames.write(keywords, contexts) == clause


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
