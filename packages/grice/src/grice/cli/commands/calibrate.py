"""``grice calibrate``: scores on the scale of your raters, each with a band."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli.options import names
from grice.cli.output import emit, write_or_print_lines
from grice.errors import InputError
from grice.tables import Lines, Table, bounds, number

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.evaluation.calibrate import Calibration, MetricMap
    from grice.tables import View

HELP = "map scores to the scale of your raters, from a few ratings"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001
    """Declare the arguments."""
    flags.add_files(
        parser,
        "LABELS.jsonl OUT.jsonl to fit a map; with --apply OUT.jsonl alone; scores of another "
        "tool are FILE#COLUMN",
    )
    flags.add_output(parser, "FILE", "the map; with --apply the calibrated scores, a line each")
    parser.add_argument("--apply", metavar="MAP.json", help="apply this map")
    flags.add_metrics(parser)
    flags.add_scale(parser)
    flags.add_level(parser, 0.9)
    flags.add_across_signatures(parser)
    flags.add_seed(parser, "every split")
    flags.add_json(parser)
    flags.add_extras(parser, "stats")


def run(arguments: argparse.Namespace) -> int:
    """Fit a map, or apply one."""
    if arguments.apply is not None:
        return _apply(arguments)
    from grice.evaluation.calibrate import calibrate
    from grice.files import write_text
    from grice.records import to_json

    if len(arguments.files) != 2:
        raise InputError(
            "to fit a map give two files, grice calibrate LABELS.jsonl OUT.jsonl -o MAP.json; to "
            "apply one, grice calibrate --apply MAP.json OUT.jsonl"
        )
    calibration = calibrate(
        *arguments.files,
        metrics=names(arguments.metrics),
        scale=None if arguments.scale is None else tuple(arguments.scale),
        level=arguments.level,
        seed=arguments.seed,
    )
    if arguments.output is not None:
        write_text(arguments.output, to_json(calibration) + "\n")
    emit(calibration, _view(calibration), as_json=arguments.json)
    return 0


def _apply(arguments: argparse.Namespace) -> int:
    from grice.evaluation.calibrate import apply, read_calibration

    if len(arguments.files) != 1:
        raise InputError("--apply takes one file of scores, as grice score wrote it")
    rows = apply(
        read_calibration(arguments.apply),
        arguments.files[0],
        across_signatures=arguments.across_signatures,
    )
    write_or_print_lines(rows, arguments.output)
    return 0


def _view(calibration: Calibration) -> View:
    band = f"{calibration.maps[0].map.level:.0%} band"
    columns = ("metric", "Spearman", "95 % interval", "ratings", band, "n")
    yield Table(columns, map(_row, calibration.maps))
    if calibration.blend is not None:
        weights = (f"{name} {weight:.3g}" for name, weight in calibration.blend.weights.items())
        yield Lines([f"weights of the blend: {', '.join(weights)}"])
    yield Lines(calibration.says)


def _row(fitted: MetricMap) -> Sequence[str]:
    ratings, radius = fitted.map.ratings, fitted.map.radius
    correlation = fitted.correlation
    return (
        fitted.metric,
        number(correlation.value if correlation else None, "+.2f"),
        bounds(correlation, "+.2f"),
        f"{ratings[0]:.2f} – {ratings[-1]:.2f}",
        "whole scale" if radius is None else f"± {radius:.2f}",
        f"{fitted.n:,}",
    )
