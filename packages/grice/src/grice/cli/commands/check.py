"""The command that lists the flaws of replies, for people and for other programs."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Literal

from grice.cli.derive import Input
from grice.cli.options import opened, suggest_larger
from grice.cli.output import (
    DONE,
    PARTIAL,
    UNMET,
    UNUSABLE,
    Output,
    note,
    one_line,
    warn,
    write_text,
)
from grice.errors import InputError, plural
from grice.progress import tracking
from grice.tables import Lines, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.cli.derive import Count, Names, OutputPath
    from grice.detectors.check import Check, RuleCount
    from grice.tables import View


def check(
    files: Sequence[str],
    *,
    select: Names = (),
    ignore: Names = (),
    min_confidence: float | None = None,
    limit: Count | None = None,
    format_: Literal["text", "json", "github", "sarif", "junit", "markdown"] = "text",
    output: OutputPath | None = None,
    baseline: str | None = None,
    speaker: Sequence[str] = (),
    input_format: str | None = None,
    column: Sequence[str] = (),
    json: bool,
) -> Output:
    """List the flaws of replies: exit status 0 none, 1 some, 2 unusable input.

    Args:
        files (FILE): conversations in any known format, gzipped or not; a directory; a URL of a
            store, such as s3://…; - for standard input
        select (CODES): run these rules instead of the default ones: codes, their beginnings, such
            as T or T1, or names, comma-separated; all: every rule
        ignore (CODES): leave these rules out
        min_confidence (P): run the rules of at least this measured precision, 0 to 1, instead of
            the default ones
        limit (N): list at most N findings; all are counted
        format_: form of the result
        baseline (OLD.json): an earlier result of --format json; only new findings are listed
        input_format (NAME): format of the files; default: detected (grice list)
    """
    from grice.detectors import ALL
    from grice.detectors.check import Checker, read_baseline
    from grice.detectors.rules import selected
    from grice.readers import part_read
    from grice.report import findings
    from grice.scoring.api import SMALL

    if json and format_ not in ("text", "json"):
        raise InputError(f"--json and --format {format_}: give one of them")
    rules = selected(ALL, select, ignore, min_confidence)
    old = read_baseline(baseline) if baseline is not None else None
    reading = Input(format=input_format, column=column)
    checker = Checker(rules, speakers=speaker, baseline=old)
    with ExitStack() as stack:
        readings = [stack.enter_context(each) for each in opened(files, reading)]
        with tracking("conversations", None, partial(part_read, readings)) as advance:
            for each in readings:
                for record in each:
                    checker.add(record, each.name)
                    advance(1)
    result = checker.check(limit)
    if old is not None and old.grice != result.grice:
        note(
            f"{baseline}: made by grice {old.grice}, and this is {result.grice}: findings of rules "
            "that changed since count as new"
        )
    for problem in result.problems:
        warn(problem)
    if result.skipped:
        warn(f"{plural(result.skipped, 'record')} could not be read")
    if not result.conversations and result.skipped:
        return Output([], [], UNUSABLE)
    status = UNMET if result.count else PARTIAL if result.skipped else DONE
    suggest_larger(SMALL)
    form = "json" if json else format_
    if form == "text" and output is None:
        return Output([result], _view(result), status)
    write_text(findings.FORMS[form](result), output)
    return Output([], [], status)


def _view(result: Check) -> View:
    from grice.report.findings import line

    yield from (f"{one_line(line(finding), 400)}\n" for finding in result.findings)
    rows = [
        (rule.code, rule.title, f"{rule.findings:,}", f"{rule.conversations:,}", _precision(rule))
        for rule in result.rules
        if rule.findings
    ]
    if rows:
        yield "\n"
        columns = ("rule", "", "findings", "conversations", "measured precision")
        yield Table(columns, rows, words=2)
    yield Lines([f"{result.summary()}, by {plural(len(result.rules), 'rule')}"], style="bold")
    if result.known:
        yield Lines([f"not listed: {plural(result.known, 'finding')} of the baseline"])


def _precision(rule: RuleCount) -> str:
    if rule.confidence is None:
        return "not measured"
    return f"{rule.confidence:.2f} [{rule.low:.2f}, {rule.high:.2f}]"
