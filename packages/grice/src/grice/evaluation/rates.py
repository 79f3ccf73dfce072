"""Rates of findings: the share of the replies of a log in which a rule finds a flaw."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import grice
from grice.detectors import ALL, find_flaws
from grice.detectors.check import Known
from grice.errors import InputError, RecordError
from grice.evaluation.scores import read_score_lines
from grice.evaluation.table import FINDING, Ids, MetricScores, ScoreTable
from grice.readers import read
from grice.scoring.loaded import judged_turns

if TYPE_CHECKING:
    from grice.data import Finding
    from grice.detectors.rules import Rule
    from grice.stats.inputs import Integers

ANY = "any rule"
"""Name of the column of all rules together."""


class CheckedLog(NamedTuple):
    """The replies of a log, sorted by item, and the findings of rules in them."""

    source: str
    ids: Ids
    items: Integers
    findings: tuple[Finding, ...]
    flawed: dict[str, set[int]]  # items with a finding by the code of its rule

    def column(self, codes: Collection[str], name: str) -> MetricScores:
        """Return 1 for each reply in which one of the rules finds a flaw, 0 for the others."""
        flawed = set[int]().union(*(self.flawed.get(code, ()) for code in codes))
        given = np.isin(self.items, list(flawed)).astype(float)
        signature = f"{FINDING}{name}|{grice.__version__}"
        return MetricScores(self.items, given, np.zeros(len(given), np.int8), (signature,))

    def table(self, groups: Mapping[str, Collection[str]]) -> ScoreTable:
        """Return the columns of groups of rules by their names."""
        columns = {name: self.column(codes, name) for name, codes in groups.items()}
        return ScoreTable(self.source, self.ids, columns)


def check_log(file: str, rules: Sequence[Rule], ids: Ids) -> CheckedLog:
    """Check a file of conversations.

    Raises:
        RecordError: For the first record that cannot be read.
        InputError: If the file holds no reply to check.
    """
    items = array("q")
    findings: list[Finding] = []
    flawed: dict[str, set[int]] = {}
    with read(file) as records:
        for talk in records:
            if isinstance(talk, RecordError):
                raise talk
            turns = judged_turns(talk)
            items.extend(ids.item(talk.id, turn) for turn in turns)
            for finding in find_flaws(talk, rules, turns):
                findings.append(finding)
                flawed.setdefault(finding.code, set()).add(ids.item(talk.id, finding.turn))
    if not items:
        raise InputError(f"{file}: holds no reply to check")
    return CheckedLog(file, ids, np.unique(np.array(items, np.int64)), tuple(findings), flawed)


def rate_tables(first: CheckedLog, second: CheckedLog) -> tuple[ScoreTable, ScoreTable]:
    """Return the columns of all rules together, then of each that finds a flaw in either log."""
    codes = [rule.code for rule in ALL if rule.code in {**first.flawed, **second.flawed}]
    groups = {ANY: codes, **{code: [code] for code in codes}}
    return first.table(groups), second.table(groups)


def missing_in(known: Sequence[Finding], findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings that are not among the known ones."""
    return tuple(Known(known).new(findings))


def holds_conversations(file: str) -> bool:
    """Return whether a file holds conversations, and no scores; it cannot be standard input.

    Raises:
        InputError: If it holds neither, or cannot be read.
        RecordError: If its first line is a broken score.
    """
    try:
        next(read_score_lines(file), None)
    except (InputError, RecordError):
        with suppress(InputError), read(file):
            return True
        raise
    return False
