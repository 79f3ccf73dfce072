from __future__ import annotations

import gzip
import re

import msgspec
import pytest

from grice.errors import InputError
from grice.runtime.bundle import open_bundle
from grice.runtime.embedded import EmbeddedGenerator
from grice.runtime.protocols import Generated
from grice.situated.build import Built, datasheet
from grice.situated.examples import training_pairs
from grice.situated.frames import Frames, named
from grice.situated.match import match_keywords
from grice.situated.records import Entity, Sample
from grice.situated.scores import score_outputs
from grice.situated.writing import choose_checkpoint, mean_rouge_2, write_pairs


class Echo:
    """Writes its prompt in a frame, or what it is told to."""

    identity = "echo"

    def __init__(self, answer=None):
        self.answer, self.prompts = answer, []

    def generate(self, prompts, *, count):
        assert count == 1
        self.prompts += prompts
        return [
            () if self.answer == "" else (Generated(self.answer or f"Of {prompt}. ", -1.0),)
            for prompt in prompts
        ]


def test_a_generator_reads_the_published_inputs():
    writer = Echo()
    assert write_pairs([("July", "China")], writer) == ["Of July, China."]
    write_pairs([("July", "China")], writer, model="t5-large")
    assert writer.prompts[1] == "generate two sentences with: July, China"
    assert write_pairs([("July",)], Echo("")) == [""]


def test_a_prompt_with_solved_samples_takes_one_line(july):
    writer = Echo(" Snow falls in Chile. It rains in Spain.\n\nKeywords: none")
    found = write_pairs([("snow", "Chile")], writer, shown=[july])
    assert found == ["Snow falls in Chile. It rains in Spain."]
    assert july.reference in writer.prompts[0]


def test_the_checkpoint_with_the_highest_rouge_2_is_chosen(july):
    opened = []

    def checkpoints():
        for name, text in (("one", "July is hot."), ("two", july.reference), ("three", "Snow.")):
            opened.append(name)
            yield name, Echo(text)

    assert choose_checkpoint(checkpoints(), [july]) == ("two", 1.0)
    assert opened == ["one", "two", "three"]
    same = [("first", Echo("x")), ("second", Echo("y"))]
    assert choose_checkpoint(same, [july]).name == "first"


class Nearest:
    """A writer that learns: the target of the example with most of the prompt's keywords."""

    identity = "nearest"

    def __init__(self, examples):
        self.examples = [(set(source.split(", ")), target) for source, target in examples]

    def generate(self, prompts, *, count):
        assert count == 1
        best = [
            max(self.examples, key=lambda one: len(one[0] & set(prompt.split(", "))))[1]
            for prompt in prompts
        ]
        return [(Generated(text, 0.0),) for text in best]


def case(name, *pairs):
    """A sample whose sentences are "X is in Y."."""
    words = tuple(word for pair in pairs for word in pair)
    said = tuple(f"{thing} is in {place}." for thing, place in pairs)
    entities = tuple((Entity(place, "GPE"),) for _, place in pairs)
    return Sample(name, words, (0, 0, 1, 1), said, " ".join(said), context=("GEO",),
                  entities=entities)  # fmt: skip


def test_from_training_pairs_to_scores_with_a_writer_that_learns():
    train = [
        case("a", ("Big Ben", "London"), ("Louvre", "Paris")),
        case("b", ("Prado", "Madrid"), ("Kremlin", "Moscow")),
    ]
    held = [case("c", ("Kremlin", "Moscow"), ("Prado", "Madrid"))]
    examples = training_pairs(train)
    assert [one.target.split()[0] for one in examples] == ["Big", "Louvre", "Prado", "Kremlin"]

    def checkpoints():
        for seen in (2, 3, 4):  # a checkpoint has read that many examples
            yield f"step {seen}", Nearest(examples[:seen])

    chosen = choose_checkpoint(checkpoints(), held)
    assert chosen.name == "step 3"
    written = write_pairs([one.keywords for one in held], Nearest(examples))
    measures = score_outputs(held, {"c": written[0]}, name="nearest")[0].measures
    assert measures["match_exclusive"].value == measures["coverage"].value == 1
    assert measures["rouge2"].value < measures["rouge2_best"].value == 1


class Begun:
    """The shipped encoder-decoder, which needs to be told what its text is to be."""

    def __init__(self, engine):
        self.identity, self.engine = engine.identity, engine

    def generate(self, prompts, *, count):
        return self.engine.generate(prompts, count=count, begin=["<xEffect>"] * len(prompts))


