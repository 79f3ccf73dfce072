"""A meta-evaluation as lines and tables, for a terminal 80 columns wide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.errors import LONGEST, plural
from grice.tables import Lines, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice.evaluation.meta import Block, Confound, Row
    from grice.evaluation.perturbed import PerturbedBlock
    from grice.stats.estimate import Estimate
    from grice.tables import View


def block_view(block: Block) -> View:
    """Yield one set and aspect: correlations, partial ones, systems."""
    yield Lines([f"{block.data} · {block.aspect}"], style="bold")
    yield Lines(_about(block), "dim", longest=LONGEST)
    columns = ("metric (trivial dim)", "Spearman", "Pearson", "to baseline", "rank", "abst.")
    dim = frozenset(place for place, row in enumerate(block.rows) if row.trivial)
    yield Table(columns, map(_cells, block.rows), dim=dim)
    yield Lines([""])
    yield Lines(_notes(block), indent=2, longest=LONGEST)
    rows = [row for row in block.rows if row.confounds and not row.trivial]
    if rows:
        given = (confound.given for confound in rows[0].confounds)
        kept = ((row.metric, *map(_kept, row.confounds)) for row in rows)
        yield Table(("controlling for", *given), kept)
    yield from _systems(block)
    yield Lines([""])


def perturbed_view(block: PerturbedBlock) -> View:
    """Yield the share of originals scored above their perturbed version, by kind."""
    yield Lines([f"{block.data} · original scored above its perturbed version"], style="bold")
    about = (
        f"{plural(block.pairs, 'pair')} of {plural(block.sources, 'conversation')}; ties count "
        "half, chance is .500; in brackets 95 % intervals"
    )
    yield Lines([about], "dim", longest=LONGEST)
    for row in block.rows:
        rows = [(f"  {kind}", f"{hits.n:,}", _estimate(hits)) for kind, hits in row.kinds.items()]
        yield Table((row.metric, "pairs", "share"), rows)
        left = [f"ties {row.ties:.1%}"]
        left += [f"{plural(row.failed, 'pair')} failed"] * (row.failed > 0)
        yield Lines(["; ".join(left)], "dim", 2, LONGEST)
    yield Lines([""])


def _about(block: Block) -> Iterator[str]:
    parts = [f"{block.level} level, {plural(block.items, 'item')}"]
    if block.groups:
        parts[0] += f" in {plural(block.groups, 'group')}"
    if block.ceiling is not None:
        parts.append(f"ceiling (Pearson) {block.ceiling.value:.2f}{_bounds(block.ceiling)}")
    if block.judge is not None:
        parts.append(f"one judge (Spearman) {block.judge.value:.2f}")
    parts.append(f"baseline: {block.baseline}; in brackets 95 % intervals")
    yield "; ".join(parts)
    if block.note:
        yield block.note


def _cells(row: Row) -> tuple[str, ...]:
    if row.spearman is None or row.pearson is None:
        return (row.metric, "–", "–", "", "", str(row.abstained))
    return (
        row.metric,
        _estimate(row.spearman),
        f"{row.pearson.value:.3f}",
        "" if row.versus is None else f"{row.versus.value:+.3f}{_bounds(row.versus)}",
        str(row.cluster or ""),
        str(row.abstained or ""),
    )


def _notes(block: Block) -> Iterator[str]:
    for row in block.rows:
        counts = ((row.failed, "failed"), (row.missing, "without a score"))
        left = [f"{count} {what}" for count, what in counts if count]
        if left or row.why:
            yield f"{row.metric}: " + "; ".join([*left, *([row.why] if row.why else [])])
    yield from (f"{row.metric}: {caveat}" for row in block.rows for caveat in row.caveats)
    how = {row.reduced for row in block.rows if row.reduced}
    if how:
        yield f"scores of single replies: {', '.join(how)} per conversation"
    if block.unrated:
        yield f"no rating of {block.aspect}: {plural(block.unrated, 'item')}"
    if block.problems:
        yield f"{plural(block.problems, 'record')} could not be read"


def _kept(confound: Confound) -> str:
    if confound.partial is None:
        return "–"
    share = "" if confound.kept is None else f" {100 * confound.kept:.0f} %"
    return f"{confound.partial.value:.2f}{share}"


def _systems(block: Block) -> View:
    rows = [row for row in block.systems if row.spearman is not None]
    if rows and block.system_count < 4:
        systems = plural(block.system_count, "system bounds", "systems bound")
        yield Lines([f"{systems} no correlation of systems"], indent=2)
    elif rows:
        title = f"between {block.system_count} systems"
        columns = (title, "Spearman", "Pearson", "pairs in order")
        cells = [
            (row.metric, *map(_estimate, (row.spearman, row.pearson, row.accuracy))) for row in rows
        ]
        yield Table(columns, cells)


def _estimate(estimate: Estimate | None) -> str:
    return "–" if estimate is None else f"{estimate.value:.3f}{_bounds(estimate)}"


def _bounds(estimate: Estimate) -> str:
    return " [{}, {}]".format(*map(_short, estimate.interval)) if estimate.interval else ""


def _short(value: float) -> str:
    """Return two decimals without the leading zero, as tables of the field write them."""
    return f"{value:.2f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.2f}"
