"""How well each turn of a conversation carries its thread on: a small network on turn vectors.

Every turn is encoded by itself, so a conversation of hundreds of turns costs one encoding a turn,
and one more turn costs one more. The network reads a turn beside the turn before it, what its
speaker said last and all that was said; the conversation is judged from its turns.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from grice.errors import BundleError
from grice.runtime.heads import Mlp, sigmoid
from grice.runtime.protocols import Thread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice.runtime.bundle import Bundle
    from grice.runtime.protocols import Encoder

    Array: TypeAlias = NDArray[np.float32]

__all__ = [
    "NUMBERS",
    "Related",
    "ThreadHead",
    "pooled",
    "related_turns",
    "thread_blocks",
    "thread_features",
    "thread_numbers",
]

DECAY = 0.7
"""Weight of a turn in all that was said, relative to the turn after it."""
LOWEST = 0.25
"""Share of the turns that stand for the worst of a conversation, at least one."""
NUMBERS = 16
"""How many plain numbers the network reads beside the vectors."""


def thread_features(vectors: Array, speakers: Sequence[str | int], texts: Sequence[str]) -> Array:
    """Return what the network reads of each turn, shape ``(turns, 5 * d + NUMBERS)``.

    The blocks are the turn, the turn before it, and the products of the turn with the turn before
    it, with what its speaker said last and with all that was said. Then plain numbers: cosines, of
    the turn with these and with the nearest of the speaker's and of the others' earlier turns;
    lengths; whether it and the turn before it ask; and of its sentence that says most of what the
    speaker, or another, has said before, how much and whether one of the two denies it. What is
    not there is zero.

    Args:
        vectors: Unit vectors of the turns, shape ``(turns, d)``.
        speakers: Who says each turn.
        texts: What is said.
    """
    related = related_turns(vectors, speakers)
    numbers = thread_numbers(vectors, related, speakers, texts)
    return np.concatenate([thread_blocks(vectors, related), numbers], axis=1, dtype=np.float32)


class Related(NamedTuple):
    """What each turn is read beside, all of shape ``(turns, d)``, zero where there is nothing.

    Attributes:
        before: The turn before it.
        own: What its speaker said last.
        whole: All that was said, later turns weighing more; unit vectors.
    """

    before: Array
    own: Array
    whole: Array


def related_turns(vectors: Array, speakers: Sequence[str | int]) -> Related:
    """Return what each turn is read beside."""
    found = Related(np.zeros_like(vectors), np.zeros_like(vectors), np.zeros_like(vectors))
    found.before[1:] = vectors[:-1]
    so_far = np.zeros(vectors.shape[1], np.float32)
    last: dict[str | int, int] = {}
    for i, speaker in enumerate(speakers):
        if speaker in last:
            found.own[i] = vectors[last[speaker]]
        norm = np.sqrt(so_far @ so_far)
        found.whole[i] = so_far / norm if norm > 0 else so_far
        last[speaker] = i
        so_far = np.float32(DECAY) * so_far + vectors[i]
    return found


def thread_blocks(vectors: Array, related: Related) -> Array:
    """Return the vectors that the network reads of each turn, shape ``(turns, 5 * d)``."""
    scale = np.float32(np.sqrt(vectors.shape[1]))
    products = [vectors * other * scale**2 for other in related]
    return np.concatenate([vectors * scale, related.before * scale, *products], axis=1)


def thread_numbers(
    vectors: Array, related: Related, speakers: Sequence[str | int], texts: Sequence[str]
) -> Array:
    """Return the plain numbers that the network reads of each turn, ``(turns, NUMBERS)``."""
    nearest = np.zeros((len(texts), 2), np.float32)
    cosines = vectors @ vectors.T
    names = np.array([str(speaker) for speaker in speakers])
    for i in range(1, len(texts)):
        same = names[:i] == names[i]
        for side, chosen in enumerate((same, ~same)):
            if chosen.any():
                nearest[i, side] = cosines[i, :i][chosen].max()
    lengths = np.log1p(np.array([len(text.split()) for text in texts], np.float32)) / 3
    asks = np.array(["?" in text for text in texts], np.float32)
    numbers = (
        *((vectors * other).sum(axis=1) * 4 for other in related),
        *(nearest * 4).T,
        (related.before * related.own).sum(axis=1) * 4,
        lengths,
        np.concatenate([[0], lengths[:-1]]),
        asks,
        np.concatenate([[0], asks[:-1]]),
        np.log1p(np.arange(len(texts), dtype=np.float32)) / 3,
        *_said_again(speakers, texts).T,
    )
    return np.stack(numbers, axis=1, dtype=np.float32)


def _said_again(speakers: Sequence[str | int], texts: Sequence[str]) -> Array:
    """Return what of each turn was said before, shape ``(turns, 5)``.

    Of the sentence that shares most words with an earlier one: the share, and whether exactly one
    of the two denies; for the speaker's own earlier sentences, then for the others'. Last, how
    many sentences the turn has.
    """
    found = np.zeros((len(texts), 5), np.float32)
    earlier: list[tuple[str | int, frozenset[str], bool]] = []
    for i, (speaker, text) in enumerate(zip(speakers, texts, strict=True)):
        sentences = [_sentence(part) for part in _SENTENCE.findall(text)][:MOST_SENTENCES]
        sentences = [one for one in sentences if len(one[0]) >= FEWEST_WORDS]
        for words, denies in sentences:
            for other, before, denied in earlier[-MOST_EARLIER:]:
                share = len(words & before) / len(words | before)
                side = 0 if other == speaker else 2
                if share > found[i, side]:
                    found[i, side : side + 2] = share, denies != denied
        found[i, 4] = np.log1p(len(sentences))
        earlier += [(speaker, words, denies) for words, denies in sentences]
    return found * np.array([2, 1, 2, 1, 1], np.float32)


_SENTENCE = re.compile(r"[^.!?]+")
_WORD = re.compile(r"[a-z0-9]+(?:['’][a-z]+)?")
_DENIAL = re.compile(r"not|never|no|cannot|.*n['’]t")
FEWEST_WORDS = 3
MOST_SENTENCES = 12
MOST_EARLIER = 60
"""Bounds of what is compared: a turn of a thousand sentences must not cost a million."""


def _sentence(text: str) -> tuple[frozenset[str], bool]:
    """Return the words of a sentence, those that deny left out, and whether it denies."""
    words = _WORD.findall(text.lower())
    denials = [word for word in words if _DENIAL.fullmatch(word)]
    return frozenset(words).difference(denials), bool(denials)


def pooled(outputs: Array) -> Array:
    """Return the mean of each output over the turns, and that of its lowest quarter."""
    count = max(1, int(LOWEST * len(outputs)))
    lowest = np.sort(outputs, axis=0)[:count]
    return np.concatenate([outputs.mean(axis=0), lowest.mean(axis=0)])


class ThreadHead:
    """How well the turns of a conversation, and the whole of it, carry its thread on.

    Args:
        bundle: The opened bundle: ``head.npz`` with two outputs a turn, whether it was broken and
            whether people would call it good; ``weights`` and ``bias`` of its settings make the
            conversation's logit of their :func:`pooled` values.
        encoder: The encoder the network was fitted on.
    """

    def __init__(self, bundle: Bundle, encoder: Encoder) -> None:
        self.identity = f"{bundle.card.name}@{bundle.digest}+{encoder.identity}"
        self._encoder = encoder
        self._head = Mlp.load(bundle.folder / "head.npz")
        settings = bundle.card.settings
        weights = settings.get("weights")
        if not isinstance(weights, list) or len(weights) != 4:
            raise BundleError(f"{bundle.folder}: settings.weights must be four numbers")
        self._weights = np.array(weights, np.float32)
        self._bias = np.float32(float(str(settings.get("bias", 0.0))))

    def read(self, threads: Sequence[Thread]) -> list[tuple[float, tuple[float, ...]]]:
        """Return for each conversation its value and, turn by turn, how well it carries on.

        Both are 0 to 1, higher is better; that of a turn is the probability that it was not put
        there or changed on purpose.
        """
        texts = [text for thread in threads for text in thread.texts]
        vectors = iter(self._encoder.encode(texts))
        found: list[tuple[float, tuple[float, ...]]] = []
        for thread in threads:
            if not thread.texts:
                found.append((0.5, ()))
                continue
            matrix = np.stack([next(vectors) for _ in thread.texts])
            outputs = self._head(thread_features(matrix, thread.speakers, thread.texts))
            logit = pooled(outputs) @ self._weights + self._bias
            turns = sigmoid(outputs[:, 0])
            found.append((float(sigmoid(logit)), tuple(map(float, turns))))
        return found

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is too long to be read whole."""
        return self._encoder.truncated(texts)