@pytest.mark.parametrize("options", [{}, {"model": "t5-small"}, {"shown": True}])
def test_a_shipped_encoder_decoder_writes_from_every_input(options, july):
    # It learned other things: what it writes is poor, and scored like any system's.
    writer = Begun(EmbeddedGenerator(open_bundle("comet"), mode="exact", threads=1))
    if options.get("shown"):
        options = {"shown": [case("a", ("Big Ben", "London"), ("Louvre", "Paris"))]}
    written = write_pairs([july.keywords, ("Louvre", "Paris")], writer, **options)
    assert all(text and "\n" not in text for text in written)
    row = score_outputs([july], {july.id: written[0]}, name="comet")[0]
    assert 0 <= row.measures["match_exclusive"].value < 1
    assert row.problems


def test_nothing_to_choose_by_is_said(july):
    with pytest.raises(InputError, match="no checkpoint"):
        choose_checkpoint([], [july])
    with pytest.raises(InputError, match="no held-out sample"):
        mean_rouge_2([], Echo())


@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    file = tmp_path_factory.mktemp("frames") / "classes.txt.gz"
    lines = [
        "animal lizard marmot turkey",
        "person actor president tourist",
        "food honey",
        "ground swamp continent",
        "act tennis",
        "thing bridge",
        "land turkey california",
    ]
    file.write_bytes(gzip.compress("\n".join(lines).encode()))
    return Frames(file)


@pytest.mark.parametrize(
    ("keywords", "contexts", "expected"),
    [
        (("lizard", "wild", "Utah"), {"Utah": "GEO"}, "One can find a lizard in the wild in Utah"),
        (("Jackie Chan", "actor", "film", "Hong Kong"), {"Hong Kong": "GEO"},
         "Jackie Chan is an actor known for film in Hong Kong"),
        (("Lincoln Smith", "president", "1865"), {"1865": "TEMP"},
         "Lincoln Smith was a president in 1865"),
        (("Big Ben", "city", "London"), {"London": "GEO"}, "Big Ben is in the city of London"),
        (("California", "Fresno"), {"California": "GEO", "Fresno": "GEO"},
         "Fresno is in California"),
        (("July", "winter", "Chile"), {"July": "TEMP", "Chile": "GEO"},
         "July is during the winter in Chile"),
        (("Tourists", "honey", "united states"), {"united states": "GEO"},
         "Tourists can find honey in the united states"),
        (("The Moon Club", "role", "war", "Spain"), {"Spain": "GEO"},
         "The Moon Club plays a role in the war in Spain"),
        (("bridge", "Sunday"), {"Sunday": "TEMP"}, "One can find a bridge on Sunday"),
        (("Okefenokee", "swamp", "California"), {"California": "GEO"},
         "Okefenokee is a swamp in California"),
        (("Betty White", "98 years old"), {"98 years old": "TEMP"}, "Betty White is 98 years old"),
        (("Walt Disney", "1966"), {"1966": "TEMP"}, "Walt Disney was known in 1966"),
        (("Memphis", "city", "united states"), {"Memphis": "GEO", "united states": "GEO"},
         "Memphis is a city in the united states"),
        (("Memphis", "city", "U.S."), {"Memphis": "GEO", "U.S.": "GEO"},
         "Memphis is a city in the U.S."),
    ],
)  # fmt: skip
def test_clauses_of_keywords(frames, keywords, contexts, expected):
    assert frames.write(keywords, contexts) == expected


@pytest.mark.parametrize(
    "keywords",
    [
        ("x",), ("Paris",), ("July", "July"), ("24 hours", "day"), ("king", "queen", "1066"),
        ("a", "b", "c", "d", "e", "f", "g"), ("city", "country"), ("swamp",), ("winter",),
        ("hundreds", "lizard", "Texas"), ("role", "part", "people"), ("United States", "marmot"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["", "GEO", "TEMP"])
def test_every_keyword_stands_in_its_clause(frames, keywords, kind):
    text = frames.write(keywords, {keywords[0]: kind})
    found = match_keywords(f"{text}.", keywords, [0] * len(keywords))
    assert found.missing == ()
    for word in keywords:
        many = keywords.count(word)
        assert len(re.findall(rf"(?<!\w){re.escape(word)}(?!\w)", text)) >= min(many, 1)


def test_a_living_thing_is_no_place_but_where_a_land_has_its_name(frames):
    assert not frames.is_place("marmot")
    assert not frames.is_place("Lizards")
    assert frames.is_place("Turkey")
    assert not frames.is_place("turkey")
    assert frames.is_place("Fresno")
    assert named("Big Ben")
    assert not named("Snow")


def test_a_datasheet_counts_what_splits_share(july):
    other = msgspec.structs.replace(july, statements=("It is hot.", "July is cold in Australia."))
    built = Built({"train": [july], "dev": [], "test": [other]}, {}, {})
    sheet = datasheet(built, title="T", sources=[], settings="x")
    assert "Statements in more than one split: 0." in sheet
    assert "Sentences' keywords in more than one split: 2." in sheet
