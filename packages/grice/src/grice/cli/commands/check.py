"""The command that lists the flaws of replies, for people and for other programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Literal

from grice.cli.derive import Count, Input, Names, OutputPath
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
from grice.tables import Lines, Table, View

if TYPE_CHECKING:
    from grice.data import Finding
    from grice.detectors.check import Check, Checker
    from grice.evaluation.groups import FlawedReply, Group
    from grice.evaluation.ranking import RankedReply, Ranker, Ranking

TURN_WIDTH = 74
"""Characters of a turn that are shown: a line of a terminal."""
SAME = 40  # characters by which a quote is the beginning of a turn that is shown
GROUPS = 10  # groups that are listed
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
    group: bool = False,
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
        rank: order the replies for reading: those with findings, then by the probability that a
            person objects, by the models of --models or the scores of --scores
        models (PRESET): with --rank they order the replies; without it they offer the rules that
            read scores, D311 to D316
        scores (OUT.jsonl): with --rank: scores of grice score, instead of scoring again
        group: also list groups of replies with findings that have a similar meaning; with --rank
            those of the ranked replies
        limit (N): list at most N findings; all are counted. With --rank: N replies (default 20)
        format_: form of the result
        baseline (OLD.json): an earlier result of --format json; only new findings are listed
        input_format (NAME): format of the files; default: detected (grice list)
    """
    from msgspec.structs import asdict

    from grice.detectors.check import Checker, read_baseline
    from grice.evaluation.checks import rules_for
    from grice.report import findings
    from grice.scoring.api import default_preset

    if json and format_ not in ("text", "json"):
        raise InputError(f"--json and --format {format_}: give one of them")
    if scores is not None and not rank:
        raise InputError("--scores needs --rank")
    if models is not None and scores is not None:
        raise InputError("--models and --scores: give one of them")
    rules = rules_for(None if rank else models, select, ignore, min_confidence)
    by_score = any(rule.reads_scores for rule in rules)
    old = read_baseline(baseline) if baseline is not None else None
    reading = Input(format=input_format, column=column)
    ranking: Ranking | None = None
    flawed: list[FlawedReply] = []
    if rank or by_score:
        from grice.evaluation.ranking import TOP, Ranker

        preset = models or default_preset()
        ranker = Ranker(limit or TOP, rules=rules, speakers=speaker, baseline=old)
        _rank(ranker, files, reading, speaker, preset, scores, None if rank else flawed)
        ranking = ranker.ranking() if rank else None
        result = ranker.check(ranking, limit)
        if ranking:
            flawed = [item.flawed for item in ranking.ranked]
            if ranking.unjudged:
                warn(_unjudged(ranking))
            if ranking.ranked:
                suggest_larger(preset)
    else:
        if models:
            note(
                f"with {models}, no rule that reads scores is precise enough to run by default: "
                "--select D31 runs them all"
            )
        checker = Checker(rules, speakers=speaker, baseline=old)
        _check(checker, files, reading, flawed if group else None)
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
    form = "json" if json else format_
    groups = _groups(flawed) if group else ()
    if ranking and form == "json":
        write_rows(ranking.items, output)
        return Output([], [], status)
    if form == "json" and group:
        write_rows([{**asdict(result), "groups": groups}], output)
        return Output([], [], status)
    if form == "text" and output is None:
        view = _ranked_view(ranking) if ranking else _view(result)
        return Output([result], chain(view, _groups_view(groups)), status)
    if ranking and form == "markdown":
        same = [[item.place for item in alike] for alike in ranking.distinct()]
        text = findings.markdown(result, {first: more for first, *more in same})
    else:
        text = findings.FORMS[form](result)
    write_text(text, output)
    return Output([], [], status)


def _unjudged(ranking: Ranking) -> str:
    """Return a line on the replies that are not ranked because of their language."""
    named = ", ".join(f"{name} ({count:,})" for name, count in ranking.unjudged.items())
    replies = plural(ranking.replies, "reply", "replies")
    return (
        f"{sum(ranking.unjudged.values()):,} of {replies} are not ranked, since their language is "
        f"not judged: {named}; the metrics judge English, and some rules other languages, too"
    )


def _check(
    checker: Checker, files: Sequence[str], reading: Input, flawed: list[FlawedReply] | None
) -> None:
    """Check all conversations; keep the replies with findings if there is a list for them."""
    from grice.readers import part_read

    if flawed is not None:
        from grice.evaluation.groups import flawed_replies

    with ExitStack() as stack:
        readings = [stack.enter_context(each) for each in opened(files, reading)]
        with tracking("conversations", None, partial(part_read, readings)) as advance:
            for each in readings:
                for record in each:
                    found = checker.add(record, each.name)
                    if flawed is not None and not isinstance(record, RecordError):
                        flawed += flawed_replies(record, found, each.name)
                    advance(1)


