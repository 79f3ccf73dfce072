from __future__ import annotations

import sys
from types import MappingProxyType, ModuleType, SimpleNamespace

import pytest

from grice.cli import main
from grice.errors import ModelError
from grice_tasks.situatedgen.installed import FlairTagger, SpacyTagger
from grice_tasks.situatedgen.tagger import Tagger

TEXT = "Snow falls in Norway."


def place(text):
    return text.index("Norway"), text.index("Norway") + len("Norway")


class Pipeline:
    """What spaCy loads: a place and two nouns."""

    meta = MappingProxyType({"version": "9.9"})

    def pipe(self, texts):
        for text in texts:
            start, end = place(text)
            words = [(0, "Snow", "NOUN"), (5, "falls", "VERB"), (start, "Norway", "PROPN")]
            yield Document(
                [Word(idx, word, pos) for idx, word, pos in words],
                [SimpleNamespace(start_char=start, end_char=end, label_="GPE")],
            )


class Word(str):
    __slots__ = ("idx", "pos_")

    def __new__(cls, idx, word, pos):
        made = super().__new__(cls, word)
        made.idx, made.pos_ = idx, pos
        return made


class Document(list):
    def __init__(self, words, entities):
        super().__init__(words)
        self.ents = entities


class Sentence:
    """What flair reads: it is told what its models find."""

    def __init__(self, text):
        self.text, self.spans, self.words = text, [], []

    def get_spans(self, kind):
        return self.spans if kind == "ner" else []

    def __iter__(self):
        return iter(self.words)


class SequenceTagger:
    def __init__(self, kind):
        self.tag_type = kind

    @classmethod
    def load(cls, name):
        if name not in ("ner-english-ontonotes-large", "upos-fast"):
            raise FileNotFoundError(name)
        return cls("ner" if name.startswith("ner") else "upos")

    def predict(self, sentences, mini_batch_size):
        assert mini_batch_size > 0
        for sentence in sentences:
            assert sentence.text.strip()
            start, end = place(sentence.text)
            if self.tag_type == "ner":
                sentence.spans = [SimpleNamespace(start_position=start, end_position=end, tag="GPE",
                                             score=0.97)]  # fmt: skip
            else:
                sentence.words = [
                    Token(0, 4, "NOUN"),
                    Token(5, 10, "VERB"),
                    Token(start, end, "PROPN"),
                ]


class Token:
    def __init__(self, start, end, pos):
        self.start_position, self.end_position, self._pos = start, end, pos

    def get_label(self, kind):
        assert kind == "upos"
        return SimpleNamespace(value=self._pos, score=0.9)


@pytest.fixture
def packages(monkeypatch):
    """Stand-ins for both packages."""
    spacy = ModuleType("spacy")
    spacy.load = lambda name: Pipeline()
    data, models = ModuleType("flair.data"), ModuleType("flair.models")
    data.Sentence, models.SequenceTagger = Sentence, SequenceTagger
    for module in (spacy, ModuleType("flair"), data, models):
        monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.mark.parametrize("make", [
    lambda: SpacyTagger("en_core_web_sm"), lambda: FlairTagger("ner-english-ontonotes-large"),
])  # fmt: skip
def test_entities_and_nouns_have_their_places(packages, make):
    tagger = make()
    assert isinstance(tagger, Tagger)
    tagged = tagger.find([TEXT])[0]
    assert [(TEXT[e.start : e.end], e.label) for e in tagged.entities] == [("Norway", "GPE")]
    assert [TEXT[n.start : n.end] for n in tagged.nouns] == ["Snow", "Norway"]


def test_identities_name_the_models(packages):
    assert SpacyTagger("en_core_web_sm").identity == "spacy:en_core_web_sm@9.9"
    assert FlairTagger("ner-english-ontonotes-large").identity == (
        "flair:ner-english-ontonotes-large+upos-fast"
    )


def test_flair_is_not_shown_empty_texts(packages):
    tagged = FlairTagger("ner-english-ontonotes-large").find(["", TEXT, "  "])
    assert [len(tags.entities) for tags in tagged] == [0, 1, 0]
    assert FlairTagger("ner-english-ontonotes-large").find([]) == []


def test_what_cannot_be_opened_is_named(packages):
    with pytest.raises(ModelError, match="'no-model' cannot be opened"):
        FlairTagger("no-model")


def test_packages_that_are_not_installed():
    with pytest.raises(ModelError, match="en_no_model"):
        SpacyTagger("en_no_model")
    with pytest.raises(ModelError, match="flair model 'x'"):
        FlairTagger("x")


@pytest.mark.parametrize("chosen", [("--spacy", "en_core_web_sm"),
                                    ("--flair", "ner-english-ontonotes-large")])  # fmt: skip
def test_the_command_marks_with_an_installed_tagger(packages, tmp_path, capsys, chosen):
    file = tmp_path / "s.jsonl"
    file.write_text('{"id": "a", "statement": "' + TEXT + '"}\n')
    assert main(["situatedgen", "mark", str(file), *chosen]) == 0
    assert '"keywords":["Norway","Snow"]' in capsys.readouterr().out
