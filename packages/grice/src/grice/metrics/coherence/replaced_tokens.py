"""Words of a text that do not belong there, by a small network on the encoder's token states.

The network reads the state of a token, those beside it and the mean of all; the states come with
the vector of the text, so that nothing is encoded twice. It learned from turns in which words were
exchanged on purpose, beside the same turns as they were said.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec
import numpy as np

from grice.models.cache import cache_key
from grice.models.loader import Settings, read_settings
from grice.models.mlp import Mlp
from grice.models.products import single_threaded
from grice.models.spans import neighbourhood
from grice.text.tokens import PLAIN_CONTRACTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice.models.bundle import Bundle
    from grice.models.cache import Cache, CachedEncoder
    from grice.models.embedded import Hidden

    Array: TypeAlias = NDArray[np.float32]


REPLACED_TOKEN_FEATURES = 8
"""How many features :func:`replaced_token_features` gives for a turn."""
WORST = 3
"""Tokens that stand for the worst of a text."""
LONG = 4
"""Letters of the shortest word that says what a turn is about."""
SHORTEST = 3
STEM = 6
"""Letters by which two forms of a word are taken to be one."""
NOWHERE = -3.0
"""Log odds where there is no such word."""
SHARP = 2.0
"""What log odds of words are multiplied by before they are summed."""


class ReplacedTokens(NamedTuple):
    """How much the words of a text look as if they did not belong there.

    Attributes:
        whole: Log odds of all tokens: their soft maximum, the mean of the worst, the mean, the
            sum of those above zero, the maximum.
        words: Its words in lower case, each with the log odds of its worst token.
    """

    whole: tuple[float, float, float, float, float]
    words: tuple[tuple[str, float], ...]


NOTHING = ReplacedTokens((NOWHERE, NOWHERE, NOWHERE, 0.0, NOWHERE), ())
"""Of a text without a word."""


class ReplacedTokenSettings(Settings, frozen=True):
    """Of a bundle with ``misfits.npz``; see :class:`ReplacedTokenDetector`."""

    reach: int
    sharpness: float


class ReplacedTokenDetector:
    """Judges the words of texts by the states of their tokens."""

    def __init__(self, network: Mlp, reach: int, sharpness: float, identity: str) -> None:
        self.identity = identity
        self._network, self._reach, self._sharpness = network, reach, sharpness

    @classmethod
    def open(cls, bundle: Bundle, encoder: str) -> ReplacedTokenDetector:
        """Open a bundle with ``misfits.npz`` and the settings ``reach`` and ``sharpness``."""
        settings = read_settings(bundle, ReplacedTokenSettings)
        identity = f"{bundle.identity}/misfits+{encoder}"
        network = Mlp.load(bundle.path("misfits.npz"))
        return cls(network, settings.reach, settings.sharpness, identity)

    def judge(self, text: str, hidden: Hidden) -> ReplacedTokens:
        """Return how well the words of a text belong there."""
        odds = self.odds(hidden.states)
        if not len(odds):
            return NOTHING
        return ReplacedTokens(
            _whole(odds, self._sharpness), _words(text, hidden.offsets[1:-1], odds)
        )

    def odds(self, states: Array) -> Array:
        """Return the log odds that a token does not belong, of all but the first and the last."""
        if len(states) < 3:
            return np.zeros(0, np.float32)
        (first, bias), (last, shift) = self._network.layers
        near = (2 * self._reach + 1) * states.shape[1]
        rows = neighbourhood(states, self._reach)[1:-1]
        # One product for all tokens of a text: its bits hang on this text alone.
        with single_threaded():
            hidden = rows @ first[:near]
            hidden += states.mean(axis=0) @ first[near:] + bias
            np.maximum(hidden, 0, out=hidden)
            odds: Array = hidden @ last[:, 0] + shift[0]
        return odds


def _whole(odds: Array, sharpness: float) -> tuple[float, float, float, float, float]:
    return (
        _soft_maximum(odds, sharpness),
        float(np.sort(odds)[-WORST:].mean()),
        float(odds.mean()),
        float(np.logaddexp(0, odds).sum()),
        float(odds.max()),
    )


def _soft_maximum(odds: Array, sharpness: float) -> float:
    top = odds.max()
    return float(top + np.log(np.exp((odds - top) * np.float32(sharpness)).sum()) / sharpness)


def _words(
    text: str, offsets: Sequence[tuple[int, int]], odds: Array
) -> tuple[tuple[str, float], ...]:
    """Return the words that tokens cover; words and tokens both stand in order."""
    words = []
    i = 0
    for match in PLAIN_CONTRACTIONS.finditer(text):
        start, end = match.span()
        while i < len(offsets) and offsets[i][1] <= start:
            i += 1
        last = i
        while last < len(offsets) and offsets[last][0] < end:
            last += 1
        if last > i:
            words.append((match[0].lower(), float(odds[i:last].max())))
    return tuple(words)


def replaced_token_features(turns: Sequence[ReplacedTokens]) -> Array:
    """Return the features of the turns of a conversation, shape ``(turns, 8)``; high is odd.

    Those of the whole turn; then the soft maximum over its words that also stand in another turn
    (a word put where it does not belong is often taken from around it), over those that stand
    nowhere else, and over short ones.
    """
    stems = [[(word[:STEM], len(word), odds) for word, odds in turn.words] for turn in turns]
    spread: Counter[str] = Counter()
    for words in stems:
        spread.update({stem for stem, length, _ in words if length >= SHORTEST})
    features = np.empty((len(turns), REPLACED_TOKEN_FEATURES), np.float32)
    for i, (turn, words) in enumerate(zip(turns, stems, strict=True)):
        groups: tuple[list[float], ...] = ([], [], [])
        for stem, length, odds in words:
            groups[2 if length < LONG else 0 if spread[stem] > 1 else 1].append(odds)
        features[i] = (*turn.whole, *map(_most, groups))
    return features


def _most(odds: Sequence[float]) -> float:
    return _soft_maximum(np.array(odds, np.float32), SHARP) if odds else NOWHERE


STATES = 256
"""Texts whose token states are held at once: some 10 MB for turns of common length."""


class CachedReplacedTokens:
    """A detector that answers each distinct text once.

    It reads the states that others ask the encoder for, so that a turn is not encoded for it alone.
    """

    def __init__(
        self, detector: ReplacedTokenDetector, encoder: CachedEncoder, cache: Cache
    ) -> None:
        self.identity = detector.identity
        self._detector = detector
        self._encoder = encoder
        self._cache = cache
        encoder.read_along(self._keep)

    def replaced_tokens(self, texts: Sequence[str]) -> list[ReplacedTokens]:
        """Return for each text how much its words look as if they did not belong there."""
        return self._cache.cached(self.identity, texts, self._judged, ReplacedTokens)

    def _judged(self, texts: list[str]) -> list[ReplacedTokens]:
        answers = []
        for start in range(0, len(texts), STATES):
            block = texts[start : start + STATES]
            answers += self._read(block, self._encoder.states(block))
        return answers

    def _read(self, texts: Sequence[str], states: Sequence[Hidden]) -> list[ReplacedTokens]:
        return [
            self._detector.judge(text, hidden) for text, hidden in zip(texts, states, strict=True)
        ]

    def _keep(self, texts: Sequence[str], states: Sequence[Hidden]) -> None:
        answers = zip(texts, self._read(texts, states), strict=True)
        self._cache.put(
            {
                cache_key(self.identity, text): msgspec.json.encode(answer)
                for text, answer in answers
            }
        )
