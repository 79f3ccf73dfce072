"""The rules by code, and how their findings are counted in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Rule(NamedTuple):
    """A rule.

    Attributes:
        title: Name of the flaw.
        one: One reply with it, for counts.
        several: Several such replies.
    """

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
