"""``grice meta-eval``: how far metrics agree with people, beside trivial baselines."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli._status import DONE, PARTIAL
from grice.cli.options import add_json, add_metric_options, add_report, loader, names, positive
from grice.cli.output import show
from grice.tables import Lines, Table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.evaluation.datasets import RatedSet
    from grice.tables import View

HELP = "correlate metrics with human ratings, beside trivial baselines"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "names",
        nargs="*",
        metavar="METRIC",
        help="metrics to judge; the trivial baselines are always there",
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
    parser.add_argument("--baseline", metavar="METRIC", help="the trivial baseline to compare with")
    parser.add_argument("--kendall", action="store_true", help="Kendall's tau-b too")
    parser.add_argument(
        "--most",
        type=positive,
        metavar="N",
        help="draw so many of the pairs of a collection of damaged texts; default all",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of that draw (default 0)")
    add_json(parser, "print the tables as JSON")
    for form in ("CSV", "LaTeX"):
        parser.add_argument(f"--{form.lower()}", type=Path, metavar="FILE", help=f"write {form}")
    add_report(parser, "write a page with the tables")
    add_metric_options(parser, words)


def run(arguments: argparse.Namespace) -> int:
    """Print the tables, and write them where asked."""
    from grice.cli._meta import block_view
    from grice.cli.terminal import warn
    from grice.errors import InputError
    from grice.evaluation.meta import meta_evaluate
    from grice.report.meta_tables import as_json, write_results

    if arguments.sets:
        show(_sets())
        return DONE
    if not arguments.on:
        raise InputError("say what to judge on: --on SET …, --on FILE or --on all (see --sets)")

    results = meta_evaluate(
        [*dict.fromkeys(names(",".join([*arguments.names, arguments.metrics or ""])))],
        arguments.on,
        load=loader(arguments),
        data=arguments.data,
        scores=arguments.scores,
        reduce=arguments.reduce,
        baseline=arguments.baseline,
        kendall=arguments.kendall,
        most=arguments.most,
        seed=arguments.seed,
        report=(lambda _: None) if arguments.json else (lambda block: show(block_view(block))),
        warn=warn,
    )
    for line in results.shared:
        warn(line)
    if arguments.json:
        sys.stdout.write(as_json(results) + "\n")
    command = shlex.join(["grice", *sys.argv[1:]])
    write_results(
        results, csv=arguments.csv, latex=arguments.latex, html=arguments.report, command=command
    )
    return PARTIAL if results.failed else DONE


def _sets() -> View:
    from grice.evaluation.damaged import DAMAGED
    from grice.evaluation.datasets import known_sets

    rated = [
        (entry.name, entry.level, _aspects(entry), entry.licence) for entry in known_sets().values()
    ]
    damaged = [
        (entry.name, entry.level, "pairs: damaged, original", entry.licence)
        for entry in DAMAGED.values()
    ]
    yield Table(("set", "level", "aspects", "licence"), [*rated, *damaged], words=4)
    yield Lines(["* taken unless told otherwise"])


def _aspects(entry: RatedSet) -> str:
    names = (f"{name}*" if name == entry.default else name for name in entry.all_aspects)
    return ", ".join(names)
