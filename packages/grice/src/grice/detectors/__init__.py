"""Certain flaws in the text of replies, found by rules without a model.

Each rule has a code, a title and a measured precision (``bench/certain_flaws.py``).
In doubtful cases a rule reports nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.data import Finding, Span
from grice.detectors.conversation import Background, Reply
from grice.detectors.language import other_language_in
from grice.detectors.text import (
    cut_off_in,
    empty_in,
    html_in,
    json_in,
    template_in,
    tokens_in,
    trace_in,
)
from grice.scoring.loaded import responses

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from grice.data import Conversation

__all__ = ["EMPTY", "RULES", "SYSTEMATIC", "certain_flaws", "in_words"]

EMPTY, STACK_TRACE, RAW_JSON, RAW_HTML = "empty-reply", "stack-trace", "raw-json", "raw-html"
TEMPLATE, LEAKED_TOKENS, LANGUAGE = "template-left-in", "leaked-tokens", "other-language"
CUT_OFF = "cut-off"
RULES = {
    EMPTY: "empty reply",
    STACK_TRACE: "stack trace",
    RAW_JSON: "raw JSON",
    RAW_HTML: "raw HTML",
    TEMPLATE: "template left in",
    LEAKED_TOKENS: "leaked tokens",
    LANGUAGE: "another language",
    CUT_OFF: "cut-off reply",
}
"""Title of each rule by its code, in the order in which findings are listed."""
SYSTEMATIC = frozenset((RAW_JSON, RAW_HTML, LEAKED_TOKENS, LANGUAGE))
"""Rules with systematic findings: caused by the format or the users of a log."""
SPANS = 10  # places that a finding names at most
DETECTORS = (
    # Data in place of a reply is not a sentence: at most one of the first four rules applies.
    ((RAW_JSON, json_in), (RAW_HTML, html_in), (STACK_TRACE, trace_in), (CUT_OFF, cut_off_in)),
    ((TEMPLATE, template_in),),
    ((LEAKED_TOKENS, tokens_in),),
    ((LANGUAGE, other_language_in),),
)
"""Rules in groups; of each group the first that finds anything counts."""


def in_words(counts: Mapping[str, int]) -> str:
    """Return counts of findings by code as words.

    >>> in_words({"cut-off": 1, "empty-reply": 3})
    'empty reply (3), cut-off reply (1)'
    """
    found = ((title, counts.get(code)) for code, title in RULES.items())
    return ", ".join(f"{title} ({count:,})" for title, count in found if count)


def certain_flaws(talk: Conversation, turns: Iterable[int] | None = None) -> list[Finding]:
    """Return the certain flaws of replies, in the order of the turns.

    >>> from grice import Conversation, Turn
    >>> turns = Turn("user", "Hi!"), Turn("assistant", "Dear {{first_name}}, welcome back!")
    >>> [(flaw.rule, flaw.turn) for flaw in certain_flaws(Conversation("1", turns))]
    [('template-left-in', 1)]

    ``turns`` are indices of replies; by default those that metrics judge.
    """
    if turns is None:
        turns = (response.turn for response in responses(talk))
    background = Background(talk)
    return [finding for turn in turns for finding in _of_reply(Reply(background, turn))]


def _of_reply(reply: Reply) -> Iterator[Finding]:
    if message := empty_in(reply):
        yield Finding(EMPTY, reply.talk.id, reply.turn, message)
        return
    for group in DETECTORS:
        for rule, detect in group:
            if flaw := detect(reply):
                spans = tuple(Span(reply.turn, start, end) for start, end in flaw.places[:SPANS])
                yield Finding(rule, reply.talk.id, reply.turn, flaw.message, spans)
                break
