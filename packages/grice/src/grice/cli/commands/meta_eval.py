"""``grice meta-eval``: how far metrics agree with people, beside trivial baselines."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli._status import DONE, PARTIAL
from grice.cli.options import add_metric_options, check_options, loader, names
from grice.cli.output import emit_rows, show
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
        help="metrics to judge, by default those of grice score; the trivial baselines are always "
        "there; list alone lists the rated sets",
    )
    parser.add_argument(
        "--on",
        nargs="+",
        metavar="SET[:ASPECT]",
        help="rated sets, files of your own, or all; aspects after a colon: "
        "fed_turn:relevant,fluent or fed_turn:all",
    )
    flags.add_data(parser)
    flags.add_list(
        parser,
        "--scores",
        "[SET=]FILE",
        "take scores from here (what grice score wrote; of another tool: FILE#COLUMN) instead "
        "of computing them",
    )
    parser.add_argument(
        "--reduce",
        choices=("mean", "min", "last"),
        default="mean",
        help="how scores of replies become one of their conversation",
    )
    parser.add_argument("--baseline", metavar="METRIC", help="the trivial baseline to compare with")
    flags.add_switch(parser, "--kendall", "Kendall's tau-b too")
    flags.add_seed(parser, "resamples")
    flags.add_json(parser)
    for form in ("CSV", "LaTeX"):
        flags.add_path(parser, f"--{form.lower()}", "FILE", f"write {form}")
    flags.add_report(parser)
    add_metric_options(parser, words)


def run(arguments: argparse.Namespace) -> int:
    """Print the tables, and write them where asked."""
    from grice.cli._meta import block_view
    from grice.cli.terminal import warn
    from grice.errors import InputError
    from grice.evaluation.meta import meta_evaluate
    from grice.report.exports import as_json, write_results

    if arguments.names == ["list"]:
        emit_rows(_sets(), _sets_view(), as_json=arguments.json)
        return DONE
    if not arguments.on:
        files = [name for name in arguments.names if Path(name).is_file()]
        given = f"--on {shlex.join(files)}" if files else "--on SET …, --on FILE or --on all"
        raise InputError(f"say what to judge on: {given}; grice meta-eval list names the sets")
    judged = [*dict.fromkeys(names(",".join([*arguments.names, arguments.metrics or ""])))]
    if not judged and not arguments.scores:
        judged = list(arguments.registry.defaults())
    check_options(arguments, judged)

    results = meta_evaluate(
        judged,
        arguments.on,
        load=loader(arguments),
        data=arguments.data,
        scores=arguments.scores,
        reduce=arguments.reduce,
        baseline=arguments.baseline,
        kendall=arguments.kendall,
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


def _sets() -> list[dict[str, object]]:
    from grice.evaluation.datasets import known_sets

    return [
        {
            "set": entry.name,
            "level": entry.level,
            "aspects": list(entry.all_aspects),
            "default": entry.default,
            "licence": entry.licence,
        }
        for entry in known_sets().values()
    ]


def _sets_view() -> View:
    from grice.evaluation.datasets import known_sets

    rated = [
        (entry.name, entry.level, _aspects(entry), entry.licence) for entry in known_sets().values()
    ]
    yield Table(("set", "level", "aspects", "licence"), rated, words=4)
    yield Lines(["* taken unless told otherwise"])


def _aspects(entry: RatedSet) -> str:
    names = (f"{name}*" if name == entry.default else name for name in entry.all_aspects)
    return ", ".join(names)
