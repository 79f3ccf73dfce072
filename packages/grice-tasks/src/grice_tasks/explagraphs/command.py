"""``grice explagraphs``: explanation graphs checked, scored, drawn, counted and made."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli.output import emit, emit_rows, print_or_write
from grice.errors import plural
from grice.tables import Lines, Table, bounds, estimate_fields, number
from grice_tasks import flags
from grice_tasks.flags import Action, add_actions, add_model, add_rules, run_action

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from grice.stats.estimate import Estimate
    from grice.tables import View
    from grice_tasks.explagraphs.analysis import Description, Shapes
    from grice_tasks.explagraphs.check import Verdict
    from grice_tasks.explagraphs.classifiers import GraphClassifiers
    from grice_tasks.explagraphs.scores import Row, ScoreOptions

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


def _configure_score(parser: argparse.ArgumentParser) -> None:
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
    from grice.cli.options import opened_models
    from grice_tasks.explagraphs.classifiers import GraphClassifiers

    with opened_models() as models:
        yield models.load("builtin:graphs", GraphClassifiers)


def _run_score(arguments: argparse.Namespace) -> int:
    """Print the scores of the system and of the baselines, or those by shape."""
    from grice.cli.streams import warn
    from grice_tasks.explagraphs.scores import ScoreOptions, score_files

    by_shape = arguments.by == "shape"
    model = (arguments.bertscore_model, arguments.bertscore_layer)
    with ExitStack() as stack:
        classifiers = stack.enter_context(opened_classifiers()) if arguments.judges else None
        options = ScoreOptions(arguments.rules, arguments.gate, classifiers=classifiers)
        rows, total = score_files(
            arguments.samples,
            arguments.predictions,
            options,
            embedding=arguments.embedding,
            bertscore=model if arguments.bertscore else None,
            by_shape=by_shape,
        )
    if rows[0].missing:
        warn(f"no prediction for {rows[0].missing:,} of {plural(total, 'sample')}: left out")
    for row in rows:
        if row.inexact:
            graphs = plural(row.inexact, "graph")
            warn(f"{row.name}: the edit distance of {graphs} is an upper bound")
    name = arguments.predictions.name
    records = (
        _records({"row": name, "part": row.name} if by_shape else {"row": row.name}, row, options)
        for row in rows
    )
    view = _parts_view(name, rows, options) if by_shape else _rows_view(rows, options)
    emit_rows(chain.from_iterable(records), view, as_json=arguments.json)
    return 0


def _records(
    place: Mapping[str, str], row: Row, options: ScoreOptions
) -> Iterator[dict[str, object]]:
    settings = {"rules": options.rules, "gate": options.gate}
    for measure, estimate in row.measures.items():
        yield {**place, "measure": measure, **estimate_fields(estimate), **settings}


def _head(what: str, options: ScoreOptions) -> Lines:
    settings = f"rules {options.rules}, gate {options.gate}"
    return Lines([f"{what}; {settings}; means with 95 % intervals"], style="bold")


def _parts_view(name: str, parts: Sequence[Row], options: ScoreOptions) -> View:
    yield _head(name, options)
    for measure in MEASURES:
        rows = [
            (part.name, *_figures(part.measures[measure]), f"{part.measures[measure].n:,}")
            for part in parts
            if measure in part.measures
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


HELP = "check, score, draw, count or generate explanation graphs"

MODEL = "builtin:graphs"
LEAKS = {
    "majority": "the more frequent one",
    "words": "negations in both texts, even or odd",
    "graph": "negations in the graph, even or odd",
}


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001
    """Declare the arguments of each action."""
    add_actions(
        parser,
        (
            Action(
                "check",
                "which rules of structure each graph breaks, and where; exit status 1 if any",
                _configure_checking,
                _check,
            ),
            Action(
                "score",
                "a system's graphs against gold graphs, with the empty baselines below",
                _configure_score,
                _run_score,
            ),
            Action(
                "draw",
                "one graph as SVG, or all on one page that answers to the pointer",
                _configure_draw,
                _draw,
            ),
            Action(
                "stats",
                "sizes, relations, order, and how far form gives the stance away",
                _configure_rules,
                _stats,
            ),
            Action(
                "generate",
                "a stance and a valid graph for each belief and argument, as JSON lines",
                _configure_generate,
                _generate,
            ),
        ),
    )


run = run_action


def _add_graphs(parser: argparse.ArgumentParser) -> None:
    add_samples(parser)
    parser.add_argument(
        "predictions",
        type=Path,
        metavar="PREDICTIONS",
        nargs="?",
        help=f"{PREDICTIONS}; default: the graphs of SAMPLES",
    )


def _configure_checking(parser: argparse.ArgumentParser) -> None:
    _configure_rules(parser)


def _configure_rules(parser: argparse.ArgumentParser) -> None:
    _add_graphs(parser)
    add_rules(parser, "released")
    flags.add_json(parser)


def _configure_draw(parser: argparse.ArgumentParser) -> None:
    _add_graphs(parser)
    parser.add_argument(
        "--id", metavar="ID", help="only this sample; default: the first, on a page all"
    )
    flags.add_output(parser, "FILE.svg", "one graph as SVG; default: standard output")
    flags.add_report(parser)


def _configure_generate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "samples",
        type=Path,
        metavar="SAMPLES",
        nargs="?",
        help="JSON lines with id, belief, argument; stance and graph are not looked at",
    )
    parser.add_argument("--belief", help="one belief in place of SAMPLES")
    parser.add_argument("--argument", help="the argument for or against it")
    parser.add_argument(
        "--stance", choices=("support", "counter"), help="explain this stance; default: predicted"
    )
    add_model(parser, MODEL)
    flags.add_output(parser, "FILE.jsonl", "a graph a line; default: standard output")


def _check(arguments: argparse.Namespace) -> int:
    from grice_tasks.explagraphs.check import check_graph
    from grice_tasks.explagraphs.samples import read_graphs

    broken = 0
    graphs = read_graphs(arguments.samples, arguments.predictions)
    for sample, graph in graphs:
        verdict = check_graph(graph, sample.belief, sample.argument, rules=arguments.rules)
        broken += not verdict.ok
        row = {
            "id": sample.id,
            "ok": verdict.ok,
            "broken": verdict.broken,
            "failures": verdict.failures,
            "rules": verdict.rules,
        }
        emit_rows([row], _failures(sample.id, verdict), as_json=arguments.json)
    correct = f"{len(graphs) - broken:,} of {plural(len(graphs), 'graph is', 'graphs are')}"
    total = f"{correct} correct under the {arguments.rules} rules"
    emit_rows((), [Lines([total], style="bold")], as_json=arguments.json)
    return 1 if broken else 0


def _failures(name: str, verdict: Verdict) -> View:
    for failure in verdict.failures:
        at = "" if failure.position is None else f" at {failure.position}"
        yield Lines([f"{name}{at}: {failure.rule}: {failure.reason}"])


def _draw(arguments: argparse.Namespace) -> int:
    from grice.files import write_text
    from grice_tasks.explagraphs.drawing import draw_page, draw_sample
    from grice_tasks.explagraphs.samples import read_graphs

    graphs = read_graphs(arguments.samples, arguments.predictions)
    if arguments.report is not None:
        write_text(arguments.report, draw_page(graphs, arguments.id))
    if arguments.report is None or arguments.output is not None:
        print_or_write(draw_sample(graphs, arguments.id), arguments.output)
    return 0


def _generate(arguments: argparse.Namespace) -> int:
    from grice.cli.options import opened_models
    from grice.cli.streams import warn
    from grice.data import to_json
    from grice_tasks.explagraphs.samples import GraphPredictor, samples_to_explain

    samples = samples_to_explain(arguments.samples, arguments.belief, arguments.argument)
    stances = None if arguments.stance is None else [arguments.stance] * len(samples)
    reference = arguments.model or MODEL
    with opened_models() as models:
        predictor = models.load(reference, GraphPredictor)
        predictions = predictor.predict(samples, stances=stances)
    empty = [prediction.id for prediction in predictions if not prediction.graph]
    if empty:
        warn(
            f"{plural(len(empty), 'empty graph')}, the first of sample {empty[0]!r}: belief and "
            "argument have too few words to build facts from"
        )
    # With belief and argument in it, a line is a sample too: the other actions read it.
    lines = (
        {
            "id": prediction.id,
            "belief": sample.belief,
            "argument": sample.argument,
            "stance": prediction.stance,
            "graph": prediction.graph,
        }
        for sample, prediction in zip(samples, predictions, strict=True)
    )
    print_or_write("".join(f"{to_json(line)}\n" for line in lines), arguments.output)
    return 0


def _stats(arguments: argparse.Namespace) -> int:
    """Print sizes, relations, order, and how far form gives the stance away."""
    from grice_tasks.explagraphs.analysis import describe_graphs
    from grice_tasks.explagraphs.samples import read_graphs

    description = describe_graphs(read_graphs(arguments.samples, arguments.predictions))
    emit(description._asdict(), _stats_view(description), as_json=arguments.json)
    return 0


def _stats_view(description: Description) -> View:
    yield from _shapes(description.shapes)
    negated = [(stance, number(part)) for stance, part in description.negated.items()]
    yield Table(("share of negated facts", ""), negated)
    relations = description.relations
    names = {name for counts in relations.values() for name in counts}
    totals = {name: sum(counts[name] for counts in relations.values()) for name in names}
    rows = [
        (name, *(f"{counts[name]:,}" for counts in relations.values()))
        for name in sorted(names, key=lambda name: (-totals[name], name))
    ]
    yield Table(("relation", *relations), rows)
    if description.leaks:
        leaks = [
            (LEAKS[leak.rule], number(leak.share.value), bounds(leak.share))
            for leak in description.leaks
        ]
        yield Table(("stance by", "right", "95 %"), leaks)


def _shapes(shapes: Shapes) -> View:
    yield Lines([f"{plural(shapes.n, 'graph')}, {shapes.cyclic:,} with a cycle"], style="bold")
    sizes = {
        "concepts": shapes.concepts,
        "facts": shapes.facts,
        "external concepts": shapes.external,
        "depth": shapes.depth,
    }
    rows = [
        (name, str(size.least), str(size.most), number(size.mean)) for name, size in sizes.items()
    ]
    yield Table(("per graph", "least", "most", "mean"), rows)
    parts = {
        "more than a chain": shapes.non_linear,
        "with an external concept": shapes.with_external,
        "in topological order": shapes.topological,
        "in depth-first order": shapes.depth_first,
    }
    yield Table(("share of graphs", ""), [(name, number(part)) for name, part in parts.items()])
