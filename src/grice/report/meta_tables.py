"""Meta-evaluation tables for papers and spreadsheets."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

from grice.evaluation.damaged import EVERY
from grice.evaluation.trained import worst_mark

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from grice.evaluation.meta import Block, Row
    from grice.evaluation.pairs import DamagedBlock, DamagedRow
    from grice.evaluation.trained import TrainedOn
    from grice.stats.estimate import Estimate

__all__ = ["as_csv", "as_latex"]

FIELDS = (
    "data", "aspect", "level", "metric", "trivial", "n", "groups", "abstained", "failed", "missing",
    "spearman", "spearman_low", "spearman_high", "pearson", "pearson_low", "pearson_high",
    "kendall", "kendall_low", "kendall_high", "accuracy", "accuracy_low", "accuracy_high", "ties",
    "baseline", "difference", "difference_low", "difference_high", "p_value", "cluster",
    "kept_given", "ceiling", "why", "caveats", "signature", "trained_on", "chosen_on",
)  # fmt: skip


def as_csv(blocks: Sequence[Block], damaged: Sequence[DamagedBlock] = ()) -> str:
    """Return one line per metric and set, and one per metric and set at the level of systems.

    Of damaged texts there is one per metric and kind of damage, which stands as the aspect; the
    groups are the originals, and accuracy is the share of pairs with the original scored higher.
    Of systems it is the share of pairs of systems in the order of the ratings.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, FIELDS, restval="", lineterminator="\n")
    writer.writeheader()
    for record in _records(blocks, damaged):
        writer.writerow({name: _no_formula(cell) for name, cell in record.items()})
    return text.getvalue()


def _records(
    blocks: Sequence[Block], damaged: Sequence[DamagedBlock]
) -> Iterator[dict[str, object]]:
    for block in blocks:
        for row in block.rows:
            yield _record(block, row)
        for entry in block.systems:
            yield (
                {"data": block.data, "aspect": block.aspect, "level": "system",
                 "metric": entry.metric, "n": block.system_count, "why": entry.why}
                | _bounds("spearman", entry.spearman) | _bounds("pearson", entry.pearson)
                | _bounds("accuracy", entry.accuracy)
            )  # fmt: skip
    for pairs in damaged:
        for judged in pairs.rows:
            yield from _kinds(pairs, judged)


FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")
NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")


def _no_formula(cell: object) -> object:
    """Return a cell that no spreadsheet takes for a formula: behind a quote, it is text."""
    if not isinstance(cell, str) or NUMBER.fullmatch(cell) or not FORMULA.match(cell):
        return cell
    return f"'{cell}"


def _kinds(block: DamagedBlock, row: DamagedRow) -> Iterator[dict[str, object]]:
    whole = {
        "data": block.data,
        "level": block.level,
        "metric": row.metric,
        "trivial": "yes" if row.trivial else "no",
        "signature": row.signature,
    } | _models(row.trained)
    if row.every is None:
        yield whole | {"aspect": EVERY, "n": 0, "failed": row.failed, "why": "every pair failed"}
    for kind, found in row.kinds.items():
        # What is counted over all pairs stands beside their figure only.
        counted = {"failed": row.failed, "ties": _number(row.ties)} if kind == EVERY else {}
        groups = {"aspect": kind, "n": found.n, "groups": found.groups or ""}
        yield whole | groups | counted | _bounds("accuracy", found)


def _models(trained: Iterable[TrainedOn]) -> dict[str, object]:
    known = tuple(trained)
    return {
        "trained_on": "; ".join(_trained(one) for one in known),
        "chosen_on": "; ".join(_chosen(one) for one in known if one.chosen is not None),
    }


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
    } | _models(row.trained)
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


def as_latex(blocks: Sequence[Block], damaged: Sequence[DamagedBlock] = ()) -> str:
    """Return a table per set, for the package ``booktabs``."""
    lines = [line for block in blocks for line in _latex(block)]
    lines += [line for pairs in damaged for line in _latex_pairs(pairs)]
    return "\n".join(lines)


