"""Flaws in replies, found by rules without a model.

Each rule has a code, a title and a measured precision (:mod:`grice.detectors.rules`). In doubtful
cases a rule reports nothing. ``T`` rules need only the text of one reply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.data import Finding, Span
from grice.detectors import agents, dialogue, language, privacy, text, tone, user
from grice.detectors.conversation import Background, Reply
from grice.detectors.rules import Rule
from grice.errors import excerpt
from grice.scoring.loaded import judged_turns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from grice.data import Conversation
    from grice.detectors.conversation import Flaw

__all__ = [
    "ALL",
    "RULES",
    "SYSTEMATIC",
    "TEXT_RULES",
    "certain_flaws",
    "empty_reply",
    "find_flaws",
    "in_words",
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
RULES = {rule.name: rule.title for rule in TEXT_RULES}
"""Title of each certain rule by its name, in the order in which findings are listed."""
SYSTEMATIC = frozenset(("raw-json", "raw-html", "leaked-tokens", "other-language"))
"""Rules with systematic findings: caused by the format or the users of a log."""
SPANS = 10  # places that a finding names at most
QUOTED, MASKED = 80, 4
"""Characters of a quote, and of one whose rest is masked."""


def in_words(counts: Mapping[str, int]) -> str:
    """Return counts of findings by name as words.

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
    return find_flaws(talk, TEXT_RULES, judged_turns(talk) if turns is None else turns)


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
