"""LaTeX tables of a meta-evaluation, for the package ``booktabs``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.tables import bracketed, with_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.evaluation.agreement import Block, Row
    from grice.evaluation.pairs import DamagedBlock, DamagedRow
    from grice.stats.estimate import Estimate

_SPECIAL = {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}
_SPECIAL |= {char: f"\\{char}" for char in "&%$#_{}"}


def as_latex(blocks: Sequence[Block], damaged: Sequence[DamagedBlock] = ()) -> str:
    """Return a table per set, for the package ``booktabs``."""
    lines = [line for block in blocks for line in _of_ratings(block)]
    lines += [line for block in damaged for line in _of_pairs(block)]
    return "\n".join(lines)


def _framed(
    columns: str, head: str, body: Sequence[str], caption: str, size: str = ""
) -> list[str]:
    """Return the lines of a table under a head, with a blank line behind it."""
    return [
        "\\begin{table}",
        f"\\centering{size}",
        f"\\begin{{tabular}}{{{columns}}}",
        "\\toprule",
        f"{head} \\\\",
        "\\midrule",
        *(f"{line} \\\\" for line in body),
        "\\bottomrule",
        "\\end{tabular}",
        f"\\caption{{{caption}}}",
        "\\end{table}",
        "",
    ]


def _of_ratings(block: Block) -> list[str]:
    """Return a table with a line per metric."""
    head = "metric & Spearman & 95\\,\\% & Pearson & difference to the baseline & $n$"
    return _framed("lrlrlr", head, [*map(_line, block.rows)], _caption(block))


def _line(row: Row) -> str:
    if row.spearman is None or row.pearson is None:
        why = f"\\multicolumn{{4}}{{l}}{{{_tex(row.why)}}}"
        return f"{_tex(row.metric)} & {why} & {row.n}"
    versus = "" if row.versus is None else with_interval(row.versus, "+.3f", ".3f")
    return (
        f"{_named(row)} & {row.spearman.value:.3f} & {bracketed(row.spearman)} & "
        f"{row.pearson.value:.3f} & {versus} & {row.n}"
    )


def _of_pairs(block: DamagedBlock) -> list[str]:
    """Return a table with a line per kind of damage and a column per metric."""
    body = []
    for kind in block.kinds:
        accuracies = [row.kinds.get(kind) for row in block.rows]
        most = max(accuracy.n for accuracy in accuracies if accuracy is not None)
        cells = ["--" if accuracy is None else _share(accuracy) for accuracy in accuracies]
        body.append(" & ".join([_tex(kind), str(most), *cells]))
    head = " & ".join(["kind of damage", "$n$", *map(_stacked, block.rows)])
    columns = f"lr{'c' * len(block.rows)}"
    return _framed(columns, head, body, _caption_pairs(block), "\\small")


def _stacked(row: DamagedRow) -> str:
    """Return the name of a metric, one word over the other, to keep its column narrow."""
    words = [_tex(word) for word in row.metric.split("_")]
    words = [f"\\emph{{{word}}}" for word in words] if row.trivial else words
    stack = r"\\".join(words)
    return f"\\shortstack{{{stack}}}"


def _share(accuracy: Estimate) -> str:
    return f"\\shortstack{{{accuracy.value:.3f}\\\\{{\\scriptsize {bracketed(accuracy)}}}}}"


def _caption_pairs(block: DamagedBlock) -> str:
    drawn = "" if block.pairs == block.of else f" (drawn from {block.of})"
    parts = [
        f"{_tex(block.data)}, {block.level} level, {block.pairs} pairs{drawn} of {block.sources} "
        "originals, whose versions the 95\\,\\% intervals take together",
        "Share of pairs in which the original is scored above its damaged version; a tie counts "
        "half. Emphasised: trivial baselines",
    ]
    failed = [f"{_tex(row.metric)} {row.failed}" for row in block.rows if row.failed]
    parts += [f"Pairs a metric failed on are left out: {', '.join(failed)}"] * bool(failed)
    return ". ".join(parts) + "."


def _named(row: Row) -> str:
    return f"\\emph{{{_tex(row.metric)}}}" if row.trivial else _tex(row.metric)


def _caption(block: Block) -> str:
    parts = [f"{_tex(block.data)}, {_tex(block.aspect)}, {block.level} level, {block.items} items"]
    if block.groups:
        parts[0] += f" in {block.groups} groups, which the intervals take together"
    baseline = _tex(block.baseline)
    parts.append(f"Emphasised: trivial baselines; the one compared with is {baseline}")
    if block.ceiling:
        parts.append(f"Ceiling (Pearson) {with_interval(block.ceiling)}")
    return ". ".join(parts) + "."


def _tex(text: str) -> str:
    return "".join(_SPECIAL.get(char, char) for char in text)
