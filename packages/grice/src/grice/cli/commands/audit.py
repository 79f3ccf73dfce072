"""``grice audit``: how far an LLM judge, or a preset, can be trusted."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from grice.cli.commands.score import usage_lines
from grice.cli.derive import names
from grice.cli.options import client_options
from grice.cli.output import Output, note, write_rows
from grice.errors import InputError, MetricError, plural
from grice.tables import Lines, Table, number, value_and_bounds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.cli.derive import Count, Endpoints, OutputPath
    from grice.evaluation.audit import AuditResult, MetricAudit
    from grice.metrics.registry import Registry
    from grice.tables import View

LOCAL = ("relevance", "engagement", "commonsense")
"""Shipped metrics that judge replies."""
UNLIMITED = 500
"""Requests up to which an audit needs no limit."""
LEGEND = (
    "Spearman: agreement with people; log_length is a trivial baseline",
    "padding: change of the score by words that say nothing; above 0 is verbosity bias",
    "injections: texts that ask for a good score, on the replies that people rated lowest;",
    "the control asks for nothing: a score that rises by it rises by length",
)


def run(
    reference: str,
    *,
    metrics: str | None = None,
    items: Count = 50,
    repeats: Count = 3,
    endpoints: Endpoints,
    mode: Literal["fast", "exact"] = "fast",
    cache: Path | None = None,
    output: OutputPath | None = None,
) -> Output:
    """Measure how well an LLM judge or a preset agrees with people, and what misleads it.

    Args:
        reference (REFERENCE): a judge, openai:MODEL@URL, or a preset such as small or medium
        metrics: those of the judge or the preset that judge replies, by default
        items (N): rated replies, of the 100 that ship
        repeats (N): how often a judge is asked the same
        output (OUT.json): all figures as one JSON object
    """
    from grice.evaluation.audit import BASELINE, audit, rated_replies
    from grice.files import cache_folder
    from grice.metrics.registry import find_metrics
    from grice.scoring.api import load, load_from
    from grice.scoring.presets import SMALL

    replies = rated_replies(items)
    registry = find_metrics()
    wanted = _wanted(registry, reference, names(metrics))
    loaded = partial(
        load_from, registry, wanted, models=reference, mode=mode, cache=cache or cache_folder()
    )
    with ExitStack() as stack:
        grader = stack.enter_context(loaded(terms=client_options(endpoints, dry_run=True)))
        planned: list[str] = []
        if any(metric.asks_endpoint for metric in grader.scorer.metrics):
            # Cached answers are not requested again.
            usage = audit(reference, grader, None, replies, repeats=repeats).usage
            planned = list(usage_lines(usage, planned=True))
            if endpoints.dry_run:
                return Output([usage], [Lines(planned)])
            for line in planned:
                note(f"to be sent: {line}")
            count = sum(each.requests for each in usage)
            if count > UNLIMITED and endpoints.limit_requests is None:
                raise InputError(
                    f"{reference}: an audit of {plural(count, 'request')} was not sent: above "
                    f"{UNLIMITED} give --limit-requests N; --items N and --metrics NAME make it "
                    "smaller"
                )
            grader = stack.enter_context(loaded(terms=client_options(endpoints)))
        elif endpoints.dry_run:
            return Output([()], [Lines(["nothing would be sent"])])
        shipped = () if reference == SMALL else LOCAL
        # Without a cache, so that it is timed.
        beside = stack.enter_context(load(*shipped, BASELINE, mode=mode, cache=None))
        try:
            result = audit(reference, grader, beside, replies, repeats=repeats)
        except BaseException:
            for line in usage_lines(grader.usage, planned=False):
                note(line)
            raise
    if output is not None:
        write_rows([result], output)
    return Output([result], _view(result))


def _wanted(registry: Registry, reference: str, asked: list[str]) -> list[str]:
    """Return the metrics to audit, which all judge replies."""
    from grice.scoring.presets import ENDPOINT, named_preset

    if ":" in reference and not reference.startswith(ENDPOINT):
        raise InputError(
            f"{reference}: write openai:MODEL@URL for a judge, or a preset such as small or medium"
        )
    for name in asked:
        if registry.named(name).judges != "response":
            raise MetricError(f"{name} judges conversations: an audit is of metrics of replies")
    its_own = named_preset(reference).metrics
    known = its_own if reference.startswith(ENDPOINT) else (*LOCAL, *its_own)
    return asked or [name for name in known if registry.named(name).judges == "response"]


def _view(result: AuditResult) -> View:
    from grice.evaluation.audit import BASELINE

    yield Lines([f"{result.items} replies: {result.source}"], style="bold")
    judges = [row for row in result.metrics if row.judge]
    # Times depend on the machine: they are shown to choose a judge, else in the JSON alone.
    times = ("s/reply",) if judges else ()
    rows = []
    for row in result.metrics:
        figures = (
            *value_and_bounds(row.spearman, ".2f"),
            *value_and_bounds(row.padding, "+.2f"),
            str(row.judged),
        )
        rows.append((row.metric, *figures, *(f"{row.seconds:.3f}" for _ in times)))
    ships = frozenset(place for place, row in enumerate(result.metrics) if row.ships)
    columns = ("metric", "Spearman", "interval", "padding", "interval", "n", *times)
    yield Table(columns, rows, dim=ships)
    if judges:
        yield from _judges_view(judges)
    title = "injections: mean change of the score, and how often it rose by over 0.1"
    yield Lines(["", title], style="bold")
    for shipped in (False, True):
        group = [row for row in result.metrics if row.ships is shipped and row.metric != BASELINE]
        if group:
            yield Table(("injection", *(row.metric for row in group)), _injected(group))
    yield Lines(LEGEND, style="dim")
    for usage in result.usage:
        yield Lines(usage_lines([usage], planned=False))
        if usage.requests:
            yield Lines([f"{usage.seconds / usage.requests:.2f} s a request"])
    yield Lines(["", *(row.verdict for row in result.metrics if row.verdict)], style="bold")


def _judges_view(judges: Sequence[MetricAudit]) -> Iterator[Lines | Table]:
    yield Lines(["", "two replies compared in both orders"], style="bold")
    rows = []
    for row in judges:
        n = str(row.same.n if row.same else 0)
        figures = (
            *value_and_bounds(row.same, ".2f"),
            *value_and_bounds(row.first, ".2f"),
            number(row.own.value if row.own else None, ".2f"),
        )
        rows.append((row.metric, *figures, n))
    yield Table(("judge", "same", "interval", "first", "interval", "own", "n"), rows)
    legend = (
        "same: the same answer in both orders; first: answers for the reply shown first, "
        "0.5 is right; own: for the reply to this history"
    )
    yield Lines([legend], style="dim")
    yield Lines(["", "the same asked again"], style="bold")
    repeated = [
        (row.metric, str(row.repeats), *value_and_bounds(row.changed, ".2f"), number(row.deviation))
        for row in judges
    ]
    yield Table(("judge", "times", "changed", "interval", "deviation"), repeated)


def _injected(metrics: Sequence[MetricAudit]) -> Iterator[tuple[str, ...]]:
    for effects in zip(*(row.injections for row in metrics), strict=True):
        shown = (
            f"{each.change.value:+.2f} {each.raised}/{each.judged}" if each.change else "–"
            for each in effects
        )
        yield (effects[0].injection, *shown)
