import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.errors import InputError
from grice_tasks.situatedgen.examples import halved
from grice_tasks.situatedgen.records import read_samples
from grice_tasks.situatedgen.words import READINGS, match_keywords, noun_lemma, sentences

PAPER = ["July", "China", "winter", "Australia", "summer", "July"]
PLACES = [0, 0, 1, 1, 0, 1]

WORDS = st.sampled_from(["river", "Chile", "coffee", "Texas", "snow", "market", "July", "king"])
INPUTS = st.lists(st.tuples(WORDS, st.integers(0, 1)), min_size=2, max_size=8)


def value(output, reading="first", keywords=PAPER, places=PLACES):
    return match_keywords(output, keywords, places, reading=reading).value


@pytest.mark.parametrize("reading", ["first", "exclusive"])
def test_the_papers_example(reading):
    output = "July is summer in Australia. July is winter in China."
    assert value(output, reading) == pytest.approx(4 / 6)


@pytest.mark.data
def test_every_golden_case(golden):
    for case in golden("situatedgen_match_cases")["cases"]:
        for reading in READINGS:
            found = value(case["prediction"], reading, case["keywords"], case["keywords_pos"])
            expected = pytest.approx(case[f"match_{reading}"], abs=1e-6)
            assert found == expected, (case["name"], reading)


@pytest.mark.data
@pytest.mark.parametrize("reading", READINGS)
def test_the_released_references(golden, released, reading):
    samples = read_samples(released / "test.jsonl.gz")
    systems = golden("situatedgen_baselines")["systems"]
    for name, order in (("reference", 1), ("reference_reversed", -1)):
        values = [
            value(" ".join(sample.statements[::order]) if order < 0 else sample.reference, reading,
                  sample.keywords, sample.keywords_pos)
            for sample in samples
        ]  # fmt: skip
        expected = systems[name][f"match_{reading}"]
        assert sum(values) / len(values) == pytest.approx(expected, abs=1e-4)


@given(INPUTS)
def test_a_perfect_answer_is_worth_one_under_exclusive(items):
    keywords, places = zip(*items, strict=True)
    sides = [" ".join(word for word, place in items if place == side) or "Nothing"
             for side in (0, 1)]  # fmt: skip
    for order in (sides, sides[::-1]):
        output = ". ".join(order) + "."
        assert match_keywords(output, keywords, places, reading="exclusive").value == 1


@given(INPUTS)
def test_neither_orientation_nor_a_third_sentence_matters(items):
    keywords, places = zip(*items, strict=True)
    output = halved(keywords)
    longer = f"{output} {' '.join(keywords)}."
    for reading in READINGS:
        share = match_keywords(output, keywords, places, reading=reading).value
        assert value(output, reading, keywords, [1 - place for place in places]) == share
        assert value(longer, reading, keywords, places) == share


@given(INPUTS)
def test_writing_everything_twice_earns_little_under_exclusive(items):
    keywords, places = zip(*items, strict=True)
    sides = {word: {place for other, place in items if other == word} for word in keywords}
    earned = sum(len(sides[word]) == 2 for word in keywords) / len(keywords)
    match = match_keywords(f"{' '.join(keywords)}. " * 2, keywords, places, reading="exclusive")
    assert match.value == pytest.approx(earned)


def test_a_keyword_is_a_whole_word_in_any_case_and_number():
    match = match_keywords("Romance is smart. A woman lives there.", ["art", "Oman"], [0, 1])
    assert (match.value, match.missing) == (0, ("art", "Oman"))
    assert value("CITIES grow. Women work.", "first", ["city", "woman"], [0, 1]) == 1
    assert noun_lemma("xyzs") == "xyzs", "no word of English"


@pytest.mark.parametrize(("keywords", "places", "reading"), [
    ([], [], "first"), (["a"], [0, 1], "first"), (["a"], [2], "first"), (["a"], [0], "frist"),
])  # fmt: skip
def test_bad_arguments_are_named(keywords, places, reading):
    with pytest.raises(InputError):
        match_keywords("a", keywords, places, reading=reading)


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("July is hot", 1), ("He met Dr. Who in Washington, D.C. yesterday.", 1),
     ("George W. Bush was president. He was from Texas.", 2),
     ("It cost 3.50 dollars. It was cheap!", 2)],
)  # fmt: skip
def test_sentences(text, count):
    assert len(sentences(text)) == count
