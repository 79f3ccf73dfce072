"""What an extractor of event triples gives, whichever model it stands on.

ACCENT (Ghazarian et al., Findings of ACL 2023) reads from a reply at most one triple per relation:
"Single" if both events are said in the reply, "Pair" if one is said in the turn before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import msgspec

from grice.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

Kind: TypeAlias = Literal["single", "pair"]
"""``single``: both events are said in the reply; ``pair``: one in the reply, one before it."""

KINDS: tuple[Kind, ...] = ("single", "pair")

RELATIONS = (
    "xNeed",
    "xAttr",
    "xReact",
    "xEffect",
    "xWant",
    "xIntent",
    "oEffect",
    "oReact",
    "oWant",
    "isAfter",
    "HasSubEvent",
    "HinderedBy",
)
"""ACCENT's relations, in the order of its released code."""


def check_kinds(kinds: Sequence[str]) -> None:
    """Refuse a kind of triple there is not.

    Raises:
        InputError: If there is one among them.
    """
    for kind in kinds:
        if kind not in KINDS:
            raise InputError(f"no triples of kind {kind!r}{did_you_mean(kind, KINDS)}")


class Exchange(NamedTuple):
    """A reply and what was said before it.

    Attributes:
        history: Texts of the turns before, oldest first; may be empty.
        same_speaker: Whether the last turn of the history was said by the one who replies.
    """

    history: tuple[str, ...]
    reply: str
    same_speaker: bool = False

    @property
    def previous(self) -> str:
        """The turn before the reply; empty if there is none."""
        return self.history[-1] if self.history else ""


class Place(msgspec.Struct, frozen=True):
    """Where an event was said: characters ``start`` to ``end`` of the reply or the turn before."""

    turn: Literal["reply", "previous"]
    start: int
    end: int


class ExtractedTriple(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A triple of events read from a reply.

    Attributes:
        head: A clause with its people named: ``PersonX gets fired``. PersonX is who the head is
            about; everybody else is PersonY.
        relation: One of :data:`RELATIONS`.
        tail: A clause too, such as ``PersonX feels sad``. Its subject is PersonY if the relation
            is one of others (oReact, oWant, oEffect).
        confidence: How probable it is that people find this relation in the reply, 0 to 1.
        kind: ``single`` or ``pair``.
        head_place: Where the head was said; None if the model does not point at its source.
        tail_place: Where the tail was said.
        whole: Whether head and tail are such as people write: whole clauses, about people.
    """

    head: str
    relation: str
    tail: str
    confidence: float
    kind: Kind
    head_place: Place | None = None
    tail_place: Place | None = None
    whole: bool = True


class Extraction(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was read from one reply.

    Attributes:
        triples: At most one per relation, the most confident first.
        events: How many events the reply and the turn before it hold.
        own: How many of them the reply says.
        reason: Why there is no triple; empty if there is one.
        flags: ``truncated`` if the reply or the turn before it was too long, or had too many
            events, to be read whole.
    """

    triples: tuple[ExtractedTriple, ...] = ()
    events: int = 0
    own: int = 0
    reason: str = ""
    flags: tuple[str, ...] = ()


@runtime_checkable
class TripleExtractor(Protocol):
    """Reads triples of events from replies."""

    identity: str
    """Names the weights and the arithmetic; equal identities give equal triples."""

    def extract(
        self,
        exchanges: Sequence[Exchange],
        *,
        kinds: Sequence[Kind] = KINDS,
        least: float | None = None,
    ) -> list[Extraction]:
        """Return what each reply holds, in the order of the exchanges.

        Args:
            kinds: Which triples to read: without ``pair`` the turn before is not looked at.
            least: Confidence from which a triple is given; None for the model's own threshold.
        """
        ...
