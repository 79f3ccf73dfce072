import json
import re

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.errors import InputError, RecordError
from grice.models.protocols import TaggedSpan
from grice_tasks.situatedgen.build import (
    Built,
    alike,
    build_benchmark,
    datasheet,
    keep_apart,
    mine_pairs,
    refusal,
    split_pairs,
)
from grice_tasks.situatedgen.records import (
    Entity,
    Marked,
    MinedPair,
    Question,
    Sample,
    Statement,
    read_given,
)
from grice_tasks.situatedgen.statements import Plan, plan_choice, to_statements, yes_no_statement
from grice_tasks.situatedgen.tagger import (
    TaggedText,
    mark_statements,
    mask,
    merge_spans,
    spelt_spans,
)

PLACES = ("Spain", "Chile", "China", "Australia", "Texas", "Ohio", "Kenya", "Norway")
NOUNS = ("July", "winter", "summer", "coffee", "snow", "river", "people", "market")


class WordTagger:
    """Knows a few places and nouns."""

    identity = "words"

    def find(self, texts):
        return [TaggedText(self.spans(text, PLACES, "GPE"), self.spans(text, NOUNS, "NOUN"))
                for text in texts]  # fmt: skip

    def spans(self, text, names, label):
        found = re.finditer(rf"\b(?:{'|'.join(names)})\b", text)
        return tuple(TaggedSpan(match.start(), match.end(), label, 1.0) for match in found)


class WordEncoder:
    """A vector of the words, so that like texts have like vectors."""

    identity = "bag"

    def encode(self, texts):
        vectors = np.zeros((len(texts), 64), np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                vector[sum(map(ord, word)) % 64] += 1
        return list(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))

    def truncated(self, texts):
        return [False] * len(texts)


class FirstNoun:
    """Takes two words for the subject."""

    def predicate_starts(self, questions):
        return [len(" ".join(question.split()[:3])) + 1 for question in questions]


def marked(name, text, masked=None, label="GPE", entity="Spain"):
    return Marked(name, text, (Entity(entity, label),), (), masked or "[UNK] is in [UNK]")


@pytest.mark.parametrize(
    ("question", "answer", "start", "expected"),
    [("Is July hot in Chile?", False, 8, "July is not hot in Chile"),
     ("Did slaves play a role?", True, 11, "Slaves play a role"),
     ("Does the mayor work here?", False, 15, "The mayor not work here"),
     ("Will it rain?", True, 8, "It would rain")],
)  # fmt: skip
def test_yes_no_questions_are_turned_as_published(question, answer, start, expected):
    assert yes_no_statement(question, answer, start) == expected


@pytest.mark.parametrize(("question", "answer", "plan"), [
    ("People use a fork to", "eat", "People use a fork to eat"),
    ("A day has ___ hours.", "24", "A day has 24 hours."),
    ("A person visits Paris in what season?", "spring", "A person visits Paris in spring"),
    ("You keep milk where?", "the fridge", "You keep milk in the fridge"),
    ("Where people ski?", "the Alps", "people ski in the Alps"),
    ("What grows best in a desert?", "a cactus", "A cactus grows best in a desert"),
    ("Which season usually has snow?", "winter", "Winter has snow"),
    ("Who might say a prayer?", "a monk", "A monk might say a prayer"),
    ("Where is known for deserts?", "Chile", "Chile is known for deserts"),
    ("I saw tracks. What animal is shy?", "a deer", "I saw tracks. A deer is shy"),
    ("If it rains, what do people carry?", "an umbrella",
     Plan("If it rains, ", "do people carry?", "an umbrella")),
    ("In what month is it coldest in Chile?", "July",
     Plan("", "is it coldest in Chile?", "in July")),
    ("Where in Europe are canals?", "Venice", Plan("", "are canals?", "in Venice in Europe")),
    ("What country is a fox from?", "Chile", Plan("", "is a fox from?", "Chile")),
    ("How many moons are there?", "8", "There are 8 moons"), ("", "July", None),
    ("What are birds likely to do?", "fly", Plan("", "are birds likely to fly?", "")),
    ("What can Alice drive?", "a car.", Plan("", "can Alice drive?", "a car")),
    ("Why would someone sleep?", "they are tired",
     Plan("", "would someone sleep?", "they are tired")),
    ("About how long is it?", "2 days", "it is about 2 days long"), ("Where?", " . ", None),
])  # fmt: skip
def test_the_answer_stands_where_the_question_asks_for_it(question, answer, plan):
    assert plan_choice(question, answer) == (Plan(plan, "", "") if isinstance(plan, str) else plan)


def test_statements_of_every_form():
    inputs = [
        Question("a", "Spain has rivers.", True, "claim"),
        Question("b", "Spain is in Asia.", False, "claim"),
        Question("c", "Is July hot in Chile?", True, "yes_no"),
        Question("d", "If it rains, is the street wet?", True, "yes_no"),
        Question("e", "What about it", True, "yes_no"),
        Question("f", "Many canals are in what city?", "Venice", "choice"),
        Question("g", "How many legs does a fox have?", "4", "choice"),
    ]
    statements = {each.id: each.statement for each in to_statements(inputs, FirstNoun())}
    assert statements.keys() == {"a", "c", "d", "f", "g"}
    assert statements["d"].endswith("wet if it rains")
    assert statements["f"] == "Many canals are in Venice"
    assert statements["g"] == "A fox has 4 legs"


