"""Groups of replies with a similar meaning, such as all that say "I don't know".

Replies with the same words are one text, whatever their case, marks and numbers. Texts are joined
by average linkage of the cosines of their sentence vectors (Sokal and Michener 1958), computed by
nearest-neighbour chains (Benzécri 1982), until no two groups are similar enough.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from grice.errors import excerpt, plural
from grice.models.loader import ModelLoader, default_workers
from grice.models.protocols import Encoder
from grice.text.markup import as_read

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grice.data import Conversation, Finding

ENCODER = "builtin:encoder"
LEAST = 3  # replies of a group
ALIKE = 0.6
"""Least mean cosine of the texts of two groups that are joined."""
MOST, READ = 3_000, 80
"""Distinct texts that are compared by meaning, the most frequent ones, and their characters."""
NAME = 60  # characters of a group's name
_NO_WORD = re.compile(r"[\W_]+")
_DIGITS = re.compile(r"\d+")


class FlawedReply(NamedTuple):
    """A reply to group, with the codes of its findings."""

    conversation: str
    turn: int
    text: str
    codes: tuple[str, ...] = ()
    file: str = ""


class Group(msgspec.Struct, frozen=True):
    """Replies with a similar meaning.

    Attributes:
        name: Beginning of the reply that is most similar to all others.
        replies: Their conversations and turns, in the order of the input.
        conversations: Number of conversations.
        codes: Number of replies by the code of a rule that finds a flaw in them.
    """

    name: str
    replies: tuple[tuple[str, int], ...]
    conversations: int
    codes: dict[str, int]

    def __str__(self) -> str:
        replies = plural(len(self.replies), "reply", "replies")
        codes = ", ".join(f"{code} {count:,}" for code, count in self.codes.items())
        shown = f'"{self.name}"' if self.name else "(empty)"
        inside = plural(self.conversations, "conversation")
        return f"{shown} {replies} in {inside}" + (f" ({codes})" if codes else "")


def flawed_replies(
    talk: Conversation, findings: Iterable[Finding], file: str = ""
) -> Iterator[FlawedReply]:
    """Yield the replies of a conversation that have findings."""
    codes: dict[int, list[str]] = {}
    for finding in findings:
        codes.setdefault(finding.turn, []).append(finding.code)
    for turn, found in codes.items():
        text = talk.turns[turn].text[: 4 * READ]
        yield FlawedReply(talk.id, turn, text, tuple(dict.fromkeys(found)), file)


def groups_of(replies: Sequence[FlawedReply]) -> tuple[Group, ...]:
    """Return the groups of replies by the shipped encoder, which is loaded if it is needed."""
    if len(replies) < LEAST:
        return ()
    with ModelLoader(mode="fast", workers=default_workers()) as loader:
        return group_replies(replies, loader.load(ENCODER, Encoder))


def group_replies(replies: Iterable[FlawedReply], encoder: Encoder) -> tuple[Group, ...]:
    """Return the groups of at least :data:`LEAST` replies, the largest first.

    They do not depend on the order of the input. At most :data:`MOST` distinct texts are compared
    by meaning; of more, the rarer ones are grouped by their words alone. Time and memory are
    quadratic in this number: 36 MB at most.
    """
    members: dict[str, list[FlawedReply]] = {}
    for reply in replies:
        members.setdefault(_words(reply.text) or reply.text.strip()[:READ], []).append(reply)
    texts = sorted(members, key=lambda text: (-len(members[text]), text))
    spoken, rest = [text for text in texts if text][:MOST], [text for text in texts if text][MOST:]
    joined = _by_meaning(spoken, [len(members[text]) for text in spoken], encoder)
    joined += [[text] for text in (*rest, *(text for text in texts if not text))]
    groups = [_group([members[text] for text in group]) for group in joined]
    several = [group for group in groups if len(group.replies) >= LEAST]
    return tuple(sorted(several, key=lambda g: (-len(g.replies), -g.conversations, g.name)))


def _words(text: str) -> str:
    """Return the words of the beginning of a text, its numbers without their digits."""
    read = as_read(text[: 4 * READ]).casefold()
    return _DIGITS.sub("0", _NO_WORD.sub(" ", read).strip())[:READ]


def _group(texts: Sequence[Sequence[FlawedReply]]) -> Group:
    """Return the group of texts, the most central one first."""
    replies = [reply for text in texts for reply in text]
    codes = Counter(code for reply in replies for code in dict.fromkeys(reply.codes))
    return Group(
        excerpt(as_read(texts[0][0].text), NAME),
        tuple((reply.conversation, reply.turn) for reply in replies),
        len({(reply.file, reply.conversation) for reply in replies}),
        dict(sorted(codes.items(), key=lambda pair: (-pair[1], pair[0]))),
    )


def _by_meaning(texts: Sequence[str], sizes: Sequence[int], encoder: Encoder) -> list[list[str]]:
    """Return groups of texts, each with its most central text first."""
    if not texts:
        return []
    vectors = np.stack(encoder.encode(texts)).astype(np.float32)
    weights = np.array(sizes, np.float32)
    groups = []
    for places in average_linkage(vectors, weights):
        centre = weights[places] @ vectors[places]
        closeness = vectors[places] @ centre
        order = np.lexsort((np.array(places), -closeness))
        groups.append([texts[places[i]] for i in order])
    return groups


def average_linkage(
    vectors: NDArray[np.floating], weights: NDArray[np.floating], alike: float = ALIKE
) -> list[list[int]]:
    """Return groups of unit vectors whose mean cosine with each other is at least ``alike``.

    Args:
        vectors: One row per item, of length 1.
        weights: How often each item counts.
        alike: Least mean cosine of all pairs of items of two groups that are joined.

    Groups are joined in the order of similarity: a chain from nearest neighbour to nearest
    neighbour ends at two that are nearest to each other, which the whole order joins, too.
    """
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -np.inf)
    sizes = weights.astype(np.float64)
    groups = {i: [i] for i in range(len(vectors))}
    finished: list[list[int]] = []
    chain: list[int] = []
    while groups:
        if not chain:
            chain.append(next(iter(groups)))
        tip = chain[-1]
        nearest = int(cosines[tip].argmax())
        if len(chain) > 1 and cosines[tip, chain[-2]] >= cosines[tip, nearest]:
            nearest = chain[-2]
        if cosines[tip, nearest] < alike:  # nor will it be to any join of the others
            finished.append(groups.pop(tip))
            cosines[tip] = cosines[:, tip] = -np.inf
            chain.pop()
        elif len(chain) > 1 and nearest == chain[-2]:
            del chain[-2:]
            share = sizes[tip] / (sizes[tip] + sizes[nearest])
            joint = share * cosines[tip] + (1 - share) * cosines[nearest]
            joint[[tip, nearest]] = -np.inf
            cosines[tip] = cosines[:, tip] = -np.inf
            cosines[nearest] = cosines[:, nearest] = joint
            groups[nearest] += groups.pop(tip)
            sizes[nearest] += sizes[tip]
        else:
            chain.append(nearest)
    return finished
