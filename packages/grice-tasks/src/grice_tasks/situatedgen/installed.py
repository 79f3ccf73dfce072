"""Taggers of entities and nouns that other installed packages bring: spaCy's and flair's."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from grice.errors import ModelError
from grice.models.protocols import TaggedSpan
from grice_tasks.situatedgen.tagger import Found

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice_tasks.situatedgen.tagger import Tagger

NOUNS = ("NOUN", "PROPN")
"""Universal parts of speech that give keywords."""
FLAIR_WORDS = "upos-fast"
BATCH = 32


def open_tagger(*, spacy: str | None = None, flair: str | None = None) -> Tagger | None:
    """Return the tagger of another package by the name of its model, if one is named.

    Raises:
        ModelError: If the package or the model is not installed.
    """
    if spacy:
        return SpacyTagger(spacy)
    return FlairTagger(flair) if flair else None


class SpacyTagger:
    """Any installed spaCy model with entities and parts of speech.

    Args:
        model: Name of the model, such as ``en_core_web_sm``, or its folder.

    Raises:
        ModelError: If spaCy or the model is not installed.
    """

    def __init__(self, model: str) -> None:
        try:
            self._nlp = import_module("spacy").load(model)
        except (ImportError, OSError) as error:
            raise ModelError(f"spaCy model {model!r} cannot be opened: {error}") from error
        self.identity = f"spacy:{model}@{self._nlp.meta.get('version', '')}"

    def find(self, texts: Sequence[str]) -> list[Found]:
        """Return what is in each text."""
        return [
            Found(
                tuple(TaggedSpan(e.start_char, e.end_char, e.label_, 1.0) for e in doc.ents),
                tuple(
                    TaggedSpan(token.idx, token.idx + len(token), "NOUN", 1.0)
                    for token in doc
                    if token.pos_ in NOUNS
                ),
            )
            for doc in self._nlp.pipe(texts)
        ]


class FlairTagger:
    """Two flair models: one of entities, such as the one the paper names, and one of words.

    Args:
        model: Model of entities: ``ner-english-ontonotes-large``, or a file.
        words: Model of universal parts of speech, which says what is a noun.

    Raises:
        ModelError: If flair is not installed or a model cannot be opened.
    """

    def __init__(self, model: str, *, words: str = FLAIR_WORDS) -> None:
        try:
            self._sentence = import_module("flair.data").Sentence
            load = import_module("flair.models").SequenceTagger.load
            self._entities, self._words = load(model), load(words)
        except (ImportError, OSError, ValueError, RuntimeError) as error:
            raise ModelError(f"flair model {model!r} cannot be opened: {error}") from error
        self.identity = f"flair:{model}+{words}"

    def find(self, texts: Sequence[str]) -> list[Found]:
        """Return what is in each text; one without a word is not shown to the models."""
        read = [self._sentence(text) for text in texts]
        shown = [sentence for text, sentence in zip(texts, read, strict=True) if text.strip()]
        for tagger in (self._entities, self._words):
            if shown:
                tagger.predict(shown, mini_batch_size=BATCH)
        return [self._tagged(sentence) for sentence in read]

    def _tagged(self, sentence: Any) -> Found:  # noqa: ANN401 - of another package
        kind = self._words.tag_type
        return Found(
            tuple(
                TaggedSpan(span.start_position, span.end_position, span.tag, float(span.score))
                for span in sentence.get_spans(self._entities.tag_type)
            ),
            tuple(
                TaggedSpan(
                    word.start_position,
                    word.end_position,
                    "NOUN",
                    float(word.get_label(kind).score),
                )
                for word in sentence
                if word.get_label(kind).value in NOUNS
            ),
        )