@pytest.mark.parametrize(
    ("text", "spans"),
    [("It began in 1999.", "DATE 1999"), ("It takes about 24 hours.", "TIME about 24 hours"),
     ("He was born on July 4, 1776 there.", "DATE July 4, 1776"),
     ("Jazz of the 1920s was loud.", "DATE the 1920s"),
     ("He fought in World War II bravely.", "EVENT World War II"),
     ("The U.S. is large.", "GPE The U.S."),
     ("Music of the early 90's was loud.", "DATE the early 90's"),
     ("It rains between June and August here.", "DATE between June and August"),
     ("It dried two days in a row.", "DATE two days in a row"),
     ("He waited for years in vain.", "DATE years"),
     ("At the end of the first week they left.", "DATE the end of the first week"),
     ("Plants of the Permian period are gone.", "DATE the Permian period"),
     ("A six year old runs.", "DATE six year old"),
     ("He met Hurricane Sandy bravely.", "EVENT Hurricane Sandy"),
     ("People light lamps at Diwali.", "EVENT Diwali"),
     ("She won the US Open.", "EVENT the US Open"), ("Some US coins are old.", "GPE US"),
     ("He heads the Kingdom of Malaysia.", "GPE the Kingdom of Malaysia"),
     ("He ran at the 1936 Summer Olympics.", "DATE 1936, EVENT Summer Olympics"),
     ("It walked 2000 miles to the river.", "")],
)  # fmt: skip
def test_dates_times_and_events_by_their_words(text, spans):
    found = (f"{span.label} {text[span.start : span.end]}" for span in spelt_spans(text))
    assert ", ".join(found) == spans


@pytest.mark.parametrize(("text", "tagged", "expected"), [
    ("It fell over many years.", [("over many years", "DATE")], ["many years"]),
    ("In 2020 and 2021 it rose.", [("2020 and 2021", "DATE")], ["2020", "2021"]),
    ("The United States Capitol is white.", [("United States Capitol", "GPE")],
     ["The United States"]),
    ("July is in the winter there.", [("July", "DATE"), ("the winter", "DATE")], ["July"]),
    ("It was a hot day in May 1990.", [("a hot day", "DATE")], ["May 1990"]),
    ("He came a few days later.", [("a few days", "DATE")], ["a few days later"]),
    ("He came on the day after Monday.", [("the day after Monday", "DATE")],
     ["the day after Monday"]),
])  # fmt: skip
def test_words_put_the_tagger_right(text, tagged, expected):
    spans = [TaggedSpan(text.index(word), text.index(word) + len(word), label, 0.5)
             for word, label in tagged]  # fmt: skip
    merged = merge_spans(text, spans)
    assert [text[span.start : span.end] for span in merged] == expected
    assert {span.label for span in merged} == {tagged[0][1]}


def test_statements_without_context_are_left_out():
    given_texts = ("In Spain coffee is bitter.", "Snow is cold.")
    kept, left = mark_statements([Statement(text[0], text) for text in given_texts], WordTagger())
    assert [statement.id for statement in left] == ["S"]
    assert kept[0].keywords == ("Spain", "coffee")
    assert kept[0].masked == "In [UNK] [UNK] is bitter."
    assert mask("Oman is in Oman, no woman.", ["Oman"]) == "[UNK] is in [UNK], no woman."


@pytest.mark.parametrize(("second", "rules", "expected"), [
    (marked("b", "Chile is far.", entity="Chile"), "paper", None),
    (marked("b", "Chile is far.", masked="[UNK]", entity="Chile"), "paper", "keywords"),
    (marked("b", "Old Spain is far.", entity="Old Spain"), "paper", "shared entity"),
    (marked("b", "Spain is hot. Yes.", entity="Kenya"), "released", "contained"),
    (marked("b", "It was in 1990.", label="DATE", entity="1990"), "paper", "no shared context"),
    (marked("b", "Spaniards left Kenya.", entity="Kenya"), "released", None),
    (marked("b", "SPAINISH Kenya.", entity="Kenya"), "released", "shared entity"),
    (marked("b", "SPAINISH Kenya.", entity="Kenya"), "paper", None),
])  # fmt: skip  # fmt: skip
def test_rules_of_the_paper_and_of_the_released_code(second, rules, expected):
    assert refusal(marked("a", "Spain is hot."), second, rules) == expected
    with pytest.raises(InputError, match="papr"):
        refusal(second, second, "papr")


