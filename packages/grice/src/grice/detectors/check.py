"""Check conversations: the findings of the selected rules, counted by rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

import grice
from grice.data import Conversation, Finding
from grice.detectors import find_flaws
from grice.detectors.rules import Rule
from grice.errors import InputError, RecordError, os_reason, plural
from grice.scoring.loaded import judged_turns
from grice.tables import Records

NEARLY_ALL, FEWEST = 0.8, 10
"""Share of all replies, and their number, from which on a finding is listed once."""


class RuleCount(msgspec.Struct, frozen=True):
    """How often a rule found something.

    Attributes:
        confidence: Its measured precision, with the 95 % interval ``low`` to ``high``.
    """

    code: str
    rule: str
    title: str
    findings: int
    conversations: int
    confidence: float | None
    low: float | None
    high: float | None


class Check(Records, msgspec.Struct, frozen=True):
    """Findings in conversations, and how often each rule that ran found something.

    Iteration yields the findings; ``to_frame()`` returns them as a data frame.

    Attributes:
        grice: Version that made it.
        rules: All rules that ran; a finding of nearly all replies is listed once and counted fully.
        known: Findings left out because the baseline has them.
        skipped: Records that could not be read, with the first ``problems``.
        flawed: Replies with a finding.
    """

    grice: str
    conversations: int
    replies: int
    rules: tuple[RuleCount, ...]
    findings: tuple[Finding, ...]
    known: int = 0
    skipped: int = 0
    problems: tuple[str, ...] = ()
    flawed: int = 0

    SHOWN = ("conversation", "turn", "code", "rule", "severity", "message")
    FURTHER = ("confidence", "file", "quotes")

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def summary(self) -> str:
        """Return one line on how much was found in what."""
        found = plural(self.count, "finding") if self.count else "no findings"
        replies = plural(self.replies, "reply", "replies")
        return f"{found} in {replies} of {plural(self.conversations, 'conversation')}"

    @property
    def count(self) -> int:
        """The number of all findings, also of those that are not listed."""
        return sum(rule.findings for rule in self.rules)

    def counts(self) -> dict[str, int]:
        """Return the number of findings by code, of rules that found something."""
        return {rule.code: rule.findings for rule in self.rules if rule.findings}


class Checker:
    """Checks one conversation after the other; memory holds the findings only."""

    def __init__(
        self,
        rules: Sequence[Rule],
        *,
        speakers: Collection[str] = (),
        baseline: Check | None = None,
    ) -> None:
        self._rules = rules
        self._speakers = speakers
        self._old = Known(baseline or ())
        self._findings: list[Finding] = []
        self._found: Counter[str] = Counter()
        self._within: dict[str, set[str]] = {rule.code: set() for rule in rules}
        self._conversations = self._replies = self._flawed = 0
        self._problems: list[str] = []
        self._skipped = 0

    def add(self, talk: Conversation | RecordError, file: str = "") -> Sequence[Finding]:
        """Check a conversation and return its findings; an unreadable record is counted."""
        if isinstance(talk, RecordError):
            self._skipped += 1
            self._problems += [str(talk)] if len(self._problems) < FEWEST else []
            return ()
        turns = judged_turns(talk, self._speakers)
        findings = list(self._old.new(find_flaws(talk, self._rules, turns)))
        self.count(findings, replies=len(turns), file=file)
        return findings

    def count(self, findings: Sequence[Finding], *, replies: int, file: str = "") -> None:
        """Count the findings in the replies of one conversation."""
        self._conversations += 1
        self._replies += replies
        self._flawed += len({finding.turn for finding in findings})
        for finding in findings:
            self._found[finding.code] += 1
            self._within[finding.code].add(f"{file}:{finding.conversation}")
            self._findings.append(replace(finding, file=file) if file else finding)

    def check(self, limit: int | None = None) -> Check:
        """Return the result so far, with so many findings at most."""
        most = {
            code: count
            for code, count in self._found.items()
            if count >= max(FEWEST, NEARLY_ALL * self._replies)
        }
        listed = []
        for finding in self._findings:
            others = most.get(finding.code)
            if others is None:
                listed.append(finding)
            elif others:
                same = plural(others - 1, "other reply", "other replies")
                listed.append(replace(finding, message=f"{finding.message}, as in {same}"))
                most[finding.code] = 0
        return Check(
            grice.__version__,
            self._conversations,
            self._replies,
            tuple(
                count_of(rule, self._found[rule.code], len(self._within[rule.code]))
                for rule in self._rules
            ),
            tuple(listed[:limit]),
            self._old.count,
            self._skipped,
            tuple(self._problems),
            self._flawed,
        )


def count_of(rule: Rule, findings: int, conversations: int) -> RuleCount:
    """Return how often a rule found something, beside its measured precision."""
    low, high = (rule.measured.low, rule.measured.high) if rule.measured else (None, None)
    return RuleCount(
        rule.code, rule.name, rule.title, findings, conversations, rule.precision, low, high
    )


class Known:
    """Leaves out the findings of a baseline, each as often as it has them."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self._left = Counter(each.identity for each in findings)
        self.count = 0  # findings left out so far

    def new(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Yield the findings that the baseline lacks."""
        for finding in findings:
            if self._left[finding.identity]:
                self._left[finding.identity] -= 1
                self.count += 1
            else:
                yield finding


def read_baseline(path: str | Path) -> Check:
    """Read the JSON that ``grice check --format json`` wrote.

    Raises:
        InputError: If it cannot be read or is no such file.
    """
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=Check)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {os_reason(error)}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: expected the output of grice check --format json: {error}"
        ) from None
