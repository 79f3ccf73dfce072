from __future__ import annotations

from grice.text.lexicon import Word, look_up


def test_a_word_has_its_readings_and_lemmas():
    assert look_up("saw") == Word("nv", ("see", "saw"), "saws", ("sawn",))
    assert look_up("went").lemmas == ("go",)
    assert look_up("go").third == "goes"
    assert "gone" in look_up("go").participles
    assert look_up("happy").readings == "a"
    assert "r" in look_up("quickly").readings


def test_an_unknown_word_has_nothing():
    assert look_up("zzxqy") == look_up("") == look_up("\x00") == Word()
