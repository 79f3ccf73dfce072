"""The nouns of grice, and nothing else.

Records are frozen and compare by value. ``msgspec`` turns them into JSON and back
(:func:`to_json`). Text is kept exactly as it came; every position is a character offset
into that text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import msgspec

if TYPE_CHECKING:
    Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
    """Any JSON value: what extra fields of a record may hold."""
else:
    Json = Any  # msgspec builds its decoders from these types and knows no recursive alias

Status: TypeAlias = Literal["ok", "abstained", "failed"]
"""``ok``: judged. ``abstained``: nothing to judge. ``failed``: could not be judged."""


class Turn(msgspec.Struct, frozen=True, omit_defaults=True):
    """One utterance of one speaker.

    Attributes:
        speaker: Who speaks, free text.
        text: What was said, exactly as it came.
        role: The role a chat log states (``user``, ``assistant``, ``system``, …), if any.
        time: When it was said, as the source wrote it, if stated.
        references: Other replies that people would accept in this place.
        meta: Fields of the source that grice does not know, carried through.
    """

    speaker: str
    text: str
    role: str | None = None
    time: str | None = None
    references: tuple[str, ...] = ()
    meta: dict[str, Json] = {}


class Conversation(msgspec.Struct, frozen=True, omit_defaults=True):
    """Turns in order, of two or more speakers.

    Attributes:
        id: Name of the conversation, unique within one input.
        turns: The utterances in the order they were said.
        targets: Indices of the turns to judge; None means every turn.
        meta: Fields of the source that grice does not know, carried to the output.
    """

    id: str
    turns: tuple[Turn, ...]
    targets: tuple[int, ...] | None = None
    meta: dict[str, Json] = {}


class Response(msgspec.Struct, frozen=True):
    """One turn to judge, with the turns before it; their texts come without tags (``<br>``).

    Attributes:
        conversation: Id of the conversation.
        turn: Index of the judged turn in the conversation.
        text: Text of the judged turn; spans of evidence are offsets into it.
        speaker: Speaker of the judged turn.
        history: The turns said before it, oldest first.
        positions: Index in the conversation of each turn of ``history``.
        references: Other replies that people would accept.
        knowledge: What its speaker was given to say it from.
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
    """A stretch of a turn: ``turns[turn].text[start:end]``."""

    turn: int
    start: int
    end: int


class Triple(msgspec.Struct, frozen=True, omit_defaults=True):
    """A head, a relation and a tail, such as (PersonX is tired, xWant, to sleep).

    Attributes:
        head: Head event or concept.
        relation: Name of the relation in its schema.
        tail: Tail event or concept.
        head_span: Where the head was said, if it was read from a conversation.
        tail_span: Where the tail was said.
        source: Where the triple comes from, such as ``atomic2020``; empty if read from text.
    """

    head: str
    relation: str
    tail: str
    head_span: Span | None = None
    tail_span: Span | None = None
    source: str = ""


class KnownTail(msgspec.Struct, frozen=True):
    """A tail that a knowledge base holds, and how close it is to the tail that was said.

    Attributes:
        head: The known head, the nearest one to the head that was said.
        tail: The known tail.
        head_similarity: Cosine of the two heads, -1 to 1.
        tail_similarity: Cosine of the two tails, -1 to 1.
        source: Where the knowledge comes from, such as ``atomic2020``.
    """

    head: str
    tail: str
    head_similarity: float
    tail_similarity: float
    source: str


class TripleEvidence(
    msgspec.Struct, frozen=True, omit_defaults=True, tag="triple", tag_field="kind"
):
    """A commonsense triple read from the text, and what is known about it.

    Attributes:
        triple: The triple with its spans.
        plausibility: How sensible the triple is, 0 to 1.
        known: The best matching tail of the knowledge base; None if none is near.
    """

    triple: Triple
    plausibility: float
    known: KnownTail | None = None


