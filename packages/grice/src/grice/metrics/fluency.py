"""Fluency: excess surprisal of the words of a reply."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from grice.data import FeatureEvidence, Judgement
from grice.errors import ModelFolderError
from grice.metrics.common import probability, unsupported_reply, word_features
from grice.metrics.declaration import Example, metric
from grice.models.loader import Settings, model_type, read_settings
from grice.numeric import np
from grice.text.content import sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokenizers import Tokenizer

    from grice.data import Response
    from grice.models.embedded import EmbeddedGenerator
    from grice.models.folder import ModelFolder
    from grice.models.loader import ModelLoader

NEUTRAL = 0.5
WEIGHT, SHIFT = -2.09, 0.71
"""Log odds of no error, per nat, by the recipe ``dialogue.fluency`` of grice-research.

The shift is such that one in twenty human replies without an error is below one half.
"""
ALLOWED = 1.0
"""Tolerance, in nats, of the surprisal of a word piece above its unigram surprisal."""
FEWEST_WORDS = 3  # fewer words are not enough evidence
WORDS = 3  # words shown as evidence


class UnigramSettings(Settings, frozen=True):
    """Settings of the language model: the piece that begins a text."""

    begin: str = ""


class FluencyModel:
    """Compares the probability of word pieces in context with their unigram probability.

    The folder of the language model holds ``usual.npy``, the unigram log probability of each piece
    in the order of ``shared_vocabulary.json``.
    """

    def __init__(self, folder: ModelFolder, generator: EmbeddedGenerator) -> None:
        self.identity = generator.identity
        self._generator = generator
        self._begin = read_settings(folder, UnigramSettings).begin
        pieces = msgspec.json.decode(
            folder.file("shared_vocabulary.json").read_bytes(), type=list[str]
        )
        unigrams = np.load(folder.file("usual.npy"), allow_pickle=False).astype(np.float32).tolist()
        if len(unigrams) != len(pieces) or self._begin not in pieces:
            raise ModelFolderError(
                f"{folder.path}: usual.npy has {len(unigrams)} numbers for {len(pieces)} pieces, "
                f"and settings.begin is {self._begin!r}; it must be a piece, each with a number"
            )
        self._unigrams = dict(zip(pieces, unigrams, strict=True))
        self._folder = folder

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from grice.models.embedded import open_tokenizer

        return open_tokenizer(self._folder)

    def disfluency(self, texts: Sequence[str]) -> list[float]:
        """Return the mean excess surprisal of each text, or of its start (nats per piece)."""
        excess = self._excess(texts)
        return [math.fsum(excess[text]) / max(1, len(excess[text])) for text in texts]

    def surprises(self, texts: Sequence[str]) -> list[list[tuple[int, float]]]:
        """Return the offset and the excess surprisal (nats) of each piece.

        Each sentence is scored without the others.
        """
        from grice.models.embedded import tokenizable

        cut = [sentences(text) for text in texts]
        excess = self._excess(sentence.text for text in cut for sentence in text)
        encoded = self._tokenizer.encode_batch(
            list(map(tokenizable, excess)), add_special_tokens=False
        )
        # The last scored piece ends the text and has no offsets.
        read = {
            sentence: list(zip(tokens.offsets, nats, strict=False))
            for (sentence, nats), tokens in zip(excess.items(), encoded, strict=True)
        }
        return [
            [
                (sentence.start + start, nats)
                for sentence in text
                for (start, _), nats in read[sentence.text]
            ]
            for text in cut
        ]

    def _excess(self, texts: Iterable[str]) -> dict[str, list[float]]:
        """Return the excess surprisal of each piece of a text, in nats."""
        distinct = list(dict.fromkeys(texts))
        scored = self._generator.token_log_probabilities(
            [("", text, self._begin) for text in distinct]
        )
        return {
            text: [max(0.0, self._unigrams[piece] - value - ALLOWED) for piece, value in pieces]
            for text, pieces in zip(distinct, scored, strict=True)
        }


def language_model(folder: ModelFolder, reference: str, loader: ModelLoader) -> FluencyModel:
    """Open the language model that a model depends on."""
    from grice.models.embedded import EmbeddedGenerator

    model = loader.dependency(folder, reference, EmbeddedGenerator, "likelihood")
    return FluencyModel(loader.folder(reference), model)


class FluencySettings(Settings, frozen=True):
    """Settings of a model of type ``fluency``: its language model."""

    base: str


@model_type("fluency", task="fluency", settings=FluencySettings)
def fluency_model(
    folder: ModelFolder, settings: FluencySettings, loader: ModelLoader
) -> FluencyModel:
    """Open the language model of a folder."""
    return language_model(folder, settings.base, loader)


def _reason_against(response: Response) -> str | None:
    if reason := unsupported_reply(response):
        return reason
    few = len(response.text.split()) < FEWEST_WORDS
    return f"fewer than {FEWEST_WORDS} words, too few to score" if few else None


@metric(
    "fluency",
    version="2",
    summary="Is this reply fluent?",
    judges="response",
    models={"model": "builtin:fluency"},
    protocols={"model": FluencyModel},
    source=(
        "A one-sided form of SLOR (Pauls and Klein, 2012; Lau, Clark and Lappin, 2017) by a small "
        "language model of dialogue."
    ),
    neutral=NEUTRAL,
    abstain=_reason_against,
    example=Example(["How was it?", "It was a lovely day and we had a lot of fun."], 0.5, 1.0),
)
def fluency(responses: Sequence[Response], *, model: FluencyModel) -> Iterator[Judgement]:
    """Return the fluency of a reply, 0 to 1, independent of its history.

    A word lowers the score if it is less likely in its context than by its frequency: rare words
    cost nothing; misplaced, dropped, doubled or wrongly inflected words do. Each sentence is scored
    by itself, and the mean over all word pieces counts. The evidence is the words with the largest
    excess surprisal.

    When to use it:
        To find corrupted replies: scrambled, cut off, or generated word by word.

    When not to:
        To compare writing styles, or for replies with jargon, names or code, which a small model
        scores as errors; or to judge the content of fluent replies. It correlates with ratings of
        fluency no better than shortness does, and detects one error in four.
    """
    return map(_judgement, responses, model.surprises([response.text for response in responses]))


def _judgement(response: Response, pieces: Sequence[tuple[int, float]]) -> Judgement:
    words = word_features(response, "unexpected word", pieces, max)
    words.sort(key=lambda word: -word.value)
    mean = mean_nats(pieces)
    evidence = (
        FeatureEvidence("mean excess surprisal (nats per token)", mean, WEIGHT * mean),
        *(word for word in words[:WORDS] if word.value > 0),
    )
    value = probability(WEIGHT * mean + SHIFT)
    reason = f"mean excess surprisal of {mean:.2f} nats per token"
    if value < NEUTRAL and len(evidence) > 1:
        reason = f"{evidence[1].name} (excess surprisal {evidence[1].value:.1f} nats)"
    return Judgement(value, "ok", reason, (), evidence)


def mean_nats(pieces: Sequence[tuple[int, float]]) -> float:
    """Return the mean excess surprisal of a piece, in nats; 0 without pieces."""
    return sum(nats for _, nats in pieces) / max(1, len(pieces))
