"""The words that each pattern finds; weights were learned on these, so that none may change."""

import re
from pathlib import Path

import pytest

from grice.text import tokens, wordlists
from grice.text.lexicon import Word, look_up

TEXT = "Don't re-read it: 1,5 km, e.g. Müller’s_map…\nWow!"
FOUND = {
    "CONTRACTED_WORDS": "don't re read it 1 5 km e g m ller’s map wow",
    "LETTERS": "don t re read it km e g m ller s map wow",
    "PLAIN_WORDS": "Don t re read it 1 5 km e g Müller s map Wow",
    "PLAIN_WORDS_AND_NUMBERS": "Don't re read it 1,5 km e g Müller’s map Wow",
    "SHORT_FORMS": "Don't re read it 1 5 km e g Müller s_map Wow",
    "UNICODE_LETTERS": "Don t re read it km e g Müller s map Wow",
    "WORDS": "don't re read it 1 5 km e g m ller s map wow",
    "WORDS_NUMBERS_AND_MARKS": "Don't re - read it : 1,5 km , e . g . Müller’s map … Wow !",
}
LOWER = {"CONTRACTED_WORDS", "LETTERS", "WORDS"}


@pytest.mark.parametrize("name", FOUND)
def test_words(name):
    text = TEXT.lower() if name in LOWER else TEXT
    assert " ".join(getattr(tokens, name).findall(text)) == FOUND[name]


def test_sentences():
    text = "It rains. Really?\nYes… e.g. here."
    assert tokens.SENTENCES.findall(text) == ["It rains", " Really", "\nYes… e", "g", " here"]
    assert tokens.SENTENCE_BREAK.split(text) == ["It rains.", "Really?", "Yes… e.g.", "here."]
    assert [m.end() for m in tokens.SENTENCE_END.finditer(text)] == [10, 18, 28]
    parts = tokens.SENTENCES_WITH_MARKS.findall(text)
    assert parts == ["It rains. ", "Really?\n", "Yes… ", "e.", "g. ", "here.", ""]


def test_a_word_has_its_readings_and_lemmas():
    assert look_up("saw") == Word("nv", ("see", "saw"), "saws", ("sawn",))
    assert (look_up("went").lemmas, look_up("go").third) == (("go",), "goes")
    assert "gone" in look_up("go").participles
    assert "r" in look_up("quickly").readings
    assert look_up("zzxqy") == look_up("") == look_up("\x00") == Word()


def test_every_list_of_words_that_a_module_names_exists():
    code = "".join(
        path.read_text("utf-8") for path in Path(tokens.__file__).parents[1].rglob("*.py")
    )
    assert all(map(wordlists.__getattr__, re.findall(r"\ben\.([A-Z_]+)", code)))