@given(st.integers(2, 60), st.integers(0, 1000))
def test_every_pair_from_the_threshold_on_comes_once(count, seed):
    rows = np.random.default_rng(seed).normal(size=(count, 4))
    vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    pairs = [(i, j) for i, j, _ in alike(vectors)]
    above = np.triu(vectors @ vectors.T >= 0.8, 1)
    assert sorted(pairs) == list(zip(*np.nonzero(above), strict=True))


def test_pairs_carry_their_score_and_context():
    statements = [marked("a", "Spain is hot."), marked("b", "Chile is hot.", entity="Chile"),
                  marked("c", "Spain is old.")]  # fmt: skip
    pairs, refused = mine_pairs(statements, [(0, 1, 0.91234), (0, 2, 0.9)])
    assert (pairs, refused) == ([MinedPair(("a", "b"), 0.9123, ("GEO",))], {"shared entity": 1})


def test_splits_share_no_statement():
    names = [(f"{group}-{i}", f"{group}-{j}")
             for group in range(20) for i in range(4) for j in range(i)]  # fmt: skip
    pairs = [MinedPair(ids, 0.9, ("GEO",)) for ids in (*names, ("0-0", "1-0"))]
    splits, between = split_pairs(pairs)
    assert between <= 1
    train, dev, test = ({name for pair in part for name in pair.ids} for part in splits.values())
    assert not train & dev
    assert not (train | dev) & test
    assert len(splits["test"]) <= 0.25 * 120
    assert sum(map(len, splits.values())) == 121 - between
    assert split_pairs(pairs) == (splits, between)
    with pytest.raises(InputError, match="no pair"):
        split_pairs([])


def test_no_two_splits_share_the_keywords_of_a_sentence():
    def pair(name, first, second):
        places = (0,) * len(first) + (1,) * len(second)
        return Sample(name, (*first, *second), places, ("A.", "B."))

    train = [pair("a", ("Spain", "coffee"), ("Chile", "snow")), pair("b", ("x", "y"), ("z", "v"))]
    dev = [pair("c", ("snow", "chile"), ("Kenya", "tea"))]
    test = [pair("d", ("Kenya", "coffee"), ("Y", "x"))]
    splits, left_out = keep_apart({"train": train, "dev": dev, "test": test})
    assert (splits, left_out) == ({"train": [], "dev": dev, "test": test}, 2)


def test_a_benchmark_from_statements():
    inputs = [
        Statement(f"s::{place}-{noun}", f"In {place} {noun} is a common sight of the year.")
        for place in ("Spain", "Chile", "China", "Texas", "Ohio", "Kenya")
        for noun in ("coffee", "snow", "winter")
    ]
    inputs.append(Statement("s::none", "Nothing is here."))
    inputs.append(Question("q", "Spain is in Asia.", False, "claim"))
    parts = {"clauses": FirstNoun(), "tagger": WordTagger(), "encoder": WordEncoder()}
    built = build_benchmark(inputs, **parts)
    assert built.counts["statement without context"] == 1
    assert built.counts["no statement (false claim or unknown form)"] == 1
    some = next(sample for part in built.splits.values() for sample in part)
    assert sorted(some.keywords_pos) == [0, 0, 1, 1]
    assert some.context == ("GEO",)
    sheet = datasheet(built, title="T", sources=["mine (CC0)"], settings="grice situatedgen build")
    assert "Statements in more than one split: 0." in sheet
    assert "mine (CC0)" in sheet
    with pytest.raises(InputError, match="nothing can contrast"):
        build_benchmark([Statement("a", "Snow is cold.")], **parts)


def test_a_datasheet_counts_what_splits_share(july):
    other = msgspec.structs.replace(july, statements=("It is hot.", "July is cold in Australia."))
    built = Built({"train": [july], "dev": [], "test": [other]}, {}, {})
    sheet = datasheet(built, title="T", sources=[], settings="x")
    assert "Statements in more than one split: 0." in sheet
    assert "Sentences' keywords in more than one split: 2." in sheet


def test_questions_and_statements_are_told_apart(tmp_path):
    file = tmp_path / "mine.jsonl"
    asked = {"Is Spain hot?": "yes", "Where is Spain?": "Europe", "Spain is hot.": False}
    lines = [{"statement": "Spain is hot."}]
    lines += [{"question": question, "answer": answer} for question, answer in asked.items()]
    file.write_text("\n".join(map(json.dumps, lines)) + "\nKenya has coffee.\n")
    records = read_given(file)
    forms = [getattr(record, "form", "statement") for record in records]
    assert forms == ["statement", "yes_no", "choice", "claim", "statement"]
    assert records[-1] == Statement("mine::4", "Kenya has coffee.")


@pytest.mark.parametrize(
    ("text", "problem"),
    [('{"question": "Is it?"}', "neither"), ('{"statement": 3}', "statement"),
     ('{"id": "a", "statement": "x"}\n{"id": "a", "statement": "y"}', "comes twice"),
     ("", "no question")],
)  # fmt: skip
def test_broken_input_is_named(tmp_path, text, problem):
    file = tmp_path / "mine.jsonl"
    file.write_text(text)
    with pytest.raises((InputError, RecordError), match=problem):
        read_given(file)
