"""Contrastive statements by any generator of text."""

from __future__ import annotations

import pytest

from grice.errors import InputError
from grice.models.bundle import open_bundle
from grice.models.embedded import EmbeddedGenerator
from grice.models.protocols import Generated
from grice_research.situated.writing import (
    choose_checkpoint,
    mean_rouge_2,
    write_pairs,
)
from grice_tasks.situatedgen.examples import training_pairs
from grice_tasks.situatedgen.language_model import shown_prompt
from grice_tasks.situatedgen.records import Entity, Sample
from grice_tasks.situatedgen.scores import score_outputs


@pytest.fixture
def july():
    return Sample(
        "july",
        ("July", "China", "winter", "Australia", "summer", "July"),
        (0, 0, 1, 1, 0, 1),
        ("July is summer in China.", "July is winter in Australia."),
        "July is summer in China. July is winter in Australia.",
        ("a", "b"),
    )


def test_a_few_shot_prompt_ends_with_the_keywords(july):
    shown = shown_prompt(["snow", "Chile"], [july])
    assert shown.endswith("Keywords: snow, Chile\nSentences:")
    assert july.reference in shown


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
    statements = write_pairs([("snow", "Chile")], writer, shown=[july])
    assert statements == ["Snow falls in Chile. It rains in Spain."]
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
            max(self.examples, key=lambda example: len(example[0] & set(prompt.split(", "))))[1]
            for prompt in prompts
        ]
        return [(Generated(text, 0.0),) for text in best]


def case(name, *pairs):
    """A sample whose sentences are "X is in Y."."""
    words = tuple(word for pair in pairs for word in pair)
    statements = tuple(f"{subject} is in {place}." for subject, place in pairs)
    entities = tuple((Entity(place, "GPE"),) for _, place in pairs)
    return Sample(name, words, (0, 0, 1, 1), statements, " ".join(statements), context=("GEO",),
                  entities=entities)  # fmt: skip


def test_from_training_pairs_to_scores_with_a_writer_that_learns():
    train = [
        case("a", ("Big Ben", "London"), ("Louvre", "Paris")),
        case("b", ("Prado", "Madrid"), ("Kremlin", "Moscow")),
    ]
    held = [case("c", ("Kremlin", "Moscow"), ("Prado", "Madrid"))]
    examples = training_pairs(train)
    assert [example.target.split()[0] for example in examples] == [
        "Big",
        "Louvre",
        "Prado",
        "Kremlin",
    ]

    def checkpoints():
        for seen in (2, 3, 4):  # a checkpoint has read that many examples
            yield f"step {seen}", Nearest(examples[:seen])

    chosen = choose_checkpoint(checkpoints(), held)
    assert chosen.name == "step 3"
    written = write_pairs([sample.keywords for sample in held], Nearest(examples))
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
