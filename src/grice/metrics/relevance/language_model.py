"""A published language model that reads from left to right, as a scorer of texts and of replies.

It opens from a folder that the recipe ``language_model`` makes of such a model; none ships, for the
smallest useful one is twice as large as all of this package. A reply is judged by two numbers: its
mean log likelihood after the history, and how much the history adds to it, the pointwise mutual
information that Li et al. (2016) choose replies by. How they are weighed stands in the card.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import ctranslate2
import msgspec
import numpy as np

from grice.errors import InputError
from grice.metrics.relevance.pairs import BALANCED
from grice.numeric import sigmoid
from grice.runtime.batching import groups
from grice.runtime.protocols import PairClassifier
from grice.runtime.registry import Settings, model_kind
from grice.runtime.tokenization import CHARACTERS, open_tokenizer, tokenizable
from grice.text.tokens import WORD_CHARACTER

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grice.runtime.bundle import Bundle
    from grice.runtime.protocols import Pair
    from grice.runtime.registry import Opener

__all__ = ["LanguageModel", "LanguageSettings", "Likely", "language_model"]

AT_ONCE = 512
"""Tokens of one batch: for each the model gives a number for every piece of its vocabulary."""
FEWEST = 16
"""Tokens that a model must at least be able to read."""
REPLY = "A:"
"""What stands before a reply."""


class Likely(NamedTuple):
    """How likely a reply is, in nats a token.

    Attributes:
        after: Mean log likelihood after the history, at most 0.
        gain: How much of it the history adds.
    """

    after: float
    gain: float


class LanguageSettings(Settings, frozen=True):
    """How much it reads, and its weights.

    The log odds are ``weight_after * likelihood + weight_gain * gain + weight_shift``.
    """

    max_tokens: Annotated[int, msgspec.Meta(ge=FEWEST)]
    weight_after: float
    weight_gain: float
    weight_shift: float


class LanguageModel:
    """Says how likely texts are, and how well replies answer.

    It computes in int8, and batches hold texts of equal length, so that the bits of a text do not
    depend on the batch.

    Args:
        bundle: The opened bundle: a decoder in the format of CTranslate2 and ``tokenizer.json``.
        settings: What its card states.
        threads: How many batches run at the same time.
    """

    def __init__(self, bundle: Bundle, settings: LanguageSettings, *, threads: int) -> None:
        self.identity = f"{bundle.card.name}@{bundle.digest}/ct2-{ctranslate2.__version__}"
        self._settings = settings
        self._most = settings.max_tokens
        self._tokenizer = open_tokenizer(bundle)
        self._engine = ctranslate2.Generator(
            str(bundle.folder),
            device="cpu",
            compute_type="int8",
            inter_threads=threads,
            intra_threads=1,
        )

    def log_probabilities(self, prompts: Sequence[str], texts: Sequence[str]) -> list[float]:
        """Return the mean log probability of the tokens of each text after its prompt, at most 0.

        Of a long prompt the end is read, of a long text the beginning.

        Args:
            prompts: What stands before.
            texts: What is scored, one per prompt.

        Raises:
            InputError: If these are not as many.
        """
        if len(prompts) != len(texts):
            raise InputError(f"{len(prompts)} prompts and {len(texts)} texts: as many are needed")
        asked = list(zip(prompts, texts, strict=True))
        different = list(dict.fromkeys(asked))
        # Of a text of megabytes no more is tokenised than can be read.
        room, characters = self._most // 2, self._most * CHARACTERS
        before = self._tokens(prompt[-characters:] or "\n" for prompt, _ in different)
        after = self._tokens(f" {text.lstrip()}"[:characters] for _, text in different)
        after = [tokens[:room] for tokens in after]
        read = [
            prompt[-(self._most - len(text)) :] for prompt, text in zip(before, after, strict=True)
        ]
        # Padding changes what comes out, by up to a nat: a batch holds what is equally long.
        lengths = [len(prompt) + len(text) for prompt, text in zip(read, after, strict=True)]
        likelihoods = {}
        for rows in groups(lengths):
            scored = self._engine.score_batch(
                [read[i] + after[i] for i in rows], max_batch_size=AT_ONCE, batch_type="tokens"
            )
            for i, result in zip(rows, scored, strict=True):
                own = result.log_probs[len(read[i]) - 1 :]
                likelihoods[different[i]] = float(np.mean(own)) if after[i] else 0.0
        return [likelihoods[item] for item in asked]

    def likely(self, pairs: Sequence[Pair]) -> list[Likely]:
        """Return how likely the right side of each pair is after the left side."""
        texts = [pair.right for pair in pairs]
        prompts = [*map(_conversation, pairs), *[REPLY] * len(pairs)]
        both = self.log_probabilities(prompts, texts * 2)
        after, alone = both[: len(pairs)], both[len(pairs) :]
        return [Likely(value, value - prior) for value, prior in zip(after, alone, strict=True)]

    def classify(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability that the right side answers the left, 0 to 1.

        A pair without a word on either side gives 0.5: there is nothing to judge.
        """
        judged = [
            i
            for i, pair in enumerate(pairs)
            if WORD_CHARACTER.search(pair.right) and any(map(WORD_CHARACTER.search, pair.left))
        ]
        likely = np.array(self.likely([pairs[i] for i in judged]), np.float32).reshape(-1, 2)
        weights = np.array([self._settings.weight_after, self._settings.weight_gain], np.float32)
        odds = likely @ weights + np.float32(self._settings.weight_shift)
        probabilities = [BALANCED] * len(pairs)
        for i, probability in zip(judged, sigmoid(odds), strict=True):
            probabilities[i] = float(probability)
        return probabilities

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is longer than half of what the model reads."""
        room = self._most // 2
        cut = [text[: (room + 1) * CHARACTERS] for text in texts]
        return [len(tokens) > room for tokens in self._tokens(cut)]

    def _tokens(self, texts: Iterable[str]) -> list[list[str]]:
        readable = list(map(tokenizable, texts))
        encodings = self._tokenizer.encode_batch(readable, add_special_tokens=False)
        return [encoding.tokens for encoding in encodings]


def _conversation(pair: Pair) -> str:
    """Return the history as lines of two speakers, and the beginning of the reply's line."""
    turns = [" ".join(turn.split()) for turn in pair.left if turn.strip()]
    names = ["AB"[(len(turns) - i) % 2] for i in range(len(turns))]
    lines = [f"{name}: {turn}" for name, turn in zip(names, turns, strict=True)]
    return "\n".join([*lines, REPLY])


@model_kind(
    "language-model", answers="relevance", protocol=PairClassifier, settings=LanguageSettings
)
def language_model(bundle: Bundle, settings: LanguageSettings, opener: Opener) -> LanguageModel:
    """Open a decoder."""
    return LanguageModel(bundle, settings, threads=opener.workers)
