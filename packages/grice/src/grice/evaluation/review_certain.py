"""Replies of a review whose flaw is certain: they are listed before all probabilities."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from grice.detectors import EMPTY, RULES, SYSTEMATIC, certain_flaws
from grice.errors import plural
from grice.evaluation.review_flaws import is_empty
from grice.records import Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.records import Conversation, Score

NEARLY_ALL = 0.8
"""Share of all replies from which on a finding says something of the log, and not of a reply."""
FEWEST = 10
"""Replies that such a log has at least."""


class CertainReply(NamedTuple):
    """A reply with its findings, the first of which it is listed by.

    Attributes:
        order: Number of the reply in the log.
        file: The file of its conversation, where several were scored together.
        talk: Its conversation; None if texts were not given.
    """

    order: int
    findings: tuple[Finding, ...]
    file: str | None
    talk: Conversation | None


class CertainReplies:
    """Collects certain flaws while scores come in.

    Args:
        top: Replies to keep for each rule.
    """

    def __init__(self, top: int) -> None:
        self._top = top
        self._replies = 0
        self._kept: dict[str, list[CertainReply]] = {code: [] for code in RULES}
        self._counts: Counter[str] = Counter()

    @property
    def counts(self) -> dict[str, int]:
        """Number of replies by rule; rules without any are left out."""
        return {code: self._counts[code] for code in RULES if self._counts[code]}

    def add(self, scores: Sequence[Score], talk: Conversation | None) -> set[int]:
        """Take the scores of one conversation; return the turns with a certain flaw."""
        turns = sorted({score.turn for score in scores if score.turn is not None})
        empty = {score.turn: score for score in reversed(scores) if is_empty(score)}
        found: dict[int, list[Finding]] = {turn: [] for turn in turns}
        if talk is not None:
            for finding in certain_flaws(talk, turns):
                found[finding.turn].append(finding)
        for turn, score in empty.items():
            if turn is not None and not found[turn]:
                message = score.reason or "the reply is empty"
                found[turn] = [Finding(EMPTY.code, score.conversation, turn, message)]
        codes = list(RULES)
        file = next((str(score.meta["file"]) for score in scores if score.meta.get("file")), None)
        for findings in found.values():
            self._replies += 1
            findings.sort(key=lambda finding: codes.index(finding.rule))
            self._counts.update(finding.rule for finding in findings)
            if findings and len(kept := self._kept[findings[0].rule]) < self._top:
                kept.append(CertainReply(self._replies, tuple(findings), file, talk))
        return {turn for turn, findings in found.items() if findings}

    def first(self) -> list[CertainReply]:
        """Return the first replies, by rule; where there are too many, some of each rule.

        A finding of nearly all replies of a log is returned once.
        """
        kept = {code: self._listed(code) for code in RULES}
        turns = [(place, code) for code in RULES for place in range(len(kept[code]))]
        chosen = Counter(code for _, code in sorted(turns, key=lambda turn: turn[0])[: self._top])
        return [reply for code in RULES for reply in kept[code][: chosen[code]]]

    def _listed(self, code: str) -> list[CertainReply]:
        kept, others = self._kept[code], self._counts[code] - 1
        everywhere = self._counts[code] >= max(FEWEST, NEARLY_ALL * self._replies)
        if code not in SYSTEMATIC or not everywhere or not kept:
            return kept
        finding, *more = kept[0].findings
        message = f"{finding.message}, as in {plural(others, 'other reply', 'other replies')}"
        return [kept[0]._replace(findings=(replace(finding, message=message), *more))]
