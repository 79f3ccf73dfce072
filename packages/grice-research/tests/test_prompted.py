from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grice.errors import InputError, ModelError
from grice.knowledge.extraction.protocol import RELATIONS, Exchange, TripleExtractor
from grice.models.protocols import Generated
from grice_research.knowledge.prompted import PromptedExtractor, parsed, prompt

HISTORY = ("What do you do ?", "I actually just got fired for a mistake I made .")


class Scripted:
    """Answers by the relation that a prompt asks for, and remembers what it was asked."""

    identity = "scripted"

    def __init__(self, answers):
        self.answers = {prompt(Exchange((), ""), name).split(" Utter")[0]: text
                        for name, text in answers.items()}  # fmt: skip
        self.asked = []

    def generate(self, prompts, *, count):
        self.asked.append((list(prompts), count))
        answers = [next((t for asks, t in self.answers.items() if p.startswith(asks)), "None")
                 for p in prompts]  # fmt: skip
        return [(Generated(text, -0.5), Generated("event1: second; event2: best", -2.0))
                for text in answers]  # fmt: skip


def test_a_prompt_is_that_of_the_released_code():
    exchange = Exchange(("Hi !", "Why ?"), "I was tired .")
    assert prompt(exchange, "xReact") == (
        "Extract event1 and event2 from the text where event2 shows how PersonX reacts to event1. "
        "Utterance: </UTT></UTT>Hi !</UTT>Why ?</UTT>I was tired ."
    )


@pytest.mark.parametrize(
    ("relation", "asked"),
    [
        ("xIntent", "event2 shows PersonX's intent for event1."),
        ("xNeed", "event2 needs to be true for event1 to take place."),
        ("oReact", "event2 shows how PersonY reacts to event1."),
        ("xWant", "event2 shows what PersonX wants after event1 happens."),
        ("oWant", "event2 shows what PersonY wants after event1 happens."),
        ("xAttr", "event2 shows how PersonX is viewed as after event1."),
        ("xEffect", "event2 shows the effect of event1 on PersonX."),
        ("oEffect", "event2 shows the effect of event1 on PersonY."),
        ("HinderedBy", "event1 fails to happen because event2."),
        ("isAfter", "event1 happens after event2."),
        ("HasSubEvent", "event1 includes event2."),
    ],
)
def test_every_relation_asks_what_the_paper_asks(relation, asked):
    assert f"where {asked} Utterance: " in prompt(Exchange((), "Yes ."), relation)


def test_four_turns_are_shown_at_most():
    shown = prompt(Exchange(tuple("abcdef"), "g"), "isAfter")
    assert shown.endswith("Utterance: c</UTT>d</UTT>e</UTT>f</UTT>g")


def test_a_relation_that_is_none_is_told():
    with pytest.raises(InputError, match="xEffect"):
        prompt(Exchange((), "x"), "xEfect")


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("event1: PersonX gets fired; event2: PersonX makes mistake",
         ("PersonX gets fired", "PersonX makes mistake")),
        ("event1: a ; event2: b", ("a ", "b")),
        ("event1: a event2: b", ("a", "b")),
        ("event1: a; event2: b; event2: c", ("a", "b; event2: c")),
        ("None", None),
        ("none", None),
        ("event1: only", None),
        ("event2: only", None),
        ("event1: ; event2: b", None),
        ("event1: a; event2: ", None),
        ("event2: b event1: a", None),
        ("", None),
    ],
)  # fmt: skip
def test_outputs_are_read_as_the_released_code_reads_them(output, expected):
    assert parsed(output) == expected


@settings(derandomize=True)
@given(head=st.text(min_size=1), tail=st.text(min_size=1))
def test_what_is_written_in_the_form_is_read_back(head, tail):
    if "event2:" not in head:
        assert parsed(f"event1: {head}; event2: {tail}") == (head, tail)


def test_triples_are_what_the_generator_writes():
    generator = Scripted({
        "xEffect": "event1: PersonX makes a mistake; event2: PersonX gets fired",
        "oReact": "event1: PersonX cries; event2: PersonY feels sorry",
        "isAfter": "gibberish",
    })  # fmt: skip
    extractor = PromptedExtractor(generator)
    assert isinstance(extractor, TripleExtractor)
    (extraction,) = extractor.extract([Exchange((HISTORY[1],), "I am so sorry you cried .")])
    assert {t.relation: (t.head, t.tail) for t in extraction.triples} == {
        "xEffect": ("PersonX makes a mistake", "PersonX gets fired"),
        "oReact": ("PersonX cries", "PersonY feels sorry"),
    }
    assert {t.relation: t.kind for t in extraction.triples} == {
        "xEffect": "pair",
        "oReact": "single",
    }
    assert all(t.confidence == pytest.approx(math.exp(-0.5)) for t in extraction.triples)
    assert generator.asked[0][1] == 10


def test_all_replies_are_asked_in_one_call_and_stay_apart():
    generator = Scripted({"xAttr": "event1: PersonX sings; event2: PersonX be loud"})
    extractions = PromptedExtractor(generator).extract(
        [Exchange((), "I sing loudly ."), Exchange((), "¿…?"), Exchange(("Hi",), "He sings .")]
    )
    assert [len(each.triples) for each in extractions] == [1, 0, 1]
    assert extractions[1].reason == "the reply holds no word"
    assert len(generator.asked) == 1
    assert len(generator.asked[0][0]) == 2 * len(RELATIONS)


def test_kinds_and_the_least_confidence_choose():
    generator = Scripted({"xEffect": "event1: PersonX makes a mistake; event2: PersonX fired"})
    extractor = PromptedExtractor(generator, beams=3)
    exchange = Exchange(HISTORY, "Oh no .")
    assert extractor.extract([exchange], kinds=("single",))[0].reason == "the model found no triple"
    assert len(extractor.extract([exchange], kinds=("pair",))[0].triples) == 1
    assert not extractor.extract([exchange], least=0.9)[0].triples
    with pytest.raises(InputError, match="single"):
        extractor.extract([exchange], kinds=("singel",))


def test_a_generator_that_leaves_prompts_out_is_noticed():
    class Lazy:
        identity = "lazy"

        def generate(self, prompts, *, count):
            return []

    with pytest.raises(ModelError, match="lazy answered 0 of 12 prompts"):
        PromptedExtractor(Lazy()).extract([Exchange((), "Hello there")])
    with pytest.raises(ModelError, match="0 beams"):
        PromptedExtractor(Lazy(), beams=0)
