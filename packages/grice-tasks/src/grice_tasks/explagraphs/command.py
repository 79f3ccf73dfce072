"""``grice explagraphs``: explanation graphs checked, scored, drawn, counted and made."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from grice.cli.options import opened_models
from grice.cli.output import DONE, UNMET, Output, warn, write_rows, write_text
from grice.errors import plural
from grice.tables import Lines, Table, estimate_fields, number, value_and_bounds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grice.cli.derive import OutputPath
    from grice.tables import View
    from grice_tasks.explagraphs.analysis import Description, Shapes
    from grice_tasks.explagraphs.scores import Row, ScoreOptions

HELP = "check, score, draw, count or generate explanation graphs"
MODEL = "builtin:graphs"
MEASURES = (
    "sa", "stca", "ged", "g_bleu", "g_rouge_2", "g_rouge_2_released", "g_rouge_l", "g_embedding",
    "seca", "ea", "informativeness",
)  # fmt: skip
LEGEND = (
    "ged: 0 is best. nonsense: a chain of the longest words with the system's stances.",
    "polarity: the system's graphs, the stance read off the number of negations in them.",
    "nonsense, polarity: the chain, the stance read off negations in both texts.",
    "What does not clearly beat these rows shows no understanding.",
)
LEAKS = {
    "majority": "the more frequent one",
    "words": "negations in both texts, even or odd",
    "graph": "negations in the graph, even or odd",
}


def check(
    samples: Path,
    predictions: Path | None = None,
    *,
    rules: Literal["paper", "released"] = "released",
) -> Output:
    """Check graphs against the rules of structure; exit status 1 if one breaks any.

    Args:
        samples (SAMPLES): JSON lines with id, belief, argument, stance, graph; or the released .tsv
        predictions (PREDICTIONS): a system's JSON lines with id, stance, graph, or .tsv with stance
            and graph; default: the graphs of SAMPLES
    """
    from grice_tasks.explagraphs.check import check_graph
    from grice_tasks.explagraphs.samples import read_graphs

    rows, lines = [], []
    graphs = read_graphs(samples, predictions)
    for sample, graph in graphs:
        verdict = check_graph(graph, sample.belief, sample.argument, rules=rules)
        row = {name: getattr(verdict, name) for name in ("ok", "broken", "failures", "rules")}
        rows.append({"id": sample.id, **row})
        for failure in verdict.failures:
            at = "" if failure.position is None else f" at {failure.position}"
            lines.append(f"{sample.id}{at}: {failure.rule}: {failure.reason}")
    sound = sum(row["ok"] is True for row in rows)
    correct = f"{sound:,} of {plural(len(graphs), 'graph is', 'graphs are')}"
    total = Lines([f"{correct} correct under the {rules} rules"], style="bold")
    return Output(rows, [Lines(lines), total], DONE if sound == len(rows) else UNMET)


def score(
    samples: Path,
    predictions: Path,
    *,
    rules: Literal["paper", "released"] = "released",
    gate: Literal["paper", "structure", "none"] = "paper",
    embedding: str | None = None,
    by: Literal["shape"] | None = None,
    judges: str | None = None,
) -> Output:
    """A system's graphs against gold graphs, with the empty baselines below.

    Args:
        samples (SAMPLES): JSON lines with id, belief, argument, stance, graph; or the released .tsv
        predictions (PREDICTIONS): a system's JSON lines with id, stance, graph, or .tsv with stance
            and graph
        gate: what a graph must pass to be compared: stance and structure (paper), structure, or
            none
        embedding (MODEL): also g_embedding: BERTScore's matching with an encoder, such as
            builtin:encoder
        by: the system alone, by depth and linearity of the gold graph
        judges (MODEL): also seca, ea and informativeness by judges: the shipped builtin:graphs,
            which are not the published ones, or a folder of your own
    """
    from grice.models.embedded import EmbeddedEncoder
    from grice_tasks.explagraphs.classifiers import GraphJudges
    from grice_tasks.explagraphs.scores import ScoreOptions, score_files

    with opened_models() as models:
        classifiers = models.load(judges, GraphJudges) if judges else None
        options = ScoreOptions(rules, gate, classifiers=classifiers)
        rows, total = score_files(
            samples,
            predictions,
            options,
            embedding=models.load(embedding, EmbeddedEncoder) if embedding else None,
            by_shape=by == "shape",
        )
    if rows[0].missing:
        warn(f"no prediction for {rows[0].missing:,} of {plural(total, 'sample')}: left out")
    for row in rows:
        if row.inexact:
            graphs = plural(row.inexact, "graph")
            warn(f"{row.name}: the edit distance of {graphs} is an upper bound")
    name = predictions.name
    records = (
        _records({"row": name, "part": row.name} if by else {"row": row.name}, row, options)
        for row in rows
    )
    view = _parts_view(name, rows, options) if by else _rows_view(rows, options)
    return Output(chain.from_iterable(records), view)


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
            (part.name, *value_and_bounds(part.measures[measure]), f"{part.measures[measure].n:,}")
            for part in parts
            if measure in part.measures
        ]
        if rows:
            yield Table((measure, "value", "95 %", "n"), rows)


def _rows_view(rows: Sequence[Row], options: ScoreOptions) -> View:
    yield _head(plural(rows[0].measures["sa"].n, "sample"), options)
    for measure in MEASURES:
        if measure in rows[0].measures:
            cells = [(row.name, *value_and_bounds(row.measures[measure])) for row in rows]
            yield Table((measure, "value", "95 %"), cells)
    yield Lines(LEGEND, style="dim")


def draw(
    samples: Path,
    predictions: Path | None = None,
    *,
    id_: str | None = None,
    output: OutputPath | None = None,
    report: OutputPath | None = None,
) -> int:
    """One graph as SVG, or all on one page that answers to the pointer.

    Args:
        samples (SAMPLES): JSON lines with id, belief, argument, stance, graph; or the released .tsv
        predictions (PREDICTIONS): a system's JSON lines with id, stance, graph, or .tsv with stance
            and graph; default: the graphs of SAMPLES
        id_ (ID): only this sample; default: the first, on a page all
        output (FILE.svg): one graph as SVG; default: standard output
    """
    from grice_tasks.explagraphs.drawing import draw_page, draw_sample
    from grice_tasks.explagraphs.samples import read_graphs

    graphs = read_graphs(samples, predictions)
    if report is not None:
        write_text(draw_page(graphs, id_), report)
    if report is None or output is not None:
        write_text(draw_sample(graphs, id_), output)
    return DONE


def generate(
    samples: Path | None = None,
    *,
    belief: str | None = None,
    argument: str | None = None,
    stance: Literal["support", "counter"] | None = None,
    model: str = MODEL,
    models: Literal["small", "medium", "large"] | None = None,
    output: OutputPath | None = None,
) -> int:
    """A stance and a valid graph for each belief and argument, as JSON lines.

    Args:
        samples (SAMPLES): JSON lines with id, belief, argument; stance and graph are not looked at
        belief (TEXT): one belief in place of SAMPLES
        argument (TEXT): the argument for or against it
        stance: explain this stance; default: predicted
        models: the preset whose language model writes; small is a baseline without one
        output (FILE.jsonl): a graph a line; default: standard output
    """
    from grice_tasks.explagraphs.samples import GraphPredictor, samples_to_explain
    from grice_tasks.explagraphs.written import WrittenGraphs
    from grice_tasks.writer import Writer, chosen_model

    explained = samples_to_explain(samples, belief, argument)
    stances = None if stance is None else [stance] * len(explained)
    reference = chosen_model(models, model, MODEL)
    with opened_models() as opened:
        predictor: GraphPredictor
        if opened.task(reference) == "likelihood":
            predictor = WrittenGraphs(Writer.open(opened, reference))
        else:
            predictor = opened.load(reference, GraphPredictor)
        predictions = predictor.predict(explained, stances=stances)
    empty = [prediction.id for prediction in predictions if not prediction.graph]
    if empty:
        warn(
            f"{plural(len(empty), 'empty graph')}, the first of sample {empty[0]!r}: too few words "
            "to build facts from, or no relation of the schema in what the model wrote"
        )
    # With belief and argument in it, a line is a sample too: the other actions read it.
    if same := [each.id for each in explained if each.belief.split() == each.argument.split()]:
        warn(f"belief and argument are the same, so that nothing explains: {', '.join(same[:5])}")
    rows = (
        {
            "id": prediction.id,
            "belief": sample.belief,
            "argument": sample.argument,
            "stance": prediction.stance,
            "graph": prediction.graph,
        }
        for sample, prediction in zip(explained, predictions, strict=True)
    )
    write_rows(rows, output)
    return DONE


def stats(samples: Path, predictions: Path | None = None) -> Output:
    """Sizes, relations, order, and how far form gives the stance away.

    Args:
        samples (SAMPLES): JSON lines with id, belief, argument, stance, graph; or the released .tsv
        predictions (PREDICTIONS): a system's JSON lines with id, stance, graph, or .tsv with stance
            and graph; default: the graphs of SAMPLES
    """
    from grice_tasks.explagraphs.analysis import describe_graphs
    from grice_tasks.explagraphs.samples import read_graphs

    description = describe_graphs(read_graphs(samples, predictions))
    return Output([description._asdict()], _stats_view(description))


ACTIONS = (check, score, draw, stats, generate)


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
        leaks = [(LEAKS[leak.rule], *value_and_bounds(leak.share)) for leak in description.leaks]
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
