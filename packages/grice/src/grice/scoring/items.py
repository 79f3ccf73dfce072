"""What is judged: the replies of a conversation, each with what was said before it.

This is where text loses its tags (:mod:`grice.text.markup`), for all metrics alike, and where the
places that a metric points at are put back into the text as it came.
"""

from __future__ import annotations

import json
import re
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from grice.readers.roles import (
    ASSISTANT,
    TOOL,
    assistant_alone,
    is_by,
    role_of,
    roles_of,
    unspoken,
)
from grice.records import Conversation, FeatureEvidence, Response, TripleEvidence, TurnEvidence
from grice.text.markup import plain_text, thinks_aloud

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from grice.records import Evidence, Judgement, Span, Turn

TURN = re.compile(r"\bturn (\d+)\b")

EVERYBODY = "all"
"""What to write as a speaker to judge every turn, whatever the roles."""
EMPTY, THINKING, JSON = "empty", "thinking_skipped", "json"
FLAGS = (EMPTY, THINKING, JSON)
"""A reply without a word; one whose thinking is not judged; one that is a JSON object."""


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


KNOWLEDGE = "knowledge"


def _knowledge(
    conversation: Conversation, turns: Sequence[Turn], silent: Sequence[bool], index: int
) -> tuple[str, ...]:
    """Return what a turn was said from: its field, or its record's, and what tools answered."""
    given = turns[index].meta.get(KNOWLEDGE, conversation.meta.get(KNOWLEDGE))
    texts = given if isinstance(given, list) else [given]
    before = takewhile(silent.__getitem__, range(index - 1, -1, -1))
    tools = [
        turns[place].text
        for place in before
        if role_of(turns[place].role, turns[place].speaker) == TOOL
    ]
    return (*(text for text in texts if isinstance(text, str)), *reversed(tools))


def _plain(turn: Turn) -> Turn:
    """Return a turn whose texts have no tags."""
    text = plain_text(turn.text).text
    references = tuple(plain_text(reference).text for reference in turn.references)
    if text == turn.text and references == turn.references:
        return turn
    return replace(turn, text=text, references=references)


READ_BACK = 64
"""Turns of history a reply carries: bounds the work for conversations of thousands of turns."""


class Utterances(NamedTuple):
    """A conversation without the turns that only instruct a model, or call a tool.

    Attributes:
        conversation: What metrics judge.
        positions: Index in the conversation as it came of each turn that is left.
    """

    conversation: Conversation
    positions: tuple[int, ...]


def utterances(conversation: Conversation) -> Utterances:
    """Return what was said in a conversation, without tags, and where it stands there."""
    left = tuple(i for i, silent in enumerate(unspoken(conversation.turns)) if not silent)
    turns = tuple(_plain(conversation.turns[i]) for i in left)
    if turns == conversation.turns:
        return Utterances(conversation, left)
    return Utterances(Conversation(conversation.id, turns, None, conversation.meta), left)


def in_place(judgement: Judgement, positions: Sequence[int]) -> Judgement:
    """Return a judgement of utterances with its turns counted as the conversation has them."""
    if positions == tuple(range(len(positions))):
        return judgement

    reason = judgement.reason
    return replace(
        judgement,
        reason=reason and TURN.sub(lambda named: f"turn {_at(int(named[1]), positions)}", reason),
        evidence=tuple(_evidence_in_place(piece, positions) for piece in judgement.evidence),
    )


def _evidence_in_place(evidence: Evidence, positions: Sequence[int]) -> Evidence:
    if isinstance(evidence, TurnEvidence):
        return replace(evidence, turn=_at(evidence.turn, positions))
    return _with_spans(evidence, lambda span: replace(span, turn=_at(span.turn, positions)))


def in_text(judgement: Judgement, conversation: Conversation) -> Judgement:
    """Return a judgement whose spans are places in the turns as they came."""

    def move(span: Span) -> Span:
        # A metric may be anyone's code: a turn that is not there has no text.
        if not 0 <= span.turn < len(conversation.turns):
            return span
        plain = plain_text(conversation.turns[span.turn].text)
        return replace(span, start=plain.original(span.start), end=plain.original(span.end))

    evidence = tuple(_with_spans(piece, move) for piece in judgement.evidence)
    return judgement if evidence == judgement.evidence else replace(judgement, evidence=evidence)


def _with_spans(evidence: Evidence, move: Callable[[Span], Span]) -> Evidence:
    match evidence:
        case FeatureEvidence(span=span) if span is not None:
            return replace(evidence, span=move(span))
        case TripleEvidence(triple=triple):
            head, tail = triple.head_span, triple.tail_span
            moved = replace(triple, head_span=head and move(head), tail_span=tail and move(tail))
            return replace(evidence, triple=moved)
        case _:
            return evidence


def _at(turn: int, positions: Sequence[int]) -> int:
    # A metric may be anyone's code: a turn that is not there stays what it was called.
    return positions[turn] if 0 <= turn < len(positions) else turn


def flagged(judgement: Judgement, text: str) -> Judgement:
    """Return a judgement with the flags of its reply."""
    flags = judgement.flags
    if thinks_aloud(text):
        flags = (*flags, THINKING)
    if _is_object(text):
        flags = (*flags, JSON)
    return judgement if flags == judgement.flags else replace(judgement, flags=flags)


def _is_object(text: str) -> bool:
    bare = text.strip()
    if not (bare.startswith("{") and bare.endswith("}")):
        return False
    try:
        return isinstance(json.loads(bare), dict)
    except (ValueError, RecursionError):
        return False
