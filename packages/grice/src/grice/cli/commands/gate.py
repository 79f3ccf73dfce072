"""``grice gate``: thresholds on scores, for builds."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli.output import emit
from grice.tables import Lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.evaluation.gate import GateResult
    from grice.tables import View

HELP = "check scores against thresholds: exit status 0 passed, 1 failed, 2 unusable input"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001
    """Declare the arguments."""
    parser.add_argument(
        "scores",
        metavar="OUT.jsonl",
        help="what grice score wrote; of another tool: FILE#COLUMN; - for stdin",
    )
    flags.add_list(
        parser,
        "--min",
        "METRIC=VALUE",
        "the low end of the 95 %% interval of the mean reaches VALUE; may be repeated",
        type=_minimum,
    )
    flags.add_list(
        parser,
        "--max-share-below",
        "METRIC:VALUE=SHARE",
        "at most SHARE of the items score below VALUE, by the high end of the interval",
        type=_share_below,
    )
    for status in ("failed", "abstained"):
        flags.add_list(
            parser,
            f"--max-{status}",
            "[METRIC=]SHARE",
            f"at most SHARE of the scores {status}, of all metrics or of one",
            type=_share,
        )
    parser.add_argument(
        "--baseline", metavar="OLD.jsonl", help="the scores of an earlier run, for --max-drop"
    )
    flags.add_list(
        parser,
        "--max-drop",
        "[METRIC=]DROP",
        "the mean is at most DROP below that of the baseline, by the low end of the "
        "interval of the difference; of all metrics or of one",
        type=_share,
    )
    flags.add_switch(
        parser, "--allow-uncertain", "let a check pass that is good, but not surely so at this n"
    )
    flags.add_path(parser, "--junit", "FILE.xml", "write JUnit XML")
    flags.add_path(parser, "--markdown", "FILE.md", "write a summary")
    flags.add_json(parser)
    flags.tells_by_status(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print each check and return 0 if all passed, else 1."""
    from grice.evaluation.gate import Rules, ShareBelow, gate_file
    from grice.files import write_text
    from grice.report.exports import junit, markdown

    wanted = Rules(
        _by_metric("--min", arguments.min),
        tuple(ShareBelow(*rule) for rule in arguments.max_share_below),
        _by_metric("--max-failed", arguments.max_failed),
        _by_metric("--max-abstained", arguments.max_abstained),
        arguments.allow_uncertain,
        _by_metric("--max-drop", arguments.max_drop),
    )
    result = gate_file(arguments.scores, wanted, arguments.baseline)
    if arguments.junit is not None:
        write_text(arguments.junit, junit(result, arguments.scores))
    if arguments.markdown is not None:
        write_text(arguments.markdown, markdown(result, arguments.scores))
    emit(result, _view(result), as_json=arguments.json)
    return 0 if result.passed else 1


def _view(result: GateResult) -> View:
    for check in result.checks:
        style = {"passed": "green", "failed": "bold red", "uncertain": "yellow"}[check.verdict]
        yield Lines([f"{check.verdict:9}  {check.metric}: {check.says}"], style=style)


def _by_metric(flag: str, thresholds: Sequence[tuple[str, float]]) -> dict[str, float]:
    """Return thresholds by metric; two for one metric are refused."""
    from grice.errors import InputError
    from grice.evaluation.gate import EVERY

    by_metric: dict[str, float] = {}
    for metric, value in thresholds:
        name = metric or EVERY
        if name in by_metric:
            pair = f"{by_metric[name]:g} and {value:g}"
            raise InputError(f"{flag}: two thresholds for {name}, {pair}")
        by_metric[name] = value
    return by_metric


def _minimum(text: str) -> tuple[str, float]:
    metric, equals, value = text.rpartition("=")
    if not (metric and equals):
        raise argparse.ArgumentTypeError(f"{text!r}: write METRIC=VALUE, such as relevance=0.6")
    return metric, _number(value, text)


def _share_below(text: str) -> tuple[str, float, float]:
    place, equals, share = text.rpartition("=")
    metric, colon, value = place.rpartition(":")
    if not (metric and colon and equals):
        raise argparse.ArgumentTypeError(
            f"{text!r}: write METRIC:VALUE=SHARE, such as relevance:0.3=0.1"
        )
    return metric, _number(value, text), _number(share, text)


def _share(text: str) -> tuple[str, float]:
    metric, _, share = text.rpartition("=")
    return metric, _number(share, text)


def _number(number: str, text: str) -> float:
    try:
        return float(number)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: {number!r} is not a number") from None
