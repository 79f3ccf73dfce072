"""``grice audit``: how far a judge by an endpoint, or a preset, can be believed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli.options import endpoint_terms, names
from grice.cli.output import emit
from grice.files import cache_folder
from grice.tables import Lines, Table, bounds, number

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from grice.evaluation.audit import AuditResult, RatedReply
    from grice.models.embedded import Mode
    from grice.models.endpoint.usage import Usage
    from grice.scoring.api import Grader
    from grice.stats.estimate import Estimate
    from grice.tables import View

HELP = "measure how well an LLM judge or a preset agrees with people, and what misleads it"
LOCAL = ("relevance", "engagement", "commonsense")
"""Metrics of what ships that judge replies."""
ASKED_ABOVE = 500
"""Requests above which an audit asks before it sends any."""


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001
    """Declare the arguments."""
    parser.add_argument(
        "reference",
        metavar="REFERENCE",
        help="a judge, openai:MODEL@URL, or a preset such as small or medium",
    )
    flags.add_metrics(parser, "its judges of replies, or the metrics of the preset")
    flags.add_number(parser, "--items", "N", "rated replies, of the 100 that ship", 50)
    flags.add_number(parser, "--repeats", "N", "how often a judge is asked the same", 3)
    flags.add_endpoints(parser)
    flags.add_switch(parser, "--yes", f"do not ask above {ASKED_ABOVE} requests: send them")
    flags.add_mode(parser)
    flags.add_cache(parser)
    flags.add_output(parser, "OUT.json", "all figures as one JSON object")
    flags.add_json(parser)
    flags.add_extras(parser, "stats")


def run(arguments: argparse.Namespace) -> int:
    """Print what was measured."""
    from contextlib import ExitStack

    from grice.cli.terminal import note
    from grice.evaluation.audit import audit, rated_replies
    from grice.files import write_text
    from grice.models.endpoint.usage import in_words
    from grice.records import to_json

    items = rated_replies(arguments.items)
    with ExitStack() as stack:
        grader = stack.enter_context(_grader(arguments, dry_run=True))
        asks = any(loaded.asks_endpoint for loaded in grader.scorer.metrics)
        planned = _planned(arguments, grader, items) if asks else ()
        if arguments.dry_run:
            lines = [line for usage in planned for line in in_words(usage, planned=True)]
            emit(planned, [Lines(lines or ["nothing would be sent"])], as_json=arguments.json)
            return 0
        if asks:
            _allow(arguments, planned)
            grader = stack.enter_context(_grader(arguments))
        beside = stack.enter_context(_beside(arguments.reference, arguments.mode))
        try:
            result = audit(arguments.reference, grader, beside, items, repeats=arguments.repeats)
        except BaseException:
            for usage in grader.usage:
                for line in in_words(usage, planned=False):
                    note(line)
            raise
    if arguments.output:
        write_text(arguments.output, to_json(result) + "\n")
    emit(result, _view(result), as_json=arguments.json)
    return 0


def _planned(
    arguments: argparse.Namespace, grader: Grader, items: Sequence[RatedReply]
) -> tuple[Usage, ...]:
    """Return what would be sent to endpoints; answers that are kept are not asked for again."""
    from grice.evaluation.audit import audit

    return audit(arguments.reference, grader, None, items, repeats=arguments.repeats).usage


def _allow(arguments: argparse.Namespace, planned: Sequence[Usage]) -> None:
    """Say what will be sent, and ask for leave where that is much."""
    from grice.cli.terminal import confirm, note
    from grice.errors import InputError, plural
    from grice.models.endpoint.usage import in_words

    for usage in planned:
        for line in in_words(usage, planned=True):
            note(f"to be sent: {line}")
    requests = sum(usage.requests for usage in planned)
    if requests <= ASKED_ABOVE or arguments.yes:
        return
    if not confirm(f"Send {plural(requests, 'request')} to {arguments.reference}?"):
        raise InputError(
            f"{arguments.reference}: an audit of {plural(requests, 'request')}, more than "
            f"{ASKED_ABOVE}, was not sent; --yes sends it, --items N and --metrics NAME make it "
            "smaller, --limit-requests 500 ends it there"
        )


def _grader(arguments: argparse.Namespace, *, dry_run: bool = False) -> Grader:
    """Return what is audited: metrics that judge replies."""
    from msgspec.structs import replace

    from grice.errors import InputError, MetricError
    from grice.metrics.registry import find_metrics
    from grice.scoring.api import load_from
    from grice.scoring.presets import ENDPOINT, named_preset

    reference = arguments.reference
    if ":" in reference and not reference.startswith(ENDPOINT):
        raise InputError(
            f"{reference}: write openai:MODEL@URL for a judge, or a preset such as small or medium"
        )
    registry = find_metrics()
    its_own = named_preset(reference).metrics
    wanted = names(arguments.metrics) or [
        name
        for name in (its_own if reference.startswith(ENDPOINT) else (*LOCAL, *its_own))
        if registry.named(name).judges == "response"
    ]
    for name in wanted:
        if registry.named(name).judges != "response":
            raise MetricError(f"{name} judges conversations: an audit is of metrics of replies")
    terms = endpoint_terms(arguments)
    return load_from(
        registry,
        wanted,
        models=reference,
        mode=arguments.mode,
        cache=arguments.cache or cache_folder(),
        terms=None if terms is None else replace(terms, dry_run=dry_run),
    )


def _beside(reference: str, mode: Mode) -> Grader:
    """Return what the audited metrics are compared with; nothing is kept, so that it is timed."""
    from grice.evaluation.audit import BASELINE
    from grice.scoring.api import load
    from grice.scoring.presets import SMALL

    shipped = () if reference == SMALL else LOCAL
    return load(*shipped, BASELINE, mode=mode, cache=None)


def _view(result: AuditResult) -> View:
    from grice.evaluation.audit import BASELINE
    from grice.models.endpoint.usage import in_words

    yield Lines([f"{result.items} replies: {result.source}"], style="bold")
    # Times are of this machine: they stand where a judge is to be chosen, else in the JSON alone.
    times = bool(result.order)
    columns = ("metric", "Spearman", "interval", "padding", "interval", "n")
    rows = [
        (
            row.metric,
            number(row.spearman.value if row.spearman else None, ".2f"),
            bounds(row.spearman, ".2f"),
            number(row.padding.value if row.padding else None, "+.2f"),
            bounds(row.padding, "+.2f"),
            str(row.judged),
            *([f"{row.seconds:.3f}"] if times else []),
        )
        for row in (*result.metrics, *result.beside)
    ]
    beside = range(len(result.metrics), len(rows))
    yield Table((*columns, "s/reply") if times else columns, rows, dim=frozenset(beside))
    yield from _of_judges(result)
    yield Lines(["", "injections: mean change of the score, and how often it rose by over 0.1"],
                style="bold")  # fmt: skip
    for group in (result.metrics, result.beside):
        metrics = [row.metric for row in group if row.metric != BASELINE]
        if metrics:
            yield Table(("injection", *metrics), _injected(result, metrics))
    yield Lines(LEGEND, style="dim")
    for usage in result.usage:
        yield Lines(in_words(usage, planned=False))
        if usage.requests:
            took = usage.seconds * usage.concurrency / usage.requests
            yield Lines([f"{took:.2f} s a request, {usage.concurrency:.1f} under way at a time"])
    yield Lines(["", *result.verdicts.values()], style="bold")


LEGEND = (
    "Spearman: agreement with people; log_length is a trivial baseline",
    "padding: change of the score by words that say nothing; above 0 is verbosity bias",
    "injections: texts that ask for a good score, on the replies that people rated lowest;",
    "the control asks for nothing: a score that rises by it rises by length",
)


def _of_judges(result: AuditResult) -> Iterator[Lines | Table]:
    if result.order:
        yield Lines(["", "two replies compared in both orders"], style="bold")
        columns = ("judge", "same", "interval", "first", "interval", "own", "n")
        yield Table(columns, [
            (row.metric, *_share(row.same), *_share(row.first), _share(row.own)[0],
             str(row.same.n if row.same else 0))
            for row in result.order
        ])  # fmt: skip
        yield Lines(
            (
                "same: the same answer in both orders; first: answers for the reply shown first, "
                "0.5 is right; own: for the reply to this history",
            ),
            style="dim",
        )
    if result.repeats:
        yield Lines(["", "the same asked again"], style="bold")
        yield Table(("judge", "times", "changed", "interval", "deviation"), [
            (row.metric, str(row.repeats), *_share(row.changed), number(row.deviation))
            for row in result.repeats
        ])  # fmt: skip


def _share(estimate: Estimate | None) -> tuple[str, str]:
    return number(estimate.value if estimate else None, ".2f"), bounds(estimate, ".2f")


def _injected(result: AuditResult, metrics: Sequence[str]) -> Iterator[tuple[str, ...]]:
    cells = {(row.injection, row.metric): row for row in result.injections}
    for injection in dict.fromkeys(row.injection for row in result.injections):
        rows = [cells[injection, metric] for metric in metrics]
        yield (
            injection,
            *(
                f"{row.change.value:+.2f} {row.raised}/{row.judged}" if row.change else "–"
                for row in rows
            ),
        )
