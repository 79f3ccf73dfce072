"""A published language model that reads from left to right, as a scorer of texts and of replies.

It opens from a folder that the recipe ``language_model`` makes of such a model; none ships, for the
smallest useful one is twice as large as all of this package. A reply is judged by two numbers: its
mean log likelihood after the history, and how much the history adds to it, the pointwise mutual
information that Li et al. (2016) choose replies by. How they are weighed stands in the card.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import ctranslate2
import numpy as np
from tokenizers import Tokenizer

from grice.errors import BundleError, InputError
from grice.runtime.heads import sigmoid
from grice.runtime.pairs import BALANCED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grice.runtime.bundle import Bundle
    from grice.runtime.protocols import Pair

__all__ = ["LanguageModel", "Likely"]

AT_ONCE = 512
"""Tokens of one batch: for each the model gives a number for every piece of its vocabulary."""
FEWEST = 16
"""Tokens that a model must at least be able to read."""
CHARACTERS = 16
"""Characters read per token that the model reads."""
REPLY = "A:"
"""What stands before a reply."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_WORD = re.compile(r"\w")


class Likely(NamedTuple):
    """How likely a reply is, in nats a token.

    Attributes:
        after: Mean log likelihood after the history, at most 0.
        gain: How much of it the history adds.
    """

    after: float
    gain: float


class Weights(NamedTuple):
    """The log odds are ``after * likelihood + gain * gain + shift``."""

    after: float
    gain: float
    shift: float


class LanguageModel:
    """Says how likely texts are, and how well replies answer.

    It always computes in whole numbers, and only texts of one length together, so that the bits of
    a text do not depend on its neighbours in the batch.

    Args:
        bundle: The opened bundle: a decoder in the format of CTranslate2 and ``tokenizer.json``;
            its settings state ``max_tokens``, ``weight_after``, ``weight_gain`` and
            ``weight_shift``.
        threads: How many batches run at the same time.

    Raises:
        BundleError: If a setting is missing.
    """

    def __init__(self, bundle: Bundle, *, threads: int) -> None:
        self.identity = f"{bundle.card.name}@{bundle.digest}/ct2-{ctranslate2.__version__}"
        self._weights = _weights(bundle)
        self._most = _most(bundle)
        self._tokenizer = Tokenizer.from_file(str(bundle.path("tokenizer.json")))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
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
        read = [one[-(self._most - len(other)) :] for one, other in zip(before, after, strict=True)]
        # Padding changes what is found, by up to a nat: a batch holds what is equally long.
        alike: dict[int, list[int]] = defaultdict(list)
        for i, (one, other) in enumerate(zip(read, after, strict=True)):
            alike[len(one) + len(other)].append(i)
        found = {}
        for rows in alike.values():
            scored = self._engine.score_batch(
                [read[i] + after[i] for i in rows], max_batch_size=AT_ONCE, batch_type="tokens"
            )
            for i, result in zip(rows, scored, strict=True):
                own = result.log_probs[len(read[i]) - 1 :]
                found[different[i]] = float(np.mean(own)) if after[i] else 0.0
        return [found[item] for item in asked]

    def likely(self, pairs: Sequence[Pair]) -> list[Likely]:
        """Return how likely the right side of each pair is after the left side."""
        texts = [pair.right for pair in pairs]
        prompts = [*map(_conversation, pairs), *[REPLY] * len(pairs)]
        both = self.log_probabilities(prompts, texts * 2)
        after, alone = both[: len(pairs)], both[len(pairs) :]
        return [Likely(one, one - other) for one, other in zip(after, alone, strict=True)]

    def classify(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability that the right side answers the left, 0 to 1.

        A pair without a word on either side gives 0.5: there is nothing to judge.
        """
        judged = [i for i, pair in enumerate(pairs)
                  if _WORD.search(pair.right) and any(map(_WORD.search, pair.left))]  # fmt: skip
        likely = np.array(self.likely([pairs[i] for i in judged]), np.float32).reshape(-1, 2)
        odds = likely @ np.array(self._weights[:2], np.float32) + np.float32(self._weights.shift)
        found = [BALANCED] * len(pairs)
        for i, probability in zip(judged, sigmoid(odds), strict=True):
            found[i] = float(probability)
        return found

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is longer than half of what the model reads."""
        room = self._most // 2
        cut = [text[: (room + 1) * CHARACTERS] for text in texts]
        return [len(tokens) > room for tokens in self._tokens(cut)]

    def _tokens(self, texts: Iterable[str]) -> list[list[str]]:
        clean = [_SURROGATE.sub("\ufffd", text) for text in texts]
        encodings = self._tokenizer.encode_batch(clean, add_special_tokens=False)
        return [encoding.tokens for encoding in encodings]


def _conversation(pair: Pair) -> str:
    """Return the history as lines of two speakers, and the beginning of the reply's line."""
    turns = [" ".join(turn.split()) for turn in pair.left if turn.strip()]
    names = ["AB"[(len(turns) - i) % 2] for i in range(len(turns))]
    lines = [f"{name}: {turn}" for name, turn in zip(names, turns, strict=True)]
    return "\n".join([*lines, REPLY])


def _weights(bundle: Bundle) -> Weights:
    settings = bundle.card.settings
    stated = [settings.get(f"weight_{name}") for name in Weights._fields]
    numbers = [float(one) for one in stated if isinstance(one, int | float)]
    if len(numbers) != len(Weights._fields) or not np.isfinite(numbers).all():
        raise BundleError(
            f"{bundle.folder / 'card.toml'}: settings: the numbers weight_after, weight_gain and "
            f"weight_shift are needed"
        )
    return Weights(*numbers)


def _most(bundle: Bundle) -> int:
    value = bundle.card.settings.get("max_tokens")
    if not isinstance(value, int) or value < FEWEST:
        raise BundleError(
            f"{bundle.folder / 'card.toml'}: settings.max_tokens: a whole number from {FEWEST} is "
            f"needed, found {value!r}"
        )
    return value
