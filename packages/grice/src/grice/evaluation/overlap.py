"""Do texts of an evaluated set stand in what a model was trained on?

A model folder cannot carry its training texts, but it can carry a fingerprint of them: the lowest
of their hashes, up to 200 kB. A text whose hash lies below the highest one kept is certain to be
found if it was there, others cannot be told. So a fingerprint of a large corpus sees a random share
of any overlap, without false alarms; a Bloom filter of that size would see all of it among one
false alarm in 23 texts (at 245,000 texts), which hides an overlap of a few per cent.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice.errors import InputError
from grice.stats.estimate import Estimate
from grice.stats.proportions import proportion
from grice.tables import with_interval

if TYPE_CHECKING:
    from collections.abc import Iterable

BYTES = 5
"""Bytes of a hash: of a million texts that were not there, one is taken for one that was."""
MOST = 39_900
"""Hashes kept: with the head they stay below 200 kB."""
WORDS = 5
"""Shorter texts, such as "Yes, please.", are the same everywhere and are no sign of anything."""
TOP = (1 << 8 * BYTES) - 1
NAMED = 5


class Head(msgspec.Struct, frozen=True):
    """First line of a stored fingerprint."""

    format: str
    hashes: int
    below: int
    words: int


class Fingerprint(NamedTuple):
    """The lowest hashes of a corpus.

    Attributes:
        hashes: Rising.
        below: Every text of the corpus with a hash up to this is among them.
        words: Texts of fewer words were passed over.
    """

    hashes: tuple[int, ...]
    below: int
    words: int = WORDS

    @property
    def seen(self) -> float:
        """Share of the texts that can be told, 0 to 1."""
        return (self.below + 1) / (TOP + 1)

    def to_bytes(self) -> bytes:
        """Return the fingerprint as it is stored, at most 200 kB."""
        head = Head("grice-texts/1", len(self.hashes), self.below, self.words)
        body = b"".join(number.to_bytes(BYTES, "big") for number in self.hashes)
        return msgspec.json.encode(head) + b"\n" + body

    @classmethod
    def from_bytes(cls, data: bytes) -> Fingerprint:
        """Read what :meth:`to_bytes` gave.

        Raises:
            InputError: If it is no fingerprint or is cut off.
        """
        line, _, body = data.partition(b"\n")
        try:
            head = msgspec.json.decode(line, type=Head)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError(f"not a fingerprint of texts: {error}") from None
        if head.format != "grice-texts/1" or len(body) != BYTES * head.hashes:
            raise InputError(
                f"a fingerprint {head.format!r} of {head.hashes} hashes has {len(body)} bytes; "
                f"expected grice-texts/1 and {BYTES * head.hashes} bytes: record the texts again"
            )
        parts = (body[place : place + BYTES] for place in range(0, len(body), BYTES))
        return cls(tuple(int.from_bytes(part, "big") for part in parts), head.below, head.words)


class Overlap(msgspec.Struct, frozen=True):
    """How many texts of an evaluated set stand in a corpus.

    Attributes:
        texts: Distinct texts that are long enough.
        short: Distinct texts that are too short to tell anything.
        checked: Texts that the fingerprint can tell.
        matches: Texts among them that stand in the corpus.
        share: Their share with its interval; None if nothing could be checked.
        examples: The first of them.
        seen: Share of all texts that the fingerprint can tell.
    """

    texts: int
    short: int
    checked: int
    matches: int
    share: Estimate | None
    examples: tuple[str, ...]
    seen: float
    says: str


def normalised(text: str) -> str:
    """Return the letters and digits of a text in lower case.

    >>> normalised("It's 5 o'clock!")
    'its5oclock'
    """
    return "".join(filter(str.isalnum, text.lower()))


def fingerprint(texts: Iterable[str], *, most: int = MOST, words: int = WORDS) -> Fingerprint:
    """Return the fingerprint of a corpus; memory holds ``most`` hashes, however long it is.

    Args:
        texts: The texts a model was trained on or chosen by.
        words: Texts of fewer words are passed over.
    """
    heap: list[int] = []
    kept: set[int] = set()
    below = TOP
    for text in texts:
        if len(text.split()) < words:
            continue
        number = _hash(text)
        if number in kept or number > below:
            continue
        kept.add(number)
        heapq.heappush(heap, -number)
        if len(heap) > most:
            dropped = -heapq.heappop(heap)
            kept.remove(dropped)
            below = dropped - 1
    return Fingerprint(tuple(sorted(kept)), below, words)


def overlap(corpus: Fingerprint, texts: Iterable[str]) -> Overlap:
    """Return how many of the texts stand in the corpus, letters and digits compared.

    Args:
        corpus: Fingerprint of what a model was trained on.
    """
    distinct = {normalised(text): text for text in texts}
    long = {key: text for key, text in distinct.items() if len(text.split()) >= corpus.words}
    checked = {key: number for key in long if (number := _hash(key)) <= corpus.below}
    present = [long[key] for key, number in checked.items() if _holds(corpus, number)]
    rate = proportion([_holds(corpus, number) for number in checked.values()])
    return Overlap(
        len(long),
        len(distinct) - len(long),
        len(checked),
        len(present),
        rate,
        tuple(present[:NAMED]),
        corpus.seen,
        _says(len(checked), len(present), rate),
    )


def _says(checked: int, present: int, rate: Estimate | None) -> str:
    if rate is None or rate.interval is None:
        return f"{checked} texts could be checked: nothing can be said"
    if present:
        return (
            f"{present} of {checked} texts that could be checked stand in the training texts: "
            f"{with_interval(rate, '.1%')} of the set"
        )
    most = rate.interval[1]
    return f"none of {checked} texts that could be checked stands there: at most {most:.1%}"


def _holds(corpus: Fingerprint, number: int) -> bool:
    place = bisect_left(corpus.hashes, number)
    return place < len(corpus.hashes) and corpus.hashes[place] == number


def _hash(text: str) -> int:
    data = normalised(text).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=BYTES).digest(), "big")
