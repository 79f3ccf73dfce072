"""``grice gate``: thresholds on scores, for builds."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.evaluation.gate import Rules

HELP = "hold scores against thresholds: exit status 0 passed, 1 failed, 2 unusable input"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001
    """Declare the arguments."""
    parser.add_argument("scores", metavar="OUT.jsonl", help="what grice score wrote; - for stdin")
    parser.add_argument(
        "--min",
        action="append",
        default=[],
        type=_bar,
        metavar="METRIC=BAR",
        help="the low end of the 95 %% interval of the mean reaches BAR; may be repeated",
    )
    parser.add_argument(
        "--max-share-below",
        action="append",
        default=[],
        type=_share_bar,
        metavar="METRIC:VALUE=SHARE",
        help="at most SHARE of the items score below VALUE, by the high end of the interval",
    )
    for status in ("failed", "abstained"):
        parser.add_argument(
            f"--max-{status}",
            action="append",
            default=[],
            type=_status_bar,
            metavar="[METRIC=]SHARE",
            help=f"at most SHARE of the scores {status}, of all metrics or of one",
        )
    parser.add_argument(
        "--allow-uncertain",
        action="store_true",
        help="let a check pass that is good, but not surely so at this n",
    )
    parser.add_argument("--junit", type=Path, metavar="FILE.xml", help="write JUnit XML")
    parser.add_argument("--markdown", type=Path, metavar="FILE.md", help="write a summary")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print each check and return 0 if all passed, else 1."""
    from grice.evaluation.gate import gate_file
    from grice.files import write_text
    from grice.records import to_json
    from grice.report.gate import junit, markdown

    result = gate_file(arguments.scores, _rules(arguments))
    if arguments.junit is not None:
        write_text(arguments.junit, junit(result, arguments.scores))
    if arguments.markdown is not None:
        write_text(arguments.markdown, markdown(result, arguments.scores))
    if arguments.json:
        sys.stdout.write(to_json(result) + "\n")
    else:
        from grice.cli.tables import print_lines

        for check in result.checks:
            style = {"passed": "green", "failed": "bold red", "uncertain": "yellow"}[check.verdict]
            print_lines([f"{check.verdict:9}  {check.metric}: {check.says}"], style=style)
    return 0 if result.passed else 1


def _rules(arguments: argparse.Namespace) -> Rules:
    from grice.evaluation.gate import EVERY, Bar, Rules

    return Rules(
        _once("--min", arguments.min),
        tuple(Bar(*bar) for bar in arguments.max_share_below),
        _once("--max-failed", [(one or EVERY, bar) for one, bar in arguments.max_failed]),
        _once("--max-abstained", [(one or EVERY, bar) for one, bar in arguments.max_abstained]),
        arguments.allow_uncertain,
    )


def _once(flag: str, bars: Sequence[tuple[str, float]]) -> dict[str, float]:
    """Return bars by metric; of two for one metric none is dropped in silence."""
    from grice.errors import InputError

    found: dict[str, float] = {}
    for metric, bar in bars:
        if metric in found:
            raise InputError(f"{flag}: two bars for {metric}, {found[metric]:g} and {bar:g}")
        found[metric] = bar
    return found


def _bar(text: str) -> tuple[str, float]:
    metric, equals, bar = text.rpartition("=")
    if not (metric and equals):
        raise argparse.ArgumentTypeError(f"{text!r}: write METRIC=BAR, such as relevance=0.6")
    return metric, _number(bar, text)


def _share_bar(text: str) -> tuple[str, float, float]:
    place, equals, bar = text.rpartition("=")
    metric, colon, value = place.rpartition(":")
    if not (metric and colon and equals):
        raise argparse.ArgumentTypeError(
            f"{text!r}: write METRIC:VALUE=SHARE, such as relevance:0.3=0.1"
        )
    return metric, _number(value, text), _number(bar, text)


def _status_bar(text: str) -> tuple[str, float]:
    metric, _, bar = text.rpartition("=")
    return metric, _number(bar, text)


def _number(number: str, text: str) -> float:
    try:
        return float(number)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: {number!r} is not a number") from None
