"""Meta-evaluation tables for papers and spreadsheets."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.evaluation.meta import Block, Row
    from grice.evaluation.trained import TrainedOn
    from grice.stats.estimate import Estimate

__all__ = ["as_csv", "as_latex"]

FIELDS = (
    "data", "aspect", "level", "metric", "trivial", "n", "groups", "abstained", "failed", "missing",
    "spearman", "spearman_low", "spearman_high", "pearson", "pearson_low", "pearson_high",
    "kendall", "kendall_low", "kendall_high", "baseline", "difference", "difference_low",
    "difference_high", "p_value", "cluster", "kept_given", "ceiling", "why", "caveats",
    "signature", "trained_on", "chosen_on",
)  # fmt: skip


def as_csv(blocks: Sequence[Block]) -> str:
    """Return one line per metric and set, and one per metric and set at the level of systems."""
    text = io.StringIO()
    writer = csv.DictWriter(text, FIELDS, restval="", lineterminator="\n")
    writer.writeheader()
    for block in blocks:
        for row in block.rows:
            writer.writerow(_record(block, row))
        for entry in block.systems:
            writer.writerow(
                {"data": block.data, "aspect": block.aspect, "level": "system",
                 "metric": entry.metric, "n": block.system_count, "why": entry.why}
                | _bounds("spearman", entry.spearman) | _bounds("pearson", entry.pearson)
            )  # fmt: skip
    return text.getvalue()


def _record(block: Block, row: Row) -> dict[str, object]:
    kept = [f"{one.given} {one.kept:.3f}" for one in row.confounds if one.kept is not None]
    record: dict[str, object] = {
        "data": block.data,
        "aspect": block.aspect,
        "level": block.level,
        "metric": row.metric,
        "trivial": "yes" if row.trivial else "no",
        "n": row.n,
        "groups": block.groups or "",
        "abstained": row.abstained,
        "failed": row.failed,
        "missing": row.missing,
        "baseline": block.baseline,
        "p_value": "" if row.p_value is None else f"{row.p_value:.6g}",
        "cluster": row.cluster or "",
        "kept_given": "; ".join(kept),
        "ceiling": _number(block.ceiling.value) if block.ceiling else "",
        "why": row.why,
        "caveats": "; ".join(row.caveats),
        "signature": row.signature,
        "trained_on": "; ".join(_trained(one) for one in row.trained),
        "chosen_on": "; ".join(_chosen(one) for one in row.trained if one.chosen is not None),
    }
    for name, estimate in (
        ("spearman", row.spearman),
        ("pearson", row.pearson),
        ("kendall", row.kendall),
        ("difference", row.versus),
    ):
        record |= _bounds(name, estimate)
    return record


def _trained(one: TrainedOn) -> str:
    if one.overlap is None:
        return f"{one.model} {one.says}"
    share = one.overlap.share
    return f"{one.model} {'not told' if share is None else _number(share.value)}"


def _chosen(one: TrainedOn) -> str:
    share = None if one.chosen is None else one.chosen.share
    return f"{one.model} {'not told' if share is None else _number(share.value)}"


def _bounds(name: str, estimate: Estimate | None) -> dict[str, object]:
    if estimate is None:
        return {}
    return {
        name: _number(estimate.value),
        f"{name}_low": "" if estimate.low is None else _number(estimate.low),
        f"{name}_high": "" if estimate.high is None else _number(estimate.high),
    }


def _number(value: float) -> str:
    return f"{value:.6f}"


def as_latex(blocks: Sequence[Block]) -> str:
    """Return a table per set, for the package ``booktabs``."""
    return "\n".join(line for block in blocks for line in _latex(block))


def _latex(block: Block) -> Iterator[str]:
    yield "\\begin{table}"
    yield "\\centering"
    yield "\\begin{tabular}{lrlrlr}"
    yield "\\toprule"
    yield "metric & Spearman & 95\\,\\% & Pearson & difference to the floor & $n$ \\\\"
    yield "\\midrule"
    for row in block.rows:
        mark = "$^{!}$" if row.marked else "$^{\\sim}$" if row.chosen_on else ""
        if row.spearman is None or row.pearson is None:
            why = f"\\multicolumn{{4}}{{l}}{{{_tex(row.why)}}}"
            yield f"{_tex(row.metric)}{mark} & {why} & {row.n} \\\\"
            continue
        versus = "" if row.versus is None else f"{row.versus.value:+.3f} {_interval(row.versus)}"
        name = f"\\emph{{{_tex(row.metric)}}}" if row.trivial else _tex(row.metric)
        yield (
            f"{name}{mark} & {row.spearman.value:.3f} & {_interval(row.spearman)} & "
            f"{row.pearson.value:.3f} & {versus} & {row.n} \\\\"
        )
    yield "\\bottomrule"
    yield "\\end{tabular}"
    yield f"\\caption{{{_caption(block)}}}"
    yield "\\end{table}"
    yield ""


def _caption(block: Block) -> str:
    parts = [f"{_tex(block.data)}, {_tex(block.aspect)}, {block.level} level, {block.items} items"]
    if block.groups:
        parts[0] += f" in {block.groups} groups, which are resampled together"
    parts.append(f"Emphasised: trivial floors; the floor compared with is {_tex(block.baseline)}")
    marked = [one for row in block.rows for one in row.trained]
    said = [one.says for one in marked if one.marked]
    if said:
        parts.append(f"!: {'; '.join(_tex(one) for one in dict.fromkeys(said))}")
    said = [one.says for one in marked if one.chosen_on and not one.marked]
    if said:
        parts.append(f"$\\sim$: {'; '.join(_tex(one) for one in dict.fromkeys(said))}")
    if block.ceiling:
        parts.append(f"Ceiling (Pearson) {block.ceiling.value:.3f} {_interval(block.ceiling)}")
    return ". ".join(parts) + "."


def _interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f"[{estimate.low:.3f}, {estimate.high:.3f}]"


_SPECIAL = {
    "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}",
    **{char: f"\\{char}" for char in "&%$#_{}"},
}  # fmt: skip


def _tex(text: str) -> str:
    return "".join(_SPECIAL.get(char, char) for char in text)
