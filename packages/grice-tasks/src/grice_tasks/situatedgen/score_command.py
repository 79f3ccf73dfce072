"""``grice situatedgen score``: a system's sentences against references."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli.output import emit_rows
from grice.errors import plural
from grice.tables import Lines, Table, bounds, estimate_fields, number
from grice_tasks.flags import add_model

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from grice.tables import View
    from grice_tasks.situatedgen.files import SituatedModels
    from grice_tasks.situatedgen.protocols import KeywordWriter
    from grice_tasks.situatedgen.scores import Row

SHIPPED = "bundle:situated"

MEASURES = (
    "match_first",
    "match_exclusive",
    "coverage",
    "bleu4",
    "bleu4_best",
    "rouge2",
    "rouge2_best",
    "rouge_l",
    "rouge_l_best",
    "meteor",
    "meteor_best",
    "cider_d",
    "cider_d_best",
    "plausibility",
)
BASELINES = ("halved", "swapped", "reference")
"""What stands beside a system's figures."""
LEGEND = (
    "match_first: the reading of the paper's example; match_exclusive: the one that",
    "writing keywords twice cannot raise. halved: the keywords cut in two, no model.",
    "swapped: the references with places or times exchanged, false by construction.",
    "..._best: in the better order of both sentences. --json has every interval.",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="samples: JSON lines with keywords, keywords_pos, statements",
    )
    parser.add_argument(
        "outputs",
        type=Path,
        metavar="OUTPUTS",
        help="JSON lines with id and output, or plain lines in order",
    )
    parser.add_argument(
        "--plausibility",
        choices=("shipped", "none"),
        default="shipped",
        help="also the learned score (default), or not",
    )
    flags.add_seed(parser, "resamples behind intervals")
    flags.add_json(parser)


@contextmanager
def opened_shipped() -> Iterator[SituatedModels]:
    """Open what ships for contrasting sentences."""
    from grice.cli.models import opened_models
    from grice_tasks.situatedgen.files import open_models

    with opened_models(keep=False) as models:
        yield open_models(models)


def add_writer(parser: argparse.ArgumentParser) -> None:
    """Add the model that writes sentences and statements."""
    add_model(parser, SHIPPED)


@contextmanager
def opened_writer(arguments: argparse.Namespace) -> Iterator[KeywordWriter]:
    """Open the model of :func:`add_writer`."""
    from grice.cli.models import opened_models
    from grice_tasks.situatedgen.protocols import KeywordWriter

    reference = arguments.model or SHIPPED
    if reference == SHIPPED:
        with opened_shipped() as shipped:
            yield shipped
    else:
        with opened_models() as models:
            yield models.open(reference, KeywordWriter)


def run(arguments: argparse.Namespace) -> int:
    """Print the scores of the system and of the baselines."""
    from grice.cli.terminal import warn
    from grice_tasks.situatedgen.files import score_files

    with opened_shipped() if arguments.plausibility == "shipped" else nullcontext() as models:
        systems = score_files(arguments.file, arguments.outputs, models=models, seed=arguments.seed)
    own = systems[0][0]
    total = own.measures["match_first"].n
    for problem, count in sorted(own.problems.items()):
        warn(f"{count:,} of {total:,}: {problem}")
    rows = [row for system in systems for row in system]
    emit_rows(_records(rows), _view(rows), as_json=arguments.json)
    return 0


def _records(rows: Sequence[Row]) -> Iterator[dict[str, object]]:
    for row in rows:
        place = {"row": row.name, "context": row.context}
        for measure, estimate in row.measures.items():
            yield {**place, "measure": measure, **estimate_fields(estimate)}
        yield {**place, "problems": row.problems}


def _view(rows: Sequence[Row]) -> View:
    """Yield a table for each kind of context: the system with its intervals, baselines beside."""
    for context in dict.fromkeys(row.context for row in rows):
        own, *baselines = (row.measures for row in rows if row.context == context)
        if len(baselines) < len(BASELINES):  # no context is known that could be exchanged
            baselines.insert(BASELINES.index("swapped"), {})
        yield Lines([f"{context}: {plural(own['match_first'].n, 'sample')}"], style="bold")
        table = [
            (
                measure,
                number(own[measure].value),
                bounds(own[measure]),
                *(number(other[measure].value if other else None) for other in baselines),
            )
            for measure in MEASURES
            if measure in own
        ]
        yield Table(("", "value", "95 %", *BASELINES), table)
    yield Lines(LEGEND, style="dim")
