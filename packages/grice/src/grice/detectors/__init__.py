"""Flaws that the text of a reply shows beyond doubt: rules without a model.

Each rule has a code, a title and a measured precision (``bench/certain_flaws.py``).
A rule that is not sure stays silent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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

__all__ = ["EMPTY", "RULES", "SYSTEMATIC", "Rule", "certain_flaws", "in_words"]


class Rule(NamedTuple):
    """A rule: its flaw by a title, and one and several replies with it, for counts."""

    code: str
    title: str
    one: str
    several: str


EMPTY = Rule("empty-reply", "empty reply", "empty reply", "empty replies")
STACK_TRACE = Rule("stack-trace", "stack trace", "stack trace", "stack traces")
RAW_JSON = Rule("raw-json", "raw JSON", "raw JSON reply", "raw JSON replies")
RAW_HTML = Rule("raw-html", "raw HTML", "raw HTML reply", "raw HTML replies")
TEMPLATE = Rule("template-left-in", "template left in", "template left in", "templates left in")
LEAKED_TOKENS = Rule(
    "leaked-tokens", "leaked tokens", "reply with leaked tokens", "replies with leaked tokens"
)
OTHER_LANGUAGE = Rule(
    "other-language", "another language", "reply in another language", "replies in another language"
)
CUT_OFF = Rule("cut-off", "cut-off reply", "cut-off reply", "cut-off replies")
RULES = {
    rule.code: rule
    for rule in (
        EMPTY, STACK_TRACE, RAW_JSON, RAW_HTML, TEMPLATE, LEAKED_TOKENS, OTHER_LANGUAGE, CUT_OFF,
    )
}  # fmt: skip
"""Every rule by its code, in the order in which findings are listed."""
SYSTEMATIC = frozenset(rule.code for rule in (RAW_JSON, RAW_HTML, LEAKED_TOKENS, OTHER_LANGUAGE))
"""Rules that a log may break throughout by its format or its users, and not by single replies."""


def in_words(counts: Mapping[str, int]) -> str:
    """Return counts of findings by code as words.

    >>> in_words({"cut-off": 1, "empty-reply": 3})
    '3 empty replies, 1 cut-off reply'
    """
    return ", ".join(
        f"{counts[code]:,} {rule.one if counts[code] == 1 else rule.several}"
        for code, rule in RULES.items()
        if counts.get(code)
    )


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

    ``turns`` are indices of replies; by default those that metrics judge.
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
