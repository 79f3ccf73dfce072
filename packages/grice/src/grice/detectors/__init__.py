"""Flaws in replies, found by rules without a model.

Each rule has a code, a title and a measured precision (:mod:`grice.detectors.rules`). In doubtful
cases a rule reports nothing. ``T`` rules need only the text of one reply.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from grice.data import Conversation, Finding, Span
from grice.detectors import agents, dialogue, language, privacy, scored, text, tone, user
from grice.detectors.conversation import Background, Flaw, Reply
from grice.detectors.rules import Rule
from grice.errors import excerpt

__all__ = [
    "ALL",
    "RULES",
    "TEXT_RULES",
    "empty_reply",
    "find_flaws",
]

EMPTY = "empty-reply"
TEXT_RULES = (
    Rule("T101", EMPTY, "empty reply", text.empty_in, excludes=("T",)),
    # Data in place of a reply is not a sentence: at most one of these rules applies.
    Rule("T102", "raw-json", "raw JSON", text.json_in, excludes=("T103", "T104", "T108")),
    Rule("T103", "raw-html", "raw HTML", text.html_in, excludes=("T104", "T108")),
    Rule("T104", "stack-trace", "stack trace", text.trace_in, excludes=("T108",)),
    Rule("T105", "template-left-in", "template left in", text.template_in),
    Rule("T106", "leaked-tokens", "leaked tokens", text.tokens_in),
    Rule("T107", "other-language", "another language", language.other_language_in),
    Rule("T108", "cut-off", "cut-off reply", text.cut_off_in),
    Rule("T109", "broken-encoding", "broken encoding", text.broken_in),
    Rule("T110", "leaked-instructions", "leaked instructions", text.instructions_in),
    Rule("T111", "loop", "loop of the same words", text.loop_in),
)
ALL: tuple[Rule, ...] = (
    *TEXT_RULES,
    *privacy.RULES,
    *dialogue.RULES,
    *agents.RULES,
    *user.RULES,
    *tone.RULES,
)
RULES = {rule.code: rule for rule in (*ALL, *scored.SCORED_RULES)}
"""All rules by code, also those that read scores."""
SPANS = 10  # places that a finding names at most
QUOTED, MASKED = 80, 4
"""Characters of a quote, and of one whose rest is masked."""


def find_flaws(talk: Conversation, rules: Sequence[Rule], turns: Iterable[int]) -> list[Finding]:
    """Return what rules find in these replies of a conversation, in the order of the turns."""
    background = Background(talk, turns)
    found = [
        _finding(rule, talk, turn, flaw)
        for turn in background.replies
        for rule, flaw in _of_reply(Reply(background, turn), rules)
    ]
    found += [
        _finding(rule, talk, turn, flaw)
        for rule in rules
        for turn, flaw in (rule.scan(background) if rule.scan else ())
    ]
    found.sort(key=lambda finding: (finding.turn, finding.code))
    return found


def empty_reply(conversation: str, turn: int) -> Finding:
    """Return the finding of an empty reply whose text is not at hand."""
    rule = TEXT_RULES[0]
    return Finding(rule.code, rule.name, conversation, turn, "the reply is empty")


def _of_reply(reply: Reply, rules: Iterable[Rule]) -> Iterator[tuple[Rule, Flaw]]:
    excluded: tuple[str, ...] = ()
    for rule in rules:
        if rule.detect is None or rule.code.startswith(excluded):
            continue
        if flaw := rule.detect(reply):
            excluded += rule.excludes
            yield rule, flaw


def _finding(rule: Rule, talk: Conversation, turn: int, flaw: Flaw) -> Finding:
    spans = tuple(Span(turn, start, end) for start, end in flaw.places[:SPANS]) + flaw.others
    return Finding(
        rule.code,
        rule.name,
        talk.id,
        turn,
        flaw.message,
        spans,
        tuple(_quote(talk.turns[s.turn].text[s.start : s.end], rule.masks) for s in spans),
        rule.severity,
        rule.precision,
    )


def _quote(words: str, masks: bool) -> str:  # noqa: FBT001 - of a rule
    if masks:
        return words[: min(MASKED, len(words) // 2)] + "…"
    return excerpt(words, QUOTED)
