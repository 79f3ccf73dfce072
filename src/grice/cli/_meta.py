"""A meta-evaluation on the terminal, 80 columns wide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from grice.cli.terminal import console
from grice.errors import counted
from grice.evaluation.pairs import DamagedBlock
from grice.evaluation.trained import worst_mark

if TYPE_CHECKING:
    from rich.console import Console

    from grice.evaluation.agreement import Block, Row
    from grice.evaluation.confounds import Confound
    from grice.stats.estimate import Estimate

__all__ = ["print_block"]


def print_block(block: Block | DamagedBlock) -> None:
    """Print one table of a meta-evaluation."""
    out = console()
    if isinstance(block, DamagedBlock):
        _print_pairs(out, block)
    else:
        _print_rated(out, block)


def _print_rated(out: Console, block: Block) -> None:
    """Print one set and aspect: correlations, partial ones, systems."""
    out.print(f"{block.data} · {block.aspect}", style="bold")
    out.print(Text(_about(block), style="dim"))
    _print_rows(out, block)
    _print_notes(out, block)
    _print_kept(out, block)
    _print_systems(out, block)
    out.print()


def _print_pairs(out: Console, block: DamagedBlock) -> None:
    """Print one collection of damaged texts: how often each metric sees the damage, by kind."""
    out.print(f"{block.data} · original scored above its damaged version", style="bold")
    drawn = "" if block.pairs == block.of else f" (drawn from {block.of:,})"
    about = (
        f"{block.level} level, {counted(block.pairs, 'pair')}{drawn} of "
        f"{counted(block.sources, 'source')} "
        f"({sum(block.same.values())} of one text left out); ties count half, chance is .500; "
        "in brackets 95 % intervals"
    )
    out.print(Text(about, style="dim"))
    for row in block.rows:
        style = "dim" if row.trivial else ""
        table = _table(f"{row.metric} (trivial)" if row.trivial else row.metric, "pairs", "share")
        for kind, accuracy in row.kinds.items():
            table.add_row(f"  {kind}", f"{accuracy.n:,}", _estimate(accuracy), style=style)
        out.print(table)
        left = [f"ties {row.ties:.1%}"]
        left += [f"{counted(row.failed, 'pair')} failed"] * (row.failed > 0)
        left += [f"{model.mark} {model.says}" for model in row.trained if model.mark]
        out.print(Text("  " + "; ".join(left), style="dim"))
    out.print()


def _about(block: Block) -> str:
    parts = [f"{block.level} level, {counted(block.items, 'item')}"]
    if block.groups:
        parts[0] += f" in {counted(block.groups, 'group')}"
    if block.ceiling is not None:
        parts.append(f"ceiling (Pearson) {block.ceiling.value:.2f}{_bounds(block.ceiling)}")
    if block.judge is not None:
        parts.append(f"one judge (Spearman) {block.judge.value:.2f}")
    parts.append(f"baseline: {block.baseline}; in brackets 95 % intervals")
    return "; ".join(parts) + (f"\n{block.note}" if block.note else "")


def _print_rows(out: Console, block: Block) -> None:
    table = _table("metric (trivial dim)", "Spearman", "Pearson", "to baseline", "rank", "abst.")
    for row in block.rows:
        style = "dim" if row.trivial else ""
        if row.spearman is None or row.pearson is None:
            table.add_row(_name(row), "–", "–", "", "", str(row.abstained), style=style)
            continue
        table.add_row(
            _name(row),
            _estimate(row.spearman),
            f"{row.pearson.value:.3f}",
            _versus(row),
            str(row.cluster or ""),
            str(row.abstained or ""),
            style=style,
        )
    out.print(table)
    out.print()


def _name(row: Row) -> str:
    return f"{row.metric} {worst_mark(row.trained)}".rstrip()


def _table(first: str, *titles: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=0, show_edge=False)
    table.add_column(first, overflow="fold")
    for title in titles:
        table.add_column(title, justify="right", no_wrap=True)
    return table


def _versus(row: Row) -> Text:
    if row.versus is None:
        return Text("")
    low, high = row.versus.low, row.versus.high
    clear = low is not None and high is not None and (low > 0 or high < 0)
    text = f"{row.versus.value:+.3f}{_bounds(row.versus)}"
    return Text(text, style="bold" if clear and not row.trivial else "")


def _print_notes(out: Console, block: Block) -> None:
    for row in block.rows:
        counts = ((row.failed, "failed"), (row.missing, "without a score"))
        left = [f"{count} {what}" for count, what in counts if count]
        if left or row.why:
            out.print(f"  {row.metric}: " + "; ".join([*left, *([row.why] if row.why else [])]))
    for row in block.rows:
        for caveat in row.caveats:
            out.print(Text(f"  {row.metric}: {caveat}"))
    for row in block.rows:
        for model in row.trained:
            if model.mark:
                out.print(Text(f"  {model.mark} {row.metric}: {model.says}"))
    unknown = dict.fromkeys(
        model.model for row in block.rows for model in row.trained if model.overlap is None
    )
    if unknown:
        out.print(Text(f"  training texts not recorded: {', '.join(unknown)}", style="dim"))
    how = {row.reduced for row in block.rows if row.reduced}
    if how:
        out.print(Text(f"  scores of single replies: {', '.join(how)} per conversation"))
    if block.unrated:
        out.print(f"  no rating of {block.aspect}: {counted(block.unrated, 'item')}")
    if block.problems:
        out.print(f"  {counted(block.problems, 'record')} could not be read")


def _print_kept(out: Console, block: Block) -> None:
    rows = [row for row in block.rows if row.confounds and not row.trivial]
    if not rows:
        return
    table = _table("controlling for", *(confound.given for confound in rows[0].confounds))
    for row in rows:
        table.add_row(row.metric, *(_kept(confound) for confound in row.confounds))
    out.print(table)


def _kept(confound: Confound) -> str:
    if confound.partial is None:
        return "–"
    share = "" if confound.kept is None else f" {100 * confound.kept:.0f} %"
    return f"{confound.partial.value:.2f}{share}"


def _print_systems(out: Console, block: Block) -> None:
    rows = [row for row in block.systems if row.spearman is not None]
    if not rows:
        return
    if block.system_count < 4:
        systems = counted(block.system_count, "system bounds", "systems bound")
        out.print(Text(f"  {systems} no correlation of systems"))
        return
    title = f"between {block.system_count} systems"
    table = _table(title, "Spearman", "Pearson", "pairs in order")
    for row in rows:
        figures = map(_estimate, (row.spearman, row.pearson, row.accuracy))
        table.add_row(row.metric, *figures)
    out.print(table)


def _estimate(estimate: Estimate | None) -> str:
    return "–" if estimate is None else f"{estimate.value:.3f}{_bounds(estimate)}"


def _bounds(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f" [{_short(estimate.low)}, {_short(estimate.high)}]"


def _short(value: float) -> str:
    """Return two decimals without the leading zero, as tables of the field write them."""
    return f"{value:.2f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.2f}"
