"""``grice explagraphs score``: a system's graphs against gold graphs."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli.output import emit_rows
from grice.errors import plural
from grice.tables import Lines, Table, bounds, estimate_fields, number
from grice_tasks.flags import add_rules

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from grice.stats.estimate import Estimate
    from grice.tables import View
    from grice_tasks.explagraphs.classifiers import GraphClassifiers
    from grice_tasks.explagraphs.files import ScoreOptions, ShapeScores
    from grice_tasks.explagraphs.scores import Row

PREDICTIONS = "a system's JSON lines with id, stance, graph, or .tsv with stance and graph"

MEASURES = (
    "sa",
    "stca",
    "ged",
    "g_bleu",
    "g_rouge_2",
    "g_rouge_2_released",
    "g_rouge_l",
    "g_embedding",
    "g_bertscore",
    "seca",
    "ea",
    "informativeness",
)
LEGEND = (
    "ged: 0 is best. nonsense: a chain of the longest words with the system's stances.",
    "polarity: the system's graphs, the stance read off the number of negations in them.",
    "nonsense, polarity: the chain, the stance read off negations in both texts.",
    "What does not clearly beat these rows shows no understanding.",
)


def add_samples(parser: argparse.ArgumentParser) -> None:
    """Add the file of samples."""
    parser.add_argument(
        "samples",
        type=Path,
        metavar="SAMPLES",
        help="JSON lines with id, belief, argument, stance, graph; or the released .tsv",
    )


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_samples(parser)
    parser.add_argument("predictions", type=Path, metavar="PREDICTIONS", help=PREDICTIONS)
    add_rules(parser, "released")
    flags.add_json(parser)
    parser.add_argument(
        "--gate",
        choices=("paper", "structure", "none"),
        default="paper",
        help="what a graph must pass to be compared: stance and structure (paper, default), "
        "structure, or none",
    )
    flags.add_switch(
        parser, "--embedding", "also g_embedding: BERTScore's matching with grice's own encoder"
    )
    flags.add_switch(
        parser, "--bertscore", "also g_bertscore: needs the package bert-score and its model"
    )
    parser.add_argument(
        "--bertscore-model",
        metavar="MODEL",
        help="a model that bert-score knows, or a folder; default: that of English",
    )
    parser.add_argument(
        "--bertscore-layer",
        metavar="N",
        type=int,
        help="whose vectors are compared; needed for a folder",
    )
    parser.add_argument(
        "--by",
        choices=("shape",),
        help="the system alone, by depth and linearity of the gold graph",
    )
    flags.add_switch(
        parser,
        "--judges",
        "also seca, ea and informativeness by the shipped judges, which are not the published ones",
    )


@contextmanager
def opened_classifiers() -> Iterator[GraphClassifiers]:
    """Open the shipped classifiers of graphs."""
    from grice.cli.models import opened_models
    from grice_tasks.explagraphs.classifiers import GraphClassifiers

    with opened_models() as models:
        yield models.open("bundle:graphs", GraphClassifiers)


def run(arguments: argparse.Namespace) -> int:
    """Print the scores of the system and of the baselines, or those by shape."""
    from grice_tasks.explagraphs.files import BertModel, ScoreOptions

    model = BertModel(arguments.bertscore_model, arguments.bertscore_layer)
    with ExitStack() as stack:
        options = ScoreOptions(
            arguments.rules,
            arguments.gate,
            arguments.embedding,
            model if arguments.bertscore else None,
            stack.enter_context(opened_classifiers()) if arguments.judges else None,
        )
        score = _score_by_shape if arguments.by == "shape" else _score
        score(arguments, options)
    return 0


def _score(arguments: argparse.Namespace, options: ScoreOptions) -> None:
    from grice.cli.terminal import warn
    from grice_tasks.explagraphs.files import score_files

    rows, total = score_files(arguments.samples, arguments.predictions, options)
    _warn_of_missing(rows[0].missing, total)
    for row in rows:
        if row.inexact:
            graphs = plural(row.inexact, "graph")
            warn(f"{row.name}: the edit distance of {graphs} is an upper bound")
    records = (_records({"row": row.name}, row.measures, options) for row in rows)
    view = _rows_view(rows, options)
    emit_rows(chain.from_iterable(records), view, as_json=arguments.json)


def _score_by_shape(arguments: argparse.Namespace, options: ScoreOptions) -> None:
    from grice_tasks.explagraphs.files import score_files_by_shape

    scores = score_files_by_shape(arguments.samples, arguments.predictions, options)
    _warn_of_missing(scores.missing, scores.total)
    name = arguments.predictions.name
    records = (
        _records({"row": name, "part": part}, measures, options)
        for part, measures in scores.parts.items()
    )
    view = _parts_view(name, scores, options)
    emit_rows(chain.from_iterable(records), view, as_json=arguments.json)


def _warn_of_missing(missing: int, total: int) -> None:
    from grice.cli.terminal import warn

    if missing:
        warn(f"no prediction for {missing:,} of {plural(total, 'sample')}: left out")


def _records(
    place: Mapping[str, str], measures: Mapping[str, Estimate], options: ScoreOptions
) -> Iterator[dict[str, object]]:
    settings = {"rules": options.rules, "gate": options.gate}
    for measure, estimate in measures.items():
        yield {**place, "measure": measure, **estimate_fields(estimate), **settings}


def _head(what: str, options: ScoreOptions) -> Lines:
    settings = f"rules {options.rules}, gate {options.gate}"
    return Lines([f"{what}; {settings}; means with 95 % intervals"], style="bold")


def _parts_view(name: str, scores: ShapeScores, options: ScoreOptions) -> View:
    yield _head(name, options)
    for measure in MEASURES:
        rows = [
            (part, *_figures(measures[measure]), f"{measures[measure].n:,}")
            for part, measures in scores.parts.items()
            if measure in measures
        ]
        if rows:
            yield Table((measure, "value", "95 %", "n"), rows)


def _figures(estimate: Estimate) -> tuple[str, str]:
    return number(estimate.value), bounds(estimate)


def _rows_view(rows: Sequence[Row], options: ScoreOptions) -> View:
    yield _head(plural(rows[0].measures["sa"].n, "sample"), options)
    for measure in MEASURES:
        if measure in rows[0].measures:
            cells = [(row.name, *_figures(row.measures[measure])) for row in rows]
            yield Table((measure, "value", "95 %"), cells)
    yield Lines(LEGEND, style="dim")
