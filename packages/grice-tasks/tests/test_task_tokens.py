"""The words that each pattern finds; weights were learned on these, so that none may change."""

from __future__ import annotations

import pytest

from grice_tasks import tokens

TEXT = "Don't re-read it: 1,5 km, e.g. Müller’s_map…\nWow!"
FOUND = {
    "SPAN_TOKENS": "Don't re-read it : 1,5 km , e . g . Müller ’ s_map … Wow !",
    "COMPOUNDS": "Don't re-read it 1 5 km e g Müller’s_map Wow",
    "PLAIN_COMPOUNDS": "Don't re-read it 1 5 km e g Müller’s map Wow",
    "WORDS_WITH_PERIODS": "Don't re-read it 1 5 km e.g. Müller’s_map Wow",
    "WORDS_AND_COMMAS": "Don't re read it 1 , 5 km , e g Müller s_map Wow",
    "WORDS_AND_MARKS": "Don ' t re - read it : 1 , 5 km , e . g . Müller ’ s_map … Wow !",
    "BLEU_TOKENS": "Don't re-read it: 1,5 km, e.g. Müller’s_map… Wow!",
    "ROUGE_TOKENS": "don t re read it 1 5 km e g m ller s map wow",
}


@pytest.mark.parametrize("name", FOUND)
def test_words(name):
    text = TEXT.lower() if name == "ROUGE_TOKENS" else TEXT
    assert " ".join(getattr(tokens, name).findall(text)) == FOUND[name]
