"""Flaws that the text of a reply shows beyond doubt: rules without a model.

Each rule has a code, a title and a measured precision (``certain_flaws`` of grice-research).
A rule that is not sure stays silent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.detectors.conversation import Background, Reply
from grice.detectors.language import other_language_in
from grice.detectors.rules import (
    CUT_OFF,
    EMPTY,
    LEAKED_TOKENS,
    OTHER_LANGUAGE,
    RAW_HTML,
    RAW_JSON,
    RULES,
    STACK_TRACE,
    SYSTEMATIC,
    TEMPLATE,
    Rule,
    in_words,
)
from grice.detectors.text import (
    cut_off_in,
    empty_in,
    html_in,
    json_in,
    template_in,
    tokens_in,
    trace_in,
)
from grice.records import Finding, Span
from grice.scoring.items import responses

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grice.records import Conversation

__all__ = ["EMPTY", "RULES", "SYSTEMATIC", "Rule", "certain_flaws", "in_words"]

SPANS = 10
"""Places that a finding names at most."""
DETECTORS = (
    # Data in place of a reply is no sentence: of the first four one rule at most speaks.
    ((RAW_JSON, json_in), (RAW_HTML, html_in), (STACK_TRACE, trace_in), (CUT_OFF, cut_off_in)),
    ((TEMPLATE, template_in),),
    ((LEAKED_TOKENS, tokens_in),),
    ((OTHER_LANGUAGE, other_language_in),),
)
"""Rules in groups; of each group the first that finds anything counts."""


def certain_flaws(talk: Conversation, turns: Iterable[int] | None = None) -> list[Finding]:
    """Return the certain flaws of replies, in the order of the turns.

    >>> from grice import Conversation, Turn
    >>> turns = Turn("user", "Hi!"), Turn("assistant", "Dear {{first_name}}, welcome back!")
    >>> [(flaw.rule, flaw.turn) for flaw in certain_flaws(Conversation("1", turns))]
    [('template-left-in', 1)]

    Args:
        talk: The conversation as it came.
        turns: Indices of the replies to check; by default those that metrics judge.
    """
    if turns is None:
        turns = (response.turn for response in responses(talk))
    background = Background(talk)
    return [finding for turn in turns for finding in _of_reply(Reply(background, turn))]


def _of_reply(reply: Reply) -> Iterator[Finding]:
    if message := empty_in(reply):
        yield _finding(EMPTY, reply, message)
        return
    for group in DETECTORS:
        for rule, detect in group:
            if flaw := detect(reply):
                spans = tuple(Span(reply.turn, start, end) for start, end in flaw.places[:SPANS])
                yield _finding(rule, reply, flaw.message, spans)
                break


def _finding(rule: Rule, reply: Reply, message: str, spans: tuple[Span, ...] = ()) -> Finding:
    return Finding(rule.code, reply.talk.id, reply.turn, message, spans)
