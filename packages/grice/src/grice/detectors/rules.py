"""Rules: codes, measured precision and recall, and the selection of those that run.

``measured.json`` holds the figures of every rule on data that it was not made on, and
``bench/rules.py`` writes it. A rule runs by default if it was right often enough there.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from grice.data import Severity
    from grice.detectors.conversation import Background, Flaw, Reply

FAMILIES = {
    "T": "text",
    "P": "privacy and secrets",
    "D": "dialogue",
    "A": "tools and agents",
    "U": "user signals",
    "V": "tone",
}
"""Families of rules by the letter that their codes begin with."""
CERTAIN = "TA"  # families that need a higher precision
PRECISION, CERTAIN_PRECISION, LOWEST = 0.8, 0.95, 0.7
"""Precision of a default rule, that of a certain one, and the lower end of its 95 % interval."""
FEWEST = 9  # findings, of which with fewer even all being right gives no such lower end


class Measured(msgspec.Struct, frozen=True):
    """Figures of a rule.

    Attributes:
        precision: Share of its ``n`` findings that are right: natural ones, and those on written
            logs too if there are fewer natural ones than :data:`FEWEST`.
        floor: Share of flawed replies among random ones of the same data: the precision of a
            random finding.
        low, high: 95 % interval of the precision (Wilson).
        natural, right: Natural findings that were read, and how many were right.
        replies: Natural replies in which the findings were looked for.
        planted, found: Flaws in written logs, and how many it found.
    """

    precision: float
    low: float
    high: float
    n: int
    floor: float
    natural: int
    right: int
    replies: int
    planted: int
    found: int


class Rule(NamedTuple):
    """A rule on single replies (``detect``) or on a whole conversation (``scan``).

    Attributes:
        excludes: Beginnings of the codes that are not looked for in a reply that has this flaw.
        masks: Whether quotes show only the beginning of the words.
        of_preset: Figures with the models of a preset, of a rule that reads scores.
    """

    code: str
    name: str
    title: str
    detect: Callable[[Reply], Flaw | None] | None = None
    scan: Callable[[Background], Iterator[tuple[int, Flaw]]] | None = None
    severity: Severity = "error"
    excludes: tuple[str, ...] = ()
    masks: bool = False
    of_preset: Measured | None = None

    @property
    def measured(self) -> Measured | None:
        """Its figures, if there are any."""
        seen = self.of_preset or figures().get(self.code)
        return seen if seen and seen.n else None

    @property
    def precision(self) -> float | None:
        """The share of its findings that are right; None if it was not measured."""
        return self.measured.precision if self.measured else None

    @property
    def reads_scores(self) -> bool:
        """Whether it reads scores, and no text."""
        return self.detect is None and self.scan is None

    @property
    def is_default(self) -> bool:
        """Whether its precision is high enough to run unless others are selected."""
        return self.passes(self.measured)

    def passes(self, seen: Measured | None) -> bool:
        """Return whether figures are good enough for a default rule."""
        least = CERTAIN_PRECISION if self.code[0] in CERTAIN else PRECISION
        return seen is not None and seen.precision >= least and seen.low >= LOWEST


@cache
def figures() -> dict[str, Measured]:
    """Return the figures of the measured rules by code."""
    content = (resources.files("grice.detectors") / "measured.json").read_bytes()
    return msgspec.json.decode(content, type=dict[str, Measured])


def selected(
    rules: Sequence[Rule],
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    min_confidence: float | None = None,
) -> tuple[Rule, ...]:
    """Return the rules to run: by default those that are precise enough.

    Args:
        rules: All rules.
        select, ignore: Codes, their beginnings, such as ``T`` or ``T1``, or names of rules;
            ``all`` is every rule. Without ``select``, the default rules.
        min_confidence: Least measured precision, instead of that of the default rules.

    Raises:
        InputError: For a code of no rule, or if no rule is left.
    """
    if min_confidence is not None and not 0 <= min_confidence <= 1:
        raise InputError(f"min-confidence {min_confidence:g}: a number from 0 to 1 is needed")
    chosen = _named(rules, select) if select else {rule.code for rule in rules}
    chosen -= _named(rules, ignore)
    left = [rule for rule in rules if rule.code in chosen]
    if min_confidence is not None:
        left = [
            rule
            for rule in left
            if (-1.0 if rule.precision is None else rule.precision) >= min_confidence
        ]
    elif not select:
        left = [rule for rule in left if rule.is_default]
    if not left:
        raise InputError("no rule is left to check: select more, or ignore fewer")
    return tuple(left)


def named(rules: Sequence[Rule], name: str) -> set[str]:
    """Return the codes of the rules with a code, the beginning of one, or a name."""
    return {
        rule.code
        for rule in rules
        if name.casefold() in ("all", rule.name) or (name and rule.code.startswith(name.upper()))
    }


def _named(rules: Sequence[Rule], names: Sequence[str]) -> set[str]:
    codes: set[str] = set()
    for name in names:
        if not (found := named(rules, name)):
            known = [*(rule.code for rule in rules), *(rule.name for rule in rules)]
            raise InputError(f"no rule {name!r}{did_you_mean(name, known)}")
        codes |= found
    return codes
