"""Targets: the replies of a conversation, each with the turns before it.

Texts lose their tags here (:mod:`grice.text.markup`), for all metrics alike, and evidence gets
back its offsets into the text as it came.
"""

from __future__ import annotations

import json
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from grice.data import (
    Conversation,
    FeatureEvidence,
    Response,
    Span,
    TripleEvidence,
    TurnEvidence,
)
from grice.readers.roles import (
    ASSISTANT,
    TOOL,
    assistant_alone,
    is_by,
    role_of,
    roles_of,
    unspoken,
)
from grice.text.markup import plain_text, thinks_aloud

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from grice.data import Evidence, Judgement, Turn

EVERYBODY = "all"
"""Speaker that stands for every turn, whatever its role."""
EMPTY, THINKING, JSON = "empty", "thinking_skipped", "json"
FLAGS = (EMPTY, THINKING, JSON)
"""Flags of an empty reply, of one whose thinking is not judged, of one that is a JSON object."""
KNOWLEDGE = "knowledge"
READ_BACK = 64
"""Turns of history a reply carries: bounds the work for conversations of thousands of turns."""


def responses(conversation: Conversation, speakers: Collection[str] = ()) -> list[Response]:
    """Return the replies to judge, in order, their texts without tags."""
    wanted = None if conversation.targets is None else frozenset(conversation.targets)
    roles = roles_of(conversation.turns)
    alone = assistant_alone(conversation, speakers)
    names = () if EVERYBODY in speakers else speakers
    turns = tuple(map(_plain, conversation.turns))
    silent = unspoken(turns)
    spoken: list[int] = []
    items = []
    for index, turn in enumerate(turns):
        if silent[index]:
            continue
        is_target = wanted is None or index in wanted
        is_wanted = roles[index] == ASSISTANT if alone else is_by(turn, roles[index], names)
        if is_target and is_wanted:
            items.append(
                Response(
                    conversation.id,
                    index,
                    turn.text,
                    turn.speaker,
                    tuple(turns[i] for i in spoken[-READ_BACK:]),
                    tuple(spoken[-READ_BACK:]),
                    turn.references,
                    _knowledge(conversation, turns, silent, index),
                )
            )
        spoken.append(index)
    return items


def _knowledge(
    conversation: Conversation, turns: Sequence[Turn], silent: Sequence[bool], index: int
) -> tuple[str, ...]:
    """Return the sources of a turn: its field, or its record's, and the answers of tools."""
    given = turns[index].meta.get(KNOWLEDGE, conversation.meta.get(KNOWLEDGE))
    texts = given if isinstance(given, list) else [given]
    before = takewhile(silent.__getitem__, range(index - 1, -1, -1))
    tools = [turns[i].text for i in before if role_of(turns[i].role, turns[i].speaker) == TOOL]
    return (*(text for text in texts if isinstance(text, str)), *reversed(tools))


def _plain(turn: Turn) -> Turn:
    text = plain_text(turn.text).text
    references = tuple(plain_text(reference).text for reference in turn.references)
    if text == turn.text and references == turn.references:
        return turn
    return replace(turn, text=text, references=references)


class Utterances(NamedTuple):
    """A conversation without system prompts and tool calls.

    Attributes:
        conversation: The dialogue turns, as metrics judge them.
        positions: Index of each of them in the conversation as it came.
    """

    conversation: Conversation
    positions: tuple[int, ...]


def utterances(conversation: Conversation) -> Utterances:
    """Return the dialogue turns of a conversation, without tags, and their positions."""
    left = tuple(i for i, silent in enumerate(unspoken(conversation.turns)) if not silent)
    turns = tuple(_plain(conversation.turns[i]) for i in left)
    if turns == conversation.turns:
        return Utterances(conversation, left)
    return Utterances(Conversation(conversation.id, turns, None, conversation.meta), left)


def in_place(
    judgement: Judgement, conversation: Conversation, positions: Sequence[int] | None = None
) -> Judgement:
    """Return a judgement whose turns and spans are those of the conversation as it came.

    Args:
        judgement: Its spans are offsets into texts without tags.
        conversation: The conversation as it came.
        positions: Index of each judged turn in it, if turns were left out before judging.
    """

    # A metric may be anyone's code: a turn that is not there stays what it was called.
    def at(turn: int) -> int:
        return turn if not positions or not 0 <= turn < len(positions) else positions[turn]

    def moved(span: Span | None) -> Span | None:
        if span is None or not 0 <= at(span.turn) < len(conversation.turns):
            return span
        plain = plain_text(conversation.turns[at(span.turn)].text)
        return Span(at(span.turn), plain.original(span.start), plain.original(span.end))

    def located(evidence: Evidence) -> Evidence:
        match evidence:
            case TurnEvidence(turn=turn):
                return replace(evidence, turn=at(turn))
            case FeatureEvidence(span=span):
                return replace(evidence, span=moved(span))
            case TripleEvidence(triple=triple):
                spans = {"head_span": moved(triple.head_span), "tail_span": moved(triple.tail_span)}
                return replace(evidence, triple=replace(triple, **spans))

    evidence, reason = tuple(map(located, judgement.evidence)), judgement.reason
    if reason and positions and evidence and isinstance(evidence[0], TurnEvidence):
        reason = reason.replace("{turn}", str(evidence[0].turn), 1)
    return replace(judgement, reason=reason, evidence=evidence)


def flags_of(text: str) -> Iterator[str]:
    """Yield the flags of a reply as it came."""
    if thinks_aloud(text):
        yield THINKING
    bare = text.strip()
    if bare.startswith("{") and bare.endswith("}"):
        try:
            if isinstance(json.loads(bare), dict):
                yield JSON
        except (ValueError, RecursionError):
            pass
