"""Replies whose event commonsense people rated, as the benches of ACCENT's sets measure them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from grice.data import Triple, TripleEvidence
from grice.errors import InputError
from grice.knowledge.extraction import Exchange
from grice.metrics.commonsense import cautious_score, commonsense
from grice.scoring.loaded import load_metric, responses
from grice.stats import compare_correlations, correlation, partial_correlation, system_level
from grice_research.published import load_bench
from grice_research.rows import Row
from grice_research.triples import MODELS_OF, compatibility

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grice.data import Judgement, Response
    from grice.evaluation.datasets import Rated
    from grice.stats.estimate import Estimate
    from grice_research.context import BenchContext
    from grice_research.rows import Kind

ASPECT = "events"


PERSON = "Human"


class Replies(NamedTuple):
    """The replies of a set."""

    responses: tuple[Response, ...]
    human: tuple[float, ...]
    system: tuple[str | None, ...]
    triples: tuple[tuple[Triple, ...], ...]
    fingerprint: str

    @property
    def machine(self) -> list[bool]:
        """Whether a machine wrote each reply."""
        return [name is not None and name != PERSON for name in self.system]

    def only(self, places: Sequence[int]) -> Replies:
        """Return some of the replies, in this order."""
        return Replies(
            tuple(self.responses[place] for place in places),
            tuple(self.human[place] for place in places),
            tuple(self.system[place] for place in places),
            tuple(self.triples[place] for place in places),
            self.fingerprint,
        )


class Column(NamedTuple):
    """One value per reply."""

    row: str
    values: Sequence[float]
    counts: Sequence[int] = ()
    signature: str = ""
    why: str = ""


def read_replies(context: BenchContext, name: str) -> Replies:
    """Return the replies of a rated set."""
    rated: Rated = context.rated(name)
    human = rated.human(ASPECT)
    if None in human:
        raise InputError(f"{name}: a reply has no rating of its events")
    return Replies(
        tuple(responses(item.conversation)[-1] for item in rated.items),
        tuple(float(value) for value in human if value is not None),
        tuple(item.system for item in rated.items),
        tuple(_drawn(item.conversation.meta.get("tuples")) for item in rated.items),
        rated.fingerprint,
    )


def _drawn(tuples: object) -> tuple[Triple, ...]:
    groups = tuples.values() if isinstance(tuples, dict) else ()
    return tuple(Triple(*triple[:3]) for group in groups for triple in group)


def judged(context: BenchContext, replies: Replies) -> Column:
    """Return what the metric ``commonsense`` gives."""
    loaded = load_metric(commonsense, context.models(), {})
    judgements = loaded.judge(replies.responses)
    abstained = sum(judgement.status == "abstained" for judgement in judgements)
    counts = [len(_triples(judgement)) for judgement in judgements]
    why = f"{np.mean(counts):.1f} triples per reply, {abstained} replies not judged"
    values = [_value(judgement) for judgement in judgements]
    signature = f"{loaded.signature}|on:{replies.fingerprint}:{ASPECT}"
    return Column("commonsense", values, counts, signature, why)


def baseline(context: BenchContext, replies: Replies, name: str, metric: str) -> Column:
    """Return what another metric gives for the replies of a set, 0 where it gives nothing."""
    values = [0.0 if value is None else value for value in context.metric_values(metric, name)]
    signature = f"{context.grader(metric)[1][metric]}|on:{replies.fingerprint}:{ASPECT}"
    return Column(metric, values, signature=signature)


def exchange_of(response: Response) -> Exchange:
    """Return a reply with the turn before it, as extractors read it."""
    last = response.history[-1:]
    same = any(turn.speaker == response.speaker for turn in last)
    return Exchange(tuple(turn.text for turn in last), response.text, same)


def _value(judgement: Judgement) -> float:
    if judgement.value is None:
        raise InputError(f"commonsense failed: {judgement.reason}")
    return judgement.value


def _triples(judgement: Judgement) -> list[TripleEvidence]:
    return [piece for piece in judgement.evidence if isinstance(piece, TripleEvidence)]


def gold_column(context: BenchContext, replies: Replies) -> Column:
    """Return the metric's value of the triples that people drew, in place of its own."""
    distinct = list(dict.fromkeys(triple for each in replies.triples for triple in each))
    scores = dict(zip(distinct, compatibility(distinct, context.models()), strict=True))
    values = [cautious_score([scores[triple] for triple in each]) for each in replies.triples]
    counts = [len(each) for each in replies.triples]
    fingerprints = "|".join(
        context.models().fingerprint(name) for name in MODELS_OF["compatibility"]
    )
    return Column(
        "gold tuples",
        values,
        counts,
        f"gold tuples|{fingerprints}|on:{replies.fingerprint}",
        f"{np.mean(counts):.1f} triples per reply",
    )


