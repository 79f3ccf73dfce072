"""Records: conversations, scores, findings and their evidence.

Records are frozen and compare by value; ``msgspec`` turns them into JSON and back. Texts are kept
exactly as they came, and every position is a character offset into such a text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import msgspec

if TYPE_CHECKING:
    Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
    """Any JSON value: what extra fields of a record may hold."""
else:
    Json = Any  # msgspec does not support recursive type aliases

Status: TypeAlias = Literal["ok", "abstained", "failed"]
"""``ok``: judged. ``abstained``: nothing to judge. ``failed``: could not be judged."""

Severity: TypeAlias = Literal["error", "warning", "note"]


class Turn(msgspec.Struct, frozen=True, omit_defaults=True):
    """One utterance of one speaker.

    Attributes:
        role: The role a chat log states (``user``, ``assistant``, ``system``, …), if any.
        time: Time as the source wrote it, if stated.
        references: Other acceptable replies in this place.
    """

    speaker: str
    text: str
    role: str | None = None
    time: str | None = None
    references: tuple[str, ...] = ()
    meta: dict[str, Json] = {}


class Conversation(msgspec.Struct, frozen=True, omit_defaults=True):
    """Turns in order.

    Attributes:
        id: Unique within one input.
        targets: Indices of the turns to judge; None means every turn.
        meta: Other fields of the source, carried to the output.
    """

    id: str
    turns: tuple[Turn, ...]
    targets: tuple[int, ...] | None = None
    meta: dict[str, Json] = {}


class Response(msgspec.Struct, frozen=True):
    """One turn to judge, with the turns before it; their texts come without tags (``<br>``).

    Attributes:
        turn: Index of the judged turn in the conversation.
        history: The turns before it, oldest first.
        positions: Index in the conversation of each turn of ``history``.
        knowledge: Texts that its speaker was given as a source.
    """

    conversation: str
    turn: int
    text: str
    speaker: str
    history: tuple[Turn, ...]
    positions: tuple[int, ...]
    references: tuple[str, ...] = ()
    knowledge: tuple[str, ...] = ()


class Span(msgspec.Struct, frozen=True):
    """A part of a turn: ``turns[turn].text[start:end]``."""

    turn: int
    start: int
    end: int


class Triple(msgspec.Struct, frozen=True, omit_defaults=True):
    """A head, a relation and a tail, such as (PersonX is tired, xWant, to sleep).

    Attributes:
        head_span, tail_span: Their spans in the conversation, if extracted from one.
        source: Origin of the triple, such as ``atomic2020``; empty if extracted from text.
    """

    head: str
    relation: str
    tail: str
    head_span: Span | None = None
    tail_span: Span | None = None
    source: str = ""


class KnownTail(msgspec.Struct, frozen=True, omit_defaults=True):
    """The triple of a knowledge base that is nearest to an extracted one, or opposes it.

    Attributes:
        head_similarity, tail_similarity: Cosines with the extracted head and tail, -1 to 1.
        opposes: Whether its tail says the opposite of the extracted one.
    """

    head: str
    tail: str
    head_similarity: float
    tail_similarity: float
    source: str
    opposes: bool = False


class TripleEvidence(
    msgspec.Struct, frozen=True, omit_defaults=True, tag="triple", tag_field="kind"
):
    """An extracted commonsense triple, its plausibility (0 to 1) and the nearest known triple."""

    triple: Triple
    plausibility: float
    known: KnownTail | None = None


class TurnEvidence(msgspec.Struct, frozen=True, tag="turn", tag_field="kind"):
    """Contribution of one earlier turn to the score.

    Attributes:
        effect: Score with the turn minus score without it; positive if the turn supports it.
    """

    turn: int
    effect: float


class FeatureEvidence(
    msgspec.Struct, frozen=True, omit_defaults=True, tag="feature", tag_field="kind"
):
    """A named quantity that went into the score.

    Attributes:
        effect: Its contribution to the score, if known.
        span: The text it was measured on, if it is a part of a turn.
    """

    name: str
    value: float
    effect: float | None = None
    span: Span | None = None


Evidence: TypeAlias = TripleEvidence | TurnEvidence | FeatureEvidence
"""Evidence of a score; the field ``kind`` names its kind."""


class Judgement(msgspec.Struct, frozen=True, omit_defaults=True):
    """Result of a metric for one item.

    Attributes:
        value: The score; None if it failed.
        reason: The reason for an abstention, a failure or the value, in a few words. Of a
            conversation, ``{turn}`` in it stands for the turn of the first piece of evidence.
        flags: Facts about the computation, such as ``truncated``.
    """

    value: float | None
    status: Status = "ok"
    reason: str | None = None
    flags: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()


class Score(msgspec.Struct, frozen=True):
    """One judgement of one metric on one turn or conversation.

    Attributes:
        turn: Index of the judged turn; None for a score of the whole conversation.
        value: The score, 0 to 1 with 1 best unless the metric's card says otherwise;
            the metric's neutral value if it abstained; None if it failed.
        reason, flags, evidence: As of :class:`Judgement`.
        signature: Version, options and models; scores compare only if it agrees.
    """

    conversation: str
    turn: int | None
    metric: str
    value: float | None
    status: Status
    reason: str | None
    flags: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    signature: str
    meta: dict[str, Json] = {}


class Signature(NamedTuple):
    """Name, version and settings of a metric; scores store the string form.

    >>> str(Signature("relevance", "2", (("history", "4"), ("mode", "fast"))))
    'relevance:2|history:4|mode:fast'
    """

    metric: str
    version: str
    settings: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Signature:
        """Parse a signature; a part in brackets is not divided."""
        parts = (part.partition(":") for part in re.split(r"\|(?![^\[]*\])", text))
        (metric, version), *settings = ((name, value) for name, _, value in parts)
        return cls(metric, version, tuple(settings))

    def __str__(self) -> str:
        parts = ((self.metric, self.version), *self.settings)
        return "|".join(f"{name}:{value}" if value else name for name, value in parts)


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """A flaw that a rule finds in a turn, with the words that show it.

    Attributes:
        code, rule: Code of the rule, such as ``T108``, and its name, such as ``cut-off``.
        severity: ``error``: the turn is flawed. ``warning``: a person should look at it. ``note``:
            a sign of a flaw, such as a user who complains in the next turn.
        confidence: Measured precision of the rule, 0 to 1; None if it was not measured.
        spans: Parts of this turn and of others that show it.
        quotes: The words of each span, shortened; secrets and personal data are masked.
        file: Its input, if several were checked together or the finding is of a file.
    """

    code: str
    rule: str
    conversation: str
    turn: int
    message: str
    spans: tuple[Span, ...] = ()
    quotes: tuple[str, ...] = ()
    severity: Severity = "error"
    confidence: float | None = None
    file: str = ""

    @property
    def identity(self) -> tuple[str, ...]:
        """Equal for the same finding in another run, also if turns were inserted before it."""
        return self.code, self.conversation, *(self.quotes or (self.message,))


_STEERING = re.compile(
    rb"\x7f|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]"
)
"""Delete and C1 controls, marks of writing direction, and line separators, in UTF-8."""


def json_line(record: object) -> bytes:
    """Serialise a value to one JSON line (UTF-8, no newline).

    Characters that steer a terminal or change the direction of writing are escaped.
    """
    line = msgspec.json.encode(record)
    # Most lines contain none of them, and the check is fast.
    if line.isascii() and b"\x7f" not in line:
        return line
    return _STEERING.sub(lambda match: b"\\u%04x" % ord(match[0].decode()), line)


def to_json(record: object) -> str:
    """Serialise a value to one JSON line; see :func:`json_line`.

    >>> to_json(Turn("A", "Hi"))
    '{"speaker":"A","text":"Hi"}'
    """
    return json_line(record).decode()
