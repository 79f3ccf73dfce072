"""The command that lists the flaws of replies, for people and for other programs."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Literal

from grice.cli.derive import Input
from grice.cli.options import columns_of, opened, suggest_larger
from grice.cli.output import (
    DONE,
    PARTIAL,
    UNMET,
    UNUSABLE,
    Output,
    note,
    one_line,
    warn,
    write_rows,
    write_text,
)
from grice.errors import InputError, RecordError, plural
from grice.files import cache_folder
from grice.progress import tracking
from grice.tables import Lines, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.cli.derive import Count, Names, OutputPath
    from grice.data import Finding
    from grice.detectors.check import Check, Checker, RuleCount
    from grice.evaluation.ranking import RankedReply, Ranker, Ranking
    from grice.tables import View

TURN_WIDTH = 74
"""Characters of a turn that are shown: a line of a terminal."""
SAME = 40  # characters by which a quote is the beginning of a turn that is shown
NO_FLAW = "no flaw stands out"


def check(
    files: Sequence[str],
    *,
    select: Names = (),
    ignore: Names = (),
    min_confidence: float | None = None,
    rank: bool = False,
    models: str | None = None,
    scores: str | None = None,
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
        rank: order the replies for reading: those with findings, then those of the lowest quality
            by the models of --models or the scores of --scores
        models (PRESET): with --rank: small, medium, large, or a preset of your own
        scores (OUT.jsonl): with --rank: scores of grice score, instead of scoring again
        limit (N): list at most N findings; all are counted. With --rank: N replies (default 20)
        format_: form of the result
        baseline (OLD.json): an earlier result of --format json; only new findings are listed
        input_format (NAME): format of the files; default: detected (grice list)
    """
    from grice.detectors import ALL
    from grice.detectors.check import Checker, read_baseline
    from grice.detectors.rules import selected
    from grice.report import findings
    from grice.scoring.api import SMALL, default_preset

    if json and format_ not in ("text", "json"):
        raise InputError(f"--json and --format {format_}: give one of them")
    for option, value in (("models", models), ("scores", scores)):
        if value is not None and not rank:
            raise InputError(f"--{option} needs --rank")
    if models is not None and scores is not None:
        raise InputError("--models and --scores: give one of them")
    rules = selected(ALL, select, ignore, min_confidence)
    old = read_baseline(baseline) if baseline is not None else None
    reading = Input(format=input_format, column=column)
    ranking: Ranking | None = None
    if rank:
        from grice.evaluation.ranking import TOP, Ranker

        ranker = Ranker(limit or TOP, rules=rules, speakers=speaker, baseline=old)
        preset = models or default_preset()
        problems = _rank(ranker, files, reading, speaker, preset, scores)
        ranking = ranker.ranking()
        result = ranking.as_check(rules, problems)
    else:
        preset = SMALL
        checker = Checker(rules, speakers=speaker, baseline=old)
        _check(checker, files, reading)
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
    found = ranking.flawed if ranking else result.count
    status = UNMET if found else PARTIAL if result.skipped else DONE
    suggest_larger(preset)
    form = "json" if json else format_
    if ranking and form == "json":
        write_rows(ranking.items, output)
        return Output([], [], status)
    if form == "text" and output is None:
        return Output([result], _ranked_view(ranking) if ranking else _view(result), status)
    write_text(findings.FORMS[form](result), output)
    return Output([], [], status)


def _check(checker: Checker, files: Sequence[str], reading: Input) -> None:
    from grice.readers import part_read

    with ExitStack() as stack:
        readings = [stack.enter_context(each) for each in opened(files, reading)]
        with tracking("conversations", None, partial(part_read, readings)) as advance:
            for each in readings:
                for record in each:
                    checker.add(record, each.name)
                    advance(1)


def _rank(
    ranker: Ranker,
    files: Sequence[str],
    reading: Input,
    speakers: Sequence[str],
    preset: str,
    scores: str | None,
) -> list[RecordError]:
    """Give a ranker all conversations with their scores; return the records without."""
    from grice.evaluation.ranking import load_parts
    from grice.evaluation.scores import joined
    from grice.readers import part_read, records_of
    from grice.scoring.run import Sink, score_windows

    failed, first = 0, ""
    problems = []
    with ExitStack() as stack:
        if scores is None:
            readings = [stack.enter_context(each) for each in opened(files, reading)]
            grader = load_parts(preset, speakers=speakers, cache=cache_folder())
            scorer = stack.enter_context(grader).scorer
            pairs = score_windows(records_of(readings), scorer, Sink(""), readings)
            part = partial(part_read, readings)
        else:
            columns, part = columns_of(reading), None
            pairs = joined(scores, files, format=reading.format, columns=columns)
        advance = stack.enter_context(tracking("conversations", None, part))
        for talk, group in pairs:
            if isinstance(talk, RecordError):
                problems.append(talk)
            else:
                broken = [score.reason for score in group if score.status == "failed"]
                first = first or next(filter(None, broken), "")
                failed += len(broken)
                ranker.add(talk, group)
            advance(1)
    if failed:
        warn(f"{plural(failed, 'score')} failed and count for nothing, the first: {first}")
    return problems


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


def _ranked_view(ranking: Ranking) -> View:
    replies = plural(ranking.replies, "reply", "replies")
    shown = "" if len(ranking.items) == ranking.replies else f"the first {len(ranking.items)} of "
    yield Lines([f"{shown}{replies}, those with findings of rules first"], style="bold")
    used = ", ".join(f"{name} ({turns:,})" for name, turns in ranking.parts.items() if turns)
    missing = f"; not run: {', '.join(ranking.missing)}" if ranking.missing else ""
    yield Lines([f"the others by {used or 'their place'}{missing}"], style="dim")
    if ranking.unused:
        names = ", ".join(ranking.unused)
        yield Lines([f"run but not used for the order: {names}"], style="dim")
    if ranking.known:
        yield Lines([f"not listed: {plural(ranking.known, 'finding')} of the baseline"])
    for item in ranking.items:
        yield from _ranked_reply(item)


def _ranked_reply(item: RankedReply) -> Iterator[Lines]:
    from grice.text.markup import as_read

    place = f"{f'{item.file}:' if item.file else ''}{item.conversation} {item.turn}"
    title = item.headline if item.certain else f"quality {item.certainty}"
    yield Lines([f"{item.rank}. {place}  {title}"], style="bold")
    # The tags and tokens that a finding of a rule is about stay visible.
    reply = item.reply if item.certain else as_read(item.reply)
    texts = [one_line(text, TURN_WIDTH) for text in (as_read(item.before), reply) if text]
    yield Lines([f"> {text}" for text in texts], indent=3)
    yield Lines([_why(each, texts) for each in item.findings] or [NO_FLAW], indent=3)


def _why(finding: Finding, shown: Sequence[str]) -> str:
    """Return the message of a finding with those of its words that are not shown yet."""
    quotes: list[str] = []
    for span, words in zip(finding.spans, finding.quotes, strict=True):
        known = any(text.startswith(words[:SAME]) for text in (*shown, *quotes))
        if not known and words not in finding.message:
            named = span.turn == finding.turn or f"turn {span.turn}" in finding.message
            turn = "" if named else f"turn {span.turn}: "
            quotes.append(f'{turn}"{words}"')
    return ": ".join([f"{finding.code} {finding.message}", *(["; ".join(quotes)] * bool(quotes))])
