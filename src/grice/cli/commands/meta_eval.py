"""``grice meta-eval``: how far metrics agree with people, beside trivial floors."""

from __future__ import annotations

import shlex
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli._status import PARTIAL
from grice.cli.options import add_metric_options, load_grader, positive

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.evaluation.datasets import RatedSet
    from grice.evaluation.grid import Loaded
    from grice.evaluation.meta import Block
    from grice.evaluation.pairs import DamagedBlock
    from grice.scoring import Grader

HELP = "correlate metrics with human ratings, beside trivial floors"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "names", nargs="*", metavar="METRIC", help="metrics to judge; the floors are always there"
    )
    parser.add_argument(
        "--on",
        nargs="+",
        metavar="SET[:ASPECT]",
        help="rated sets (see --sets), files of your own, or all; aspects after a colon: "
        "fed_turn:relevant,fluent or fed_turn:all",
    )
    parser.add_argument("--sets", action="store_true", help="list the rated sets and stop")
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="folder of the rated sets; default GRICE_DATA"
    )
    parser.add_argument(
        "--scores",
        action="append",
        default=[],
        metavar="[SET=]FILE",
        help="take scores from here (what grice score wrote) instead of computing them",
    )
    parser.add_argument(
        "--reduce",
        choices=("mean", "min", "last"),
        default="mean",
        help="how scores of replies become one of their conversation",
    )
    parser.add_argument("--baseline", metavar="METRIC", help="the floor to compare with")
    parser.add_argument("--kendall", action="store_true", help="Kendall's tau-b too")
    parser.add_argument(
        "--most",
        type=positive,
        metavar="N",
        help="draw so many of the pairs of a collection of damaged texts; default all",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of that draw (default 0)")
    parser.add_argument("--json", action="store_true", help="print the tables as JSON")
    for form in ("CSV", "LaTeX", "HTML"):
        parser.add_argument(f"--{form.lower()}", type=Path, metavar="FILE", help=f"write {form}")
    add_metric_options(parser, words)


def run(arguments: argparse.Namespace) -> int:
    """Print the tables, and write them where asked."""
    from grice.cli.terminal import warn
    from grice.errors import InputError
    from grice.evaluation.damaged import DAMAGED
    from grice.evaluation.datasets import data_folder, wanted_sets
    from grice.evaluation.grid import Plan, blocks, scores_from
    from grice.evaluation.meta import shared_evidence
    from grice.evaluation.pairs import judge_pairs

    if arguments.sets:
        return _list_sets()
    if not arguments.on:
        raise InputError("say what to judge on: --on SET …, --on FILE or --on all (see --sets)")
    paired = [word for word in arguments.on if word in DAMAGED]
    wanted = wanted_sets([word for word in arguments.on if word not in DAMAGED])
    known = [want.set for want in wanted if not isinstance(want.set, Path)]
    files = [scores_from(word, [entry.name for entry in known]) for word in arguments.scores]
    found: list[Block] = []
    damaged: list[DamagedBlock] = []
    with ExitStack() as stack:
        graders: dict[str, Grader] = {}

        def loaded(names: Sequence[str]) -> Loaded:
            arguments.metrics = ",".join(names)
            if arguments.metrics not in graders:
                graders[arguments.metrics] = stack.enter_context(load_grader(arguments))
            grader = graders[arguments.metrics]
            return grader, grader.signatures, grader.bundles

        asked = _names(arguments)
        plan = Plan(
            asked, loaded, files, arguments.reduce, arguments.baseline,
            arguments.kendall,
        )  # fmt: skip
        for rated, block in blocks(wanted, data_folder(arguments.data), plan):
            for problem in rated.problems[:3]:
                warn(problem)
            found.append(block)
            if not arguments.json:
                _print(block)
        for name in paired:
            folder = data_folder(arguments.data)
            damaged.append(
                judge_pairs(name, folder, plan, warn, most=arguments.most, seed=arguments.seed)
            )
            if not arguments.json:
                _print_pairs(damaged[-1])
    _write(arguments, found, damaged, shared_evidence(known))
    failed = [row.failed for block in found for row in block.rows]
    failed += [row.failed for pairs in damaged for row in pairs.rows]
    return PARTIAL if any(failed) else 0


def _names(arguments: argparse.Namespace) -> list[str]:
    """Return the metrics asked for, by position or with ``--metrics``."""
    words = [*arguments.names, *((arguments.metrics or "").split(","))]
    return list(dict.fromkeys(name.strip() for word in words for name in word.split(",")
                              if name.strip()))  # fmt: skip


def _print(block: Block) -> None:
    from grice.cli._meta import print_block

    print_block(block)


def _print_pairs(block: DamagedBlock) -> None:
    from grice.cli._meta import print_pairs

    print_pairs(block)


def _list_sets() -> int:
    from grice.cli.tables import print_lines, print_table
    from grice.evaluation.damaged import DAMAGED
    from grice.evaluation.datasets import known_sets

    rows = [(one.name, one.level, _aspects(one), one.licence) for one in known_sets().values()]
    rows += [(one.name, one.level, "pairs: damaged, original", one.licence)
             for one in DAMAGED.values()]  # fmt: skip
    print_table(("set", "level", "aspects", "licence"), rows, words=4)
    print_lines(["* taken unless told otherwise"])
    return 0


def _aspects(entry: RatedSet) -> str:
    return ", ".join(f"{one}*" if one == entry.default else one for one in entry.all_aspects)


def _write(
    arguments: argparse.Namespace,
    found: list[Block],
    damaged: list[DamagedBlock],
    shared: list[str],
) -> None:
    from datetime import UTC, datetime

    import grice
    from grice.cli.terminal import warn
    from grice.files import write_text

    for line in shared:
        warn(line)
    if arguments.json:
        sys.stdout.write(_as_json(found, damaged) + "\n")
    texts: dict[Path, str] = {}
    if arguments.csv or arguments.latex:
        from grice.report.meta_tables import as_csv, as_latex

        texts |= {arguments.csv: as_csv(found, damaged)} if arguments.csv else {}
        texts |= {arguments.latex: as_latex(found, damaged)} if arguments.latex else {}
    if arguments.html:
        from grice.report.meta_page import as_html

        texts[arguments.html] = as_html(
            found,
            damaged,
            title="Metrics against human ratings" if found else "Metrics on damaged texts",
            command=shlex.join(["grice", *sys.argv[1:]]),
            made=f"{datetime.now(UTC):%Y-%m-%d}, grice {grice.__version__}",
            shared=shared,
        )
    for path, text in texts.items():
        write_text(path, text)


def _as_json(found: list[Block], damaged: list[DamagedBlock]) -> str:
    from msgspec.structs import replace

    from grice.records import to_json

    # The points are for plots; whoever wants single values has the scores.
    rows = ([replace(row, points=()) for row in block.rows] for block in found)
    plain = [replace(block, rows=tuple(kept)) for block, kept in zip(found, rows, strict=True)]
    return to_json([*plain, *damaged])