def _latex(block: Block) -> Iterator[str]:
    yield "\\begin{table}"
    yield "\\centering"
    yield "\\begin{tabular}{lrlrlr}"
    yield "\\toprule"
    yield "metric & Spearman & 95\\,\\% & Pearson & difference to the floor & $n$ \\\\"
    yield "\\midrule"
    for row in block.rows:
        if row.spearman is None or row.pearson is None:
            why = f"\\multicolumn{{4}}{{l}}{{{_tex(row.why)}}}"
            yield f"{_tex(row.metric)}{_mark(row)} & {why} & {row.n} \\\\"
            continue
        versus = "" if row.versus is None else f"{row.versus.value:+.3f} {_interval(row.versus)}"
        yield (
            f"{_named(row)} & {row.spearman.value:.3f} & {_interval(row.spearman)} & "
            f"{row.pearson.value:.3f} & {versus} & {row.n} \\\\"
        )
    yield "\\bottomrule"
    yield "\\end{tabular}"
    yield f"\\caption{{{_caption(block)}}}"
    yield "\\end{table}"
    yield ""


def _latex_pairs(block: DamagedBlock) -> Iterator[str]:
    """Yield a table with a line per kind of damage and a column per metric."""
    yield "\\begin{table}"
    yield "\\centering\\small"
    yield f"\\begin{{tabular}}{{lr{'c' * len(block.rows)}}}"
    yield "\\toprule"
    yield " & ".join(["kind of damage", "$n$", *map(_stacked, block.rows)]) + " \\\\"
    yield "\\midrule"
    for kind in block.kinds:
        found = [row.kinds.get(kind) for row in block.rows]
        most = max(one.n for one in found if one is not None)
        cells = ["--" if one is None else _share(one) for one in found]
        yield " & ".join([_tex(kind), str(most), *cells]) + " \\\\"
    yield "\\bottomrule"
    yield "\\end{tabular}"
    yield f"\\caption{{{_caption_pairs(block)}}}"
    yield "\\end{table}"
    yield ""


def _stacked(row: DamagedRow) -> str:
    """Return the name of a metric, one word over the other, to keep its column narrow."""
    words = [_tex(word) for word in row.metric.split("_")]
    words = [f"\\emph{{{word}}}" for word in words] if row.trivial else words
    stack = r"\\".join(words)
    return f"\\shortstack{{{stack}{_mark(row)}}}"


def _share(found: Estimate) -> str:
    return f"\\shortstack{{{found.value:.3f}\\\\{{\\scriptsize {_interval(found)}}}}}"


def _caption_pairs(block: DamagedBlock) -> str:
    drawn = "" if block.pairs == block.of else f" (drawn from {block.of})"
    parts = [
        f"{_tex(block.data)}, {block.level} level, {block.pairs} pairs{drawn} of {block.sources} "
        "originals, whose versions the 95\\,\\% intervals take together",
        "Share of pairs in which the original is scored above its damaged version; a tie counts "
        "half. Emphasised: trivial floors",
    ]
    failed = [f"{_tex(row.metric)} {row.failed}" for row in block.rows if row.failed]
    parts += [f"Pairs a metric failed on are left out: {', '.join(failed)}"] * bool(failed)
    return ". ".join([*parts, *_said(block.rows)]) + "."


def _mark(row: Row | DamagedRow) -> str:
    return {"!": "$^{!}$", "~": "$^{\\sim}$", "": ""}[worst_mark(row.trained)]


def _named(row: Row) -> str:
    name = f"\\emph{{{_tex(row.metric)}}}" if row.trivial else _tex(row.metric)
    return name + _mark(row)


def _said(rows: Sequence[Row | DamagedRow]) -> list[str]:
    """Return what the marks of a table mean."""
    trained = [one for row in rows for one in row.trained]
    marks = {
        "!": [one.says for one in trained if one.mark == "!"],
        "$\\sim$": [one.says for one in trained if one.mark == "~"],
    }
    return [
        f"{mark}: {'; '.join(_tex(line) for line in dict.fromkeys(said))}"
        for mark, said in marks.items()
        if said
    ]


def _caption(block: Block) -> str:
    parts = [f"{_tex(block.data)}, {_tex(block.aspect)}, {block.level} level, {block.items} items"]
    if block.groups:
        parts[0] += f" in {block.groups} groups, which the intervals take together"
    parts.append(f"Emphasised: trivial floors; the floor compared with is {_tex(block.baseline)}")
    parts += _said(block.rows)
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
