"""Commands that evaluate metrics: meta-eval, audit and perturb."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from grice.cli.commands.scores import usage_lines
from grice.cli.derive import Count, Endpoints, Input, Many, Names, OutputPath, Scoring, names
from grice.cli.options import (
    check_options,
    client_options,
    conversations,
    load_grader,
    loader,
    usable,
)
from grice.cli.output import (
    DONE,
    INVOCATION,
    PARTIAL,
    Output,
    confirmed,
    listing,
    note,
    show,
    warn,
    write_rows,
    write_text,
)
from grice.errors import LONGEST, InputError, MetricError, RecordError, plural
from grice.tables import Lines, Table, View, number, value_and_bounds, with_interval

if TYPE_CHECKING:
    from grice.data import Conversation
    from grice.evaluation.audit import AuditResult, MetricAudit
    from grice.evaluation.meta import Block, Row
    from grice.evaluation.perturbed import PerturbedBlock
    from grice.metrics.declaration import Registry
    from grice.perturb import Material, Perturbation
    from grice.stats.estimate import Estimate


def meta_eval(
    names_: Sequence[str] = (),
    *,
    on: Many | None = None,
    data: Path | None = None,
    scores: Sequence[str] = (),
    baseline: str | None = None,
    kendall: bool = False,
    pairwise: bool = False,
    group: str | None = None,
    seed: int = 0,
    csv: OutputPath | None = None,
    latex: OutputPath | None = None,
    report: OutputPath | None = None,
    scoring: Scoring,
    json: bool,
) -> Output | int:
    """Correlate metrics with human ratings; compare with trivial baselines.

    Args:
        names_ (METRIC): metrics to evaluate, by default those of grice score; the trivial baselines
            are always included; list alone lists the rated sets
        on (SET[:ASPECT]): rated sets, files of your own, or all; aspects after a colon:
            fed_turn:relevant,fluent or fed_turn:all
        scores ([SET=]FILE): take scores from this file of grice score (of another tool:
            FILE#COLUMN) instead of computing them
        baseline (METRIC): the trivial baseline to compare with
        kendall: also Kendall's tau-b
        pairwise: also show the difference of each pair of metrics, with its p-value
        group (COLUMN): column of a file of your own by which items belong together, such as replies
            of one conversation; default: records with the same id
            or conversation_id
        seed: resamples
        csv (FILE): write CSV
        latex (FILE): write one LaTeX table of all sets, with significance marks
    """
    from grice.evaluation.meta import meta_evaluate
    from grice.report.exports import as_json, write_results

    if names_ == ["list"]:
        return _sets()
    if not on:
        files = [name for name in names_ if Path(name).is_file()]
        given = f"--on {shlex.join(files)}" if files else "--on SET …, --on FILE or --on all"
        raise InputError(f"no rated set given: add {given}; grice meta-eval list shows the sets")
    judged = [*dict.fromkeys([*names(",".join(names_)), *names(scoring.metrics)])]
    if not judged and not scores:
        judged = list(scoring.registry.defaults())
    if scoring.rubric:
        from grice.metrics.rubrics import read_rubrics

        judged += [rubric.metric for rubric in read_rubrics(scoring.rubric)]
    check_options(scoring, judged)
    choices: Any = {"scores": scores, "baseline": baseline, "kendall": kendall, "seed": seed}
    choices["group"] = group
    blocks = []
    for block in meta_evaluate(judged, on, load=loader(scoring), data=data, **choices):
        blocks.append(block)
        for problem in block.problems[:3]:
            warn(problem)
        if not json:
            show(_block_view(block, pairwise=pairwise))
    if json:
        sys.stdout.write(as_json(blocks) + "\n")
    command = INVOCATION.get().command()
    write_results(blocks, csv=csv, latex=latex, html=report, command=command)
    return PARTIAL if any(row.failed for block in blocks for row in block.rows) else DONE


def _sets() -> Output:
    from grice.evaluation.datasets import known_sets

    return listing(
        {
            "set": entry.name,
            "level": entry.level,
            "aspects": list(entry.all_aspects),
            "default": entry.default,
            "licence": entry.licence,
        }
        for entry in known_sets().values()
    )


def _block_view(block: Block, *, pairwise: bool = False) -> View:
    yield Lines([f"{block.data} · {block.aspect}"], style="bold")
    groups = f" in {plural(block.groups, 'group')}" if block.groups else ""
    about = [f"{block.level} level, {plural(block.items, 'item')}{groups}"]
    if block.ceiling is not None:
        about.append(f"ceiling (Pearson) {block.ceiling.value:.2f}{_bounds(block.ceiling)}")
    if block.judge is not None:
        about.append(f"one annotator (Spearman) {block.judge.value:.2f}")
    about += [f"baseline: {block.baseline}", "in brackets 95 % intervals"]
    yield Lines(filter(None, ["; ".join(about), block.note]), "dim", longest=LONGEST)
    columns = ("metric (*: trivial)", "Spearman", "Pearson", "to baseline", "rank", "abst.")
    dim = frozenset(place for place, row in enumerate(block.rows) if row.trivial)
    yield Table(columns, map(_cells, block.rows), dim=dim)
    yield Lines(_notes(block), indent=2, longest=LONGEST)
    rows = [row for row in block.rows if row.confounds and not row.trivial]
    if rows:
        given = (confound.given for confound in rows[0].confounds)
        legend = "partial Spearman, and the share of the plain one that is left"
        yield Lines([legend], style="dim", indent=2)
        yield Table(("controlling for", *given), map(_controlled, rows))
    if pairwise and block.comparisons:
        pairs = (
            (pair.first, pair.second, _figure(pair.difference), number(pair.p_value, ".2g"))
            for pair in sorted(block.comparisons, key=lambda pair: pair.p_value)
        )
        yield Table(("metric", "against", "difference of Spearman", "p (Holm)"), pairs, words=2)
    systems = [row for row in block.rows if row.system_spearman is not None]
    if why := {row.system_why for row in block.rows if row.system_why}:
        yield Lines(sorted(why), indent=2)
    if systems:
        title = f"between {block.system_count} systems"
        cells = (
            (row.metric, *map(_figure, (row.system_spearman, row.system_pearson, row.accuracy)))
            for row in systems
        )
        yield Table((title, "Spearman", "Pearson", "pairs in order"), cells)


def _controlled(row: Row) -> tuple[str, ...]:
    figures = (
        number(each.partial.value if each.partial else None, ".2f")
        + ("" if each.kept is None else f" {100 * each.kept:.0f} %")
        for each in row.confounds
    )
    return (row.metric, *figures)


def _cells(row: Row) -> tuple[str, ...]:
    name = f"{row.metric} *" if row.trivial else row.metric
    if row.spearman is None or row.pearson is None:
        return (name, "–", "–", "", "", str(row.abstained))
    return (
        name,
        _figure(row.spearman),
        f"{row.pearson.value:.3f}",
        "" if row.versus is None else f"{row.versus.value:+.3f}{_bounds(row.versus)}",
        str(row.cluster or ""),
        str(row.abstained or ""),
    )


def _notes(block: Block) -> Iterator[str]:
    for row in block.rows:
        counts = ((row.failed, "failed"), (row.missing, "without a score"))
        left = [f"{count} {what}" for count, what in counts if count]
        if row.why or left:
            yield f"{row.metric}: {'; '.join([*left, *filter(None, [row.why])])}"
    yield from (f"{row.metric}: {caveat}" for row in block.rows for caveat in row.caveats)
    if block.unrated:
        yield f"no rating of {block.aspect}: {plural(block.unrated, 'item')}"
    if block.problems:
        yield f"{plural(len(block.problems), 'record')} could not be read"


def _figure(estimate: Estimate | None) -> str:
    return "–" if estimate is None else f"{estimate.value:.3f}{_bounds(estimate)}"


def _bounds(estimate: Estimate) -> str:
    """Return an interval without leading zeros, as tables of the field write it."""
    if not estimate.interval:
        return ""
    low, high = (
        f"{bound:.2f}".replace("0.", ".", 1) if abs(bound) < 1 else f"{bound:.2f}"
        for bound in estimate.interval
    )
    return f" [{low}, {high}]"


LOCAL = ("relevance", "engagement", "commonsense")  # shipped metrics that judge replies
UNLIMITED = 500  # largest number of requests that an audit sends without asking
LEGEND = (
    "Spearman: agreement with people; log_length is a trivial baseline",
    "padding: change of the score by words without content; above 0 is verbosity bias",
    "injections: texts that ask for a good score, added to the replies with the lowest ratings;",
    "the control asks for nothing and shows the effect of length",
)


def audit(
    reference: str,
    *,
    metrics: Names = (),
    items: Count = 50,
    repeats: Count = 3,
    rubric: Sequence[str] = (),
    yes: bool = False,
    endpoints: Endpoints,
    mode: Literal["fast", "exact"] = "fast",
    cache: Path | None = None,
    output: OutputPath | None = None,
) -> Output:
    """Measure how well an LLM judge or a preset agrees with people, and its biases.

    Args:
        reference (REFERENCE): a judge, openai:MODEL@URL, or a preset such as small or medium
        metrics: those of the judge or the preset that judge replies, by default
        items (N): rated replies, of the 100 that ship
        repeats (N): how often each request to a judge is repeated
        rubric (RUBRIC): audit a criterion of your own, as in grice score; may be repeated
        yes: send more than 500 requests without a question
        output (OUT.json): all figures as one JSON object
    """
    from grice.evaluation.audit import BASELINE, audit, rated_replies
    from grice.files import cache_folder
    from grice.metrics.declaration import find_metrics
    from grice.metrics.rubrics import with_rubrics
    from grice.scoring.api import SMALL, load, load_from

    replies = rated_replies(items)
    registry, rubrics = with_rubrics(find_metrics(), rubric, reference)
    wanted = _wanted(registry, reference, (*metrics, *rubrics))
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
            agreed = yes or count <= UNLIMITED or endpoints.limit_requests is not None
            if not (agreed or confirmed(f"send {plural(count, 'request')} to {reference}?")):
                raise InputError(
                    f"{reference}: an audit of {plural(count, 'request')} was not sent: above "
                    f"{UNLIMITED} give --yes or --limit-requests N; --items N and --metrics NAME "
                    "make it smaller"
                )
            grader = stack.enter_context(loaded(terms=client_options(endpoints)))
        elif endpoints.dry_run:
            return Output([()], [Lines(["nothing would be sent"])])
        shipped = () if reference == SMALL else LOCAL
        # Without a cache, so that the times are real.
        beside = stack.enter_context(load(*shipped, BASELINE, mode=mode, cache=None))
        try:
            result = audit(reference, grader, beside, replies, repeats=repeats)
        except BaseException:
            for line in usage_lines(grader.usage, planned=False):
                note(line)
            raise
    if output is not None:
        write_rows([result], output)
    return Output([result], _audit_view(result))


def _wanted(registry: Registry, reference: str, asked: Sequence[str]) -> Sequence[str]:
    from grice.scoring.api import JUDGE_SCHEMES, named_preset

    if ":" in reference and not reference.startswith(JUDGE_SCHEMES):
        raise InputError(
            f"{reference}: write openai:MODEL@URL or model:NAME for a judge, or a preset such as "
            "small or medium"
        )
    for name in asked:
        if registry.named(name).judges != "response":
            raise MetricError(f"{name} judges conversations: only metrics of replies are audited")
    its_own = named_preset(reference).metrics
    known = its_own if reference.startswith(JUDGE_SCHEMES) else (*LOCAL, *its_own)
    return asked or [name for name in known if registry.named(name).judges == "response"]


def _audit_view(result: AuditResult) -> View:
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
    yield Lines([title], style="bold")
    for shipped in (False, True):
        group = [row for row in result.metrics if row.ships is shipped and row.metric != BASELINE]
        if group:
            yield Table(("injection", *(row.metric for row in group)), _injected(group))
    yield Lines(LEGEND, style="dim")
    for usage in result.usage:
        yield Lines(usage_lines([usage], planned=False))
    yield Lines(row.verdict for row in result.metrics if row.verdict)
    yield Lines([result.conclusion], style="bold")


def _judges_view(judges: Sequence[MetricAudit]) -> Iterator[Lines | Table]:
    rows = []
    for row in judges:
        figures = (row.same, row.first, row.own, row.changed)
        cells = ("–" if each is None else with_interval(each, ".2f") for each in figures)
        rows.append((row.metric, *cells, number(row.deviation)))
    yield Lines(["two replies compared in both orders; the same request repeated"], style="bold")
    yield Table(("judge", "same", "first", "own", "changed", "deviation"), rows)
    legend = (
        "same: the same answer in both orders; first: answers for the reply shown first, 0.5 is "
        "right; own: for the reply to this history; changed, deviation: of scores asked again"
    )
    yield Lines([legend], style="dim")


def _injected(metrics: Sequence[MetricAudit]) -> Iterator[tuple[str, ...]]:
    for effects in zip(*(row.injections for row in metrics), strict=True):
        shown = (
            f"{each.change.value:+.2f} {each.raised}/{each.judged}" if each.change else "–"
            for each in effects
        )
        yield (effects[0].injection, *shown)


def perturb(
    files: Sequence[str] = (),
    *,
    reading: Input,
    kind: Sequence[str] = (),
    seed: int = 0,
    score: str | None = None,
    speaker: Sequence[str] = (),
    resource: Sequence[str] = (),
    training: OutputPath | None = None,
    output: OutputPath | None = None,
    scoring: Scoring,
) -> Output | int:
    """Perturb conversations and record each change.

    Args:
        files (FILE): conversations; list, or no file, lists the perturbations
        kind (NAME): perturbation or mixture; may be repeated; default deam
        seed: every choice
        score (METRICS): print for each of these metrics the share of perturbed conversations that
            score lower
        resource (NAME=VALUE): file or model that a kind of a plug-in reads; may be repeated
        training (FILE.txt): each conversation and its perturbed copy, for grice train deam
        output: one conversation per line; default: standard output
    """
    from grice.evaluation.perturbed import judge_pairs, perturbed_pairs, training_lines
    from grice.perturb import material_for, named

    if list(files) in ([], ["list"]):
        return _kinds()
    scoring.metrics = score
    if score:
        check_options(scoring)
    kinds = [named(name) for name in kind or ["deam"]]
    broken: list[RecordError] = []
    sound = list(usable(conversations(files, reading), broken))
    resources: dict[str, object] = {}
    for text in resource:
        name, _, value = text.partition("=")
        if not (name and value):
            raise InputError(f"--resource {text}: write NAME=VALUE")
        resources[name] = value
    material = material_for(kinds, sound, resources)
    if output or not (score or training):
        write_rows(_perturbed(sound, kinds, seed, material), output)
    status = PARTIAL if broken else DONE
    if not (score or training):
        return status
    name = ", ".join(files)
    pairs = perturbed_pairs(name, sound, kinds, seed=seed, material=material)
    if training is not None:
        write_text("".join(training_lines(pairs)), training)
        note(f"{training}: {plural(len(pairs), 'conversation')} with a perturbed copy each")
    if not score:
        return status
    with load_grader(scoring, speaker) as grader:
        block = judge_pairs(name, pairs, grader, f",seed:{seed}")
    return Output([block], _perturbed_view(block), status)


def _perturbed(
    sound: Sequence[Conversation], kinds: Sequence[Perturbation], seed: int, material: Material
) -> Iterator[Conversation]:
    from grice.perturb import perturb_all

    for kind in kinds:
        written = 0
        for perturbed in perturb_all(sound, kind, seed=seed, material=material):
            written += 1
            yield perturbed
        whole = len(sound) - written
        left = f"; {whole:,} without a change left out" if whole else ""
        note(f"{kind.name}: {written:,} of {plural(len(sound), 'conversation')} perturbed{left}")


def _perturbed_view(block: PerturbedBlock) -> View:
    yield Lines([f"{block.data} · original scored above its perturbed version"], style="bold")
    pairs = f"{plural(block.pairs, 'pair')} of {plural(block.sources, 'conversation')}"
    about = f"{pairs}; ties count half, chance is .500; in brackets 95 % intervals"
    yield Lines([about], "dim", longest=LONGEST)
    for row in block.rows:
        rows = [(f"  {kind}", f"{hits.n:,}", _figure(hits)) for kind, hits in row.kinds.items()]
        yield Table((row.metric, "pairs", "share"), rows)
        failed = f"; {plural(row.failed, 'pair')} failed" if row.failed else ""
        yield Lines([f"ties {row.ties:.1%}{failed}"], "dim", 2, LONGEST)


def _kinds() -> Output:
    from grice.perturb import MIXTURES, find_perturbations, named

    kinds = [(kind.level, kind) for kind in find_perturbations().values()]
    kinds += [("mixtures", named(name)) for name in MIXTURES]
    order = [*dict.fromkeys(("text", "semantic", *(level for level, _ in kinds)))]
    return listing(
        {"name": kind.name, "level": level, "about": kind.summary}
        for level, kind in sorted(kinds, key=lambda pair: order.index(pair[0]))
    )