def _rank(
    ranker: Ranker,
    files: Sequence[str],
    reading: Input,
    speakers: Sequence[str],
    preset: str,
    scores: str | None,
    flawed: list[FlawedReply] | None = None,
) -> None:
    """Give a ranker all records, the conversations with their scores.

    Keep the replies with findings if there is a list for them.
    """
    from grice.evaluation.groups import flawed_replies
    from grice.evaluation.ranking import load_parts
    from grice.evaluation.scores import joined
    from grice.readers import part_read, records_of
    from grice.scoring.run import Sink, score_windows

    failed, first = 0, ""
    file = None
    with ExitStack() as stack:
        if scores is None:
            readings = [stack.enter_context(each) for each in opened(files, reading)]
            grader = load_parts(preset, speakers=speakers, cache=cache_folder())
            scorer = stack.enter_context(grader).scorer
            pairs = score_windows(records_of(readings), scorer, Sink(""), readings)
            part = partial(part_read, readings)
            file = readings[0].name if flawed is not None and len(readings) == 1 else None
        else:
            columns, part = columns_of(reading), None
            pairs = joined(scores, files, format=reading.format, columns=columns)
        advance = stack.enter_context(tracking("conversations", None, part))
        for talk, group in pairs:
            broken = [score.reason for score in group if score.status == "failed"]
            first = first or next(filter(None, broken), "")
            failed += len(broken)
            found = ranker.add(talk, group, file)
            if flawed is not None and not isinstance(talk, RecordError):
                flawed += flawed_replies(talk, found, str(talk.meta.get("file") or file))
            advance(1)
    if failed:
        warn(f"{plural(failed, 'score')} failed and count for nothing, the first: {first}")


def _view(result: Check) -> View:
    from grice.report.findings import RULE_COLUMNS, line, rule_rows

    yield from (f"{one_line(line(finding), 400)}\n" for finding in result.findings)
    if rows := rule_rows(result):
        yield "\n"
        yield Table(RULE_COLUMNS, rows, words=2)
    yield Lines([f"{result.summary()}, by {plural(len(result.rules), 'rule')}"], style="bold")
    if result.known:
        yield Lines([f"not listed: {plural(result.known, 'finding')} of the baseline"])


def _groups(flawed: Sequence[FlawedReply]) -> Sequence[Group]:
    if not flawed:
        return ()
    from grice.evaluation.groups import groups_of  # which loads numpy

    return groups_of(flawed)


def _groups_view(groups: Sequence[Group]) -> View:
    if groups:
        yield "\n"
        yield Lines(["replies with a similar meaning"], style="bold")
        yield Lines(map(str, groups[:GROUPS]), indent=2)
        if len(groups) > GROUPS:
            yield Lines([f"… and {len(groups) - GROUPS:,} more: --json"], style="dim", indent=2)


def _ranked_view(ranking: Ranking) -> View:
    replies = plural(ranking.replies, "reply", "replies")
    if not (first := len(ranking.ranked)):
        yield Lines([f"none of {replies} is ranked"], style="bold")
        return
    shown = "" if first == ranking.replies else f"the first {first} of "
    yield Lines([f"{shown}{replies}, with the probability that a person objects"], style="bold")
    used = ", ".join(f"{name} ({turns:,})" for name, turns in ranking.parts.items() if turns)
    missing = f"; not run: {', '.join(ranking.missing)}" if ranking.missing else ""
    order = f"those with findings of rules first, the others by {used or 'signs in other turns'}"
    yield Lines([f"{order}{missing}"], style="dim")
    if ranking.unused:
        names = ", ".join(ranking.unused)
        yield Lines([f"run but not used for the order: {names}"], style="dim")
    if ranking.known:
        yield Lines([f"not listed: {plural(ranking.known, 'finding')} of the baseline"])
    for item, *same in ranking.distinct():
        yield from _ranked_reply(item, same)


def _ranked_reply(item: RankedReply, same: Sequence[RankedReply]) -> Iterator[Lines]:
    from grice.report.findings import also
    from grice.text.markup import as_read

    yield Lines([f"{item.rank}. {item.certainty} {item.place}"], style="bold")
    # The tags and tokens that a finding of a rule is about stay visible.
    reply = item.reply if item.certain else as_read(item.reply)
    texts = [one_line(text, TURN_WIDTH) for text in (as_read(item.before), reply) if text]
    yield Lines([f"> {text}" for text in texts], indent=3)
    yield Lines([_why(each, texts) for each in item.findings] or [NO_FLAW], indent=3)
    if same:
        yield Lines([f"{len(same) + 1} times, {also(each.place for each in same)}"], indent=3)


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