def correlations(
    column: Column,
    replies: Replies,
    kind: Kind,
    published: Mapping[str, float] | None = None,
    beside: str = "",
) -> Iterator[Row]:
    """Yield correlations: of all replies, of machines', given the number of triples."""

    def row(name: str, measure: str, estimate: Estimate, printed: float | None = None) -> Row:
        return Row(
            row=column.row + name,
            measure=measure,
            estimate=estimate,
            kind=kind,
            published=printed,
            beside="" if printed is None else beside,
            why=column.why,
            signature=column.signature,
        )

    both: tuple[Literal["pearson"], Literal["spearman"]] = ("pearson", "spearman")
    for measure in both:
        whole = correlation(column.values, replies.human, kind=measure)
        yield row("", measure, whole, (published or {}).get(measure))
    machine = np.flatnonzero(replies.machine)
    values, human = np.asarray(column.values), np.asarray(replies.human)
    if 0 < len(machine) < len(values) and np.ptp(values[machine]) > 0:
        for measure in both:
            part = correlation(values[machine], human[machine], kind=measure)
            yield row(", machine replies", measure, part)
    if len(column.counts) and np.ptp(column.counts) > 0:
        given = [float(count) for count in column.counts]
        partial = partial_correlation(column.values, replies.human, [given])
        yield row(", given the number of triples", "spearman", partial)


def trivial_columns(context: BenchContext, replies: Replies, name: str) -> list[Column]:
    """Return the values that read little or nothing: length, cosine, who wrote the reply."""
    columns = [
        baseline(context, replies, name, metric) for metric in ("log_length", "cosine_last_turn")
    ]
    lengths = [float(np.log(max(1, len(response.text)))) for response in replies.responses]
    columns.append(Column("log_characters", lengths))
    if any(replies.machine) and not all(replies.machine):
        people = [float(name == PERSON) for name in replies.system]
        columns.append(Column("oracle: a person wrote it", people))
    return columns


def differences(first: Column, others: Sequence[Column], replies: Replies) -> Iterator[Row]:
    """Yield how far a column's rank correlation is above each other one's, paired bootstrap."""
    columns = {column.row: column.values for column in (first, *others)}
    compared = compare_correlations(columns, replies.human, kind="spearman", baseline=first.row)
    for comparison in compared.comparisons:
        # The comparison names the baseline on either side; here it is always the first.
        sign = 1.0 if comparison.first == first.row else -1.0
        other = comparison.second if comparison.first == first.row else comparison.first
        yield Row(
            row=f"{first.row} less {other}",
            measure="difference of spearman",
            estimate=comparison.difference if sign > 0 else -comparison.difference,
            kind="ours",
            why=f"{comparison.test}, p {comparison.p_value:.3f}",
            signature=first.signature,
        )


def systems(column: Column, replies: Replies) -> Iterator[Row]:
    """Yield how the means of the systems correlate with their mean ratings."""
    names = [name or "" for name in replies.system]
    for measure in ("pearson", "spearman"):
        level = system_level(column.values, replies.human, names, kind=measure)
        means = sorted(level.metric.items(), key=lambda entry: entry[1])
        order = " < ".join(f"{name} {value:.3f}" for name, value in means)
        yield Row(
            row=column.row,
            measure=f"system {measure}",
            estimate=level.correlation,
            kind="ours",
            why=order,
            signature=column.signature,
        )


class Printed(NamedTuple):
    """The figures that the paper prints for a set."""

    accent: Mapping[str, float]
    baselines: Mapping[str, tuple[str, Mapping[str, float]]]
    gold: Mapping[str, float] = {}


def measure_replies(context: BenchContext, name: str, figures: Printed) -> Iterator[Row]:
    """Yield ours, trivial and the paper's baselines, people's triples, and the printed figures."""
    replies = read_replies(context, name)
    whole = judged(context, replies)
    yield from correlations(whole, replies, "ours", figures.accent, "ACCENT whole")
    if any(replies.system):
        yield from systems(whole, replies)
    trivial = trivial_columns(context, replies, name)
    trivial.append(Column("number of triples found", whole.counts, signature=whole.signature))
    trivial.append(baseline(context, replies, name, "relevance"))
    for column in trivial:
        yield from correlations(column, replies, "baseline")
    yield from differences(whole, trivial, replies)
    for metric, (beside, shown) in figures.baselines.items():
        column = baseline(context, replies, name, metric)
        yield from correlations(column, replies, "baseline", shown, beside)
    if figures.gold:
        counts = [len(triples) for triples in replies.triples]
        number = Column("number of gold tuples", counts, signature=replies.fingerprint)
        gold = gold_column(context, replies)
        yield from correlations(number, replies, "baseline")
        yield from correlations(gold, replies, "ours", figures.gold, "human (gold) tuples")
        yield from differences(gold, [number], replies)
        yield from printed("table 11", f"{name}, gold tuples:{ASPECT}")
    for table in ("table 1", "table 5", "table 6"):
        yield from printed(table, f"{name}:{ASPECT}")


def printed(table: str, on: str) -> Iterator[Row]:
    """Yield the printed figures of a set in one of the paper's tables."""
    source = next(given for given in load_bench("accent").tables if given.id == table)
    columns = source.columns()
    for name, cells in source.rows().items():
        for column, cell in zip(columns, cells, strict=True):
            if column.on == on and cell is not None:
                yield Row(
                    row=f"{name} ({table})",
                    measure=column.measure,
                    estimate=None,
                    kind="printed",
                    published=cell.value,
                    why=source.why,
                )