class TurnEvidence(msgspec.Struct, frozen=True, tag="turn", tag_field="kind"):
    """Contribution of one earlier turn to the score.

    Attributes:
        turn: Index of the turn in the conversation.
        effect: Score with the turn minus score without it; positive if the turn supports it.
    """

    turn: int
    effect: float


class FeatureEvidence(
    msgspec.Struct, frozen=True, omit_defaults=True, tag="feature", tag_field="kind"
):
    """A named quantity that went into the score.

    Attributes:
        name: What was measured, readable.
        value: The measured value.
        effect: How far it moved the score, if known.
        span: The text it was measured on, if it is a stretch of a turn.
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
        status: ``ok``, ``abstained`` or ``failed``.
        reason: Why it abstained or failed, or the shortest reason for the value. Of a conversation,
            ``{turn}`` in it stands for the turn of the first piece of evidence.
        flags: Facts about the computation, such as ``truncated``.
        evidence: What the value rests on.
    """

    value: float | None
    status: Status = "ok"
    reason: str | None = None
    flags: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()


class Score(msgspec.Struct, frozen=True):
    """One judgement of one metric on one turn or conversation.

    Attributes:
        conversation: Id of the conversation.
        turn: Index of the judged turn; None for a score of the whole conversation.
        metric: Name of the metric.
        value: The score, 0 to 1 with 1 best unless the metric's card says otherwise;
            the metric's neutral value if it abstained; None if it failed.
        status: ``ok``, ``abstained`` or ``failed``.
        reason: Why it abstained or failed, or the shortest reason for the value.
        flags: Facts about the computation, such as ``truncated``.
        evidence: What the value rests on.
        signature: What exactly was computed; numbers compare only if it agrees.
        meta: Extra fields of the conversation's record.
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
    """Everything that decides the values of a metric; scores store its string form.

    Attributes:
        metric: Name of the metric.
        version: Its version.
        settings: Options, models and mode, by name.

    >>> str(Signature("relevance", "2", (("history", "4"), ("mode", "fast"))))
    'relevance:2|history:4|mode:fast'
    """

    metric: str
    version: str
    settings: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Signature:
        """Return the signature of a string; a part in brackets is not divided."""
        parts = (part.partition(":") for part in _BETWEEN_PARTS.split(text))
        (metric, version), *settings = ((name, value) for name, _, value in parts)
        return cls(metric, version, tuple(settings))

    def __str__(self) -> str:
        parts = ((self.metric, self.version), *self.settings)
        return "|".join(f"{name}:{value}" if value else name for name, value in parts)


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """A flaw that a rule finds in a reply, with the words that show it.

    Attributes:
        rule: Code of the rule, such as ``cut-off``.
        conversation: Id of the conversation.
        turn: Index of the reply in the conversation.
        message: One line on the cause.
        spans: The words in question; none where the reply has no words.
    """

    rule: str
    conversation: str
    turn: int
    message: str
    spans: tuple[Span, ...] = ()


_BETWEEN_PARTS = re.compile(r"\|(?![^\[]*\])")
_STEERING = re.compile(
    rb"\x7f|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]"
)
"""Delete and C1 controls, marks of writing direction, and line separators, in UTF-8."""


def json_line(record: object) -> bytes:
    """Return anything JSON can hold as one line of it, in UTF-8, without the line end.

    Characters that steer a terminal or reorder what stands there are escaped, as JSON itself asks
    for the control characters of ASCII: the text they stand in is the same when it is read.
    """
    line = msgspec.json.encode(record)
    # Most lines hold none, and finding that out costs next to nothing.
    if line.isascii() and b"\x7f" not in line:
        return line
    return _STEERING.sub(lambda match: b"\\u%04x" % ord(match[0].decode()), line)


def to_json(record: object) -> str:
    """Return anything JSON can hold as one line of it; see :func:`json_line`.

    >>> to_json(Turn("A", "Hi"))
    '{"speaker":"A","text":"Hi"}'
    """
    return json_line(record).decode()
