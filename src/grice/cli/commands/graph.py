"""``grice graph``: explanation graphs checked, scored, repaired, drawn, counted and made."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from grice.errors import plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from grice.graphs.judges import GraphJudges
    from grice.graphs.repair import Edit
    from grice.graphs.samples import Prediction, Sample
    from grice.graphs.scores import Judge, Row

HELP = "check, score, repair, draw, count or generate explanation graphs"

MEASURES = ("sa", "stca", "ged", "g_bleu", "g_rouge_2", "g_rouge_2_released", "g_rouge_l",
            "g_embedding", "g_bertscore", "seca", "ea", "substance")  # fmt: skip


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001
    """Declare the arguments of each action."""
    actions = parser.add_subparsers(metavar="ACTION", required=True, dest="action")
    for name, about in (
        ("check", "which rules of structure each graph breaks, and where; exit status 1 if any"),
        ("score", "a system's graphs against gold graphs, with the empty baselines below"),
        (
            "repair",
            "a few edits that make a broken graph valid; exit status 1 if one stays so",
        ),
        ("draw", "one graph as SVG, or all on one page that answers to the pointer"),
        ("stats", "sizes, relations, order, and how far form gives the stance away"),
    ):
        action = actions.add_parser(name, help=about, description=about)
        action.add_argument("--debug", action="store_true", help="show the trace of an error")
        action.add_argument(
            "samples", type=Path, metavar="SAMPLES",
            help="JSON lines with id, belief, argument, stance, graph; or the released .tsv",
        )  # fmt: skip
        action.add_argument(
            "predictions", type=Path, metavar="PREDICTIONS", nargs=None if name == "score" else "?",
            help="a system's JSON lines with id, stance, graph, or .tsv with stance and graph"
            + ("" if name == "score" else "; default: the graphs of SAMPLES"),
        )  # fmt: skip
        if name == "draw":
            action.add_argument("--id", help="which sample; default: the first")
            action.add_argument(
                "-o", "--output", type=Path, metavar="FILE", help="write here instead of to stdout"
            )
            action.add_argument(
                "--html", action="store_true", help="a self-contained page; all graphs without --id"
            )
            continue
        action.add_argument(
            "--rules", choices=("released", "paper"), default="released",
            help="as the official script counts (default), or as the task says",
        )  # fmt: skip
        action.add_argument("--json", action="store_true", help="print JSON lines")
        if name == "score":
            action.add_argument(
                "--gate", choices=("paper", "structure", "none"), default="paper",
                help="what a graph must pass to be compared: stance and structure (paper, "
                "default), structure, or none",
            )  # fmt: skip
            action.add_argument(
                "--embedding", action="store_true",
                help="also g_embedding: BERTScore's matching with grice's own encoder",
            )  # fmt: skip
            action.add_argument(
                "--bertscore", action="store_true",
                help="also g_bertscore: needs the package bert-score and its model",
            )  # fmt: skip
            action.add_argument(
                "--bertscore-model", metavar="MODEL",
                help="a model that bert-score knows, or a folder; default: that of English",
            )  # fmt: skip
            action.add_argument(
                "--bertscore-layer", metavar="N", type=int,
                help="whose vectors are compared; needed for a folder",
            )  # fmt: skip
            action.add_argument(
                "--by", choices=("shape",),
                help="the system alone, by depth and linearity of the gold graph",
            )  # fmt: skip
            action.add_argument(
                "--judges", action="store_true",
                help="also seca, ea and substance by the shipped judges, which are not the "
                "published ones",
            )  # fmt: skip
    _configure_generate(actions)


def _configure_generate(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    about = "a stance and a valid graph for each belief and argument, as JSON lines"
    action = actions.add_parser("generate", help=about, description=about)
    action.add_argument("--debug", action="store_true", help="show the trace of an error")
    action.add_argument(
        "samples", type=Path, metavar="SAMPLES", nargs="?",
        help="JSON lines with id, belief, argument; stance and graph are not looked at",
    )  # fmt: skip
    action.add_argument("--belief", help="one belief in place of SAMPLES")
    action.add_argument("--argument", help="the argument for or against it")
    action.add_argument(
        "--stance", choices=("support", "counter"), help="explain this stance; default: predicted"
    )
    action.add_argument(
        "-o", "--output", type=Path, metavar="FILE.jsonl", help="write here instead of to stdout"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the chosen action and return its exit status."""
    actions = {"check": _check, "score": _score, "repair": _repair, "draw": _draw,
               "stats": _stats, "generate": _generate}  # fmt: skip
    return actions[arguments.action](arguments)


def _graphs(arguments: argparse.Namespace) -> list[tuple[Sample, str]]:
    """Return each sample with each graph to look at: the system's, or its own."""
    from grice.errors import InputError
    from grice.graphs.samples import read_predictions, read_samples

    samples = read_samples(arguments.samples)
    if arguments.predictions is None:
        found = [(sample, graph) for sample in samples for graph in sample.graphs]
        if not found:
            raise InputError(f"{arguments.samples}: no sample has a graph")
        return found
    known = {sample.id: sample for sample in samples}
    found = []
    for prediction in read_predictions(arguments.predictions):
        if prediction.id not in known:
            raise InputError(
                f"{arguments.predictions}: no sample {prediction.id!r} in {arguments.samples}"
            )
        found.append((known[prediction.id], prediction.graph))
    return found


def _check(arguments: argparse.Namespace) -> int:
    from grice.cli._output import print_json
    from grice.cli._tables import print_lines
    from grice.graphs.check import check_graph

    broken = 0
    graphs = _graphs(arguments)
    for sample, graph in graphs:
        verdict = check_graph(graph, sample.belief, sample.argument, rules=arguments.rules)
        broken += not verdict.ok
        if arguments.json:
            print_json({"id": sample.id, "ok": verdict.ok, "broken": verdict.broken,
                         "failures": verdict.failures, "rules": verdict.rules})  # fmt: skip
            continue
        for failure in verdict.failures:
            at = "" if failure.position is None else f" at {failure.position}"
            print_lines([f"{sample.id}{at}: {failure.rule}: {failure.reason}"])
    if not arguments.json:
        graphs_are = plural(len(graphs), "graph is", "graphs are")
        print_lines([f"{len(graphs) - broken:,} of {graphs_are} correct under the "
                     f"{arguments.rules} rules"], style="bold")  # fmt: skip
    return 1 if broken else 0


def _score(arguments: argparse.Namespace) -> int:
    from grice.cli._output import print_json
    from grice.cli._terminal import warn
    from grice.graphs.samples import read_predictions, read_samples
    from grice.graphs.scores import OVERLAPS, score_table

    samples = read_samples(arguments.samples)
    predictions = read_predictions(arguments.predictions)
    likeness: dict[str, Callable[[str, str], float]] = dict(OVERLAPS)
    if arguments.embedding:
        from grice.graphs.embedding import TokenLikeness, facts_to_encode
        from grice.runtime.bundle import open_bundle, shipped_bundles
        from grice.runtime.embedded import EmbeddedEncoder

        bundle = open_bundle(shipped_bundles()["encoder"])
        encoder = EmbeddedEncoder(bundle, mode="fast", threads=1)
        likeness["g_embedding"] = TokenLikeness(encoder, facts_to_encode(samples, predictions))
    if arguments.bertscore:
        from grice.graphs.bertscore import bert_likeness

        likeness["g_bertscore"] = bert_likeness(
            arguments.bertscore_model, arguments.bertscore_layer
        )
    if arguments.by == "shape":
        return _score_by_shape(arguments, samples, predictions, likeness)
    with _judge(arguments) as judge:
        rows = score_table(
            samples, predictions, name=arguments.predictions.name, rules=arguments.rules,
            gate=arguments.gate, likeness=likeness, judge=judge,
        )  # fmt: skip
    if rows[0].missing:
        warn(_unanswered(rows[0].missing, len(samples)))
    for row in rows:
        if row.inexact:
            graphs = plural(row.inexact, "graph")
            warn(f"{row.name}: the edit distance of {graphs} is an upper bound")
        if arguments.json:
            for measure, found in row.measures.items():
                print_json({"row": row.name, "measure": measure, "value": found.value,
                             "low": found.low, "high": found.high, "n": found.n,
                             "rules": arguments.rules, "gate": arguments.gate})  # fmt: skip
    if not arguments.json:
        _print_rows(rows, arguments)
    return 0


def _score_by_shape(
    arguments: argparse.Namespace, samples: Sequence[Sample], predictions: Sequence[Prediction],
    likeness: Mapping[str, Callable[[str, str], float]],
) -> int:  # fmt: skip
    from grice.cli._output import print_json
    from grice.cli._tables import bounds, number, print_lines, print_table
    from grice.cli._terminal import warn
    from grice.graphs.analysis import by_shape
    from grice.graphs.scores import paired, score_samples

    pairs = paired(samples, predictions)
    answered, answers = [sample for sample, _ in pairs], {one.id: one for _, one in pairs}
    if len(answered) < len(samples):
        warn(_unanswered(len(samples) - len(answered), len(samples)))
    with _judge(arguments) as judge:
        scores = score_samples(
            answered, answers, rules=arguments.rules, gate=arguments.gate, likeness=likeness,
            judge=judge,
        )  # fmt: skip
    parts = by_shape(answered, scores)
    if arguments.json:
        for part, measures in parts.items():
            for measure, found in measures.items():
                print_json({"row": arguments.predictions.name, "part": part, "measure": measure,
                             "value": found.value, "low": found.low, "high": found.high,
                             "n": found.n, "rules": arguments.rules,
                             "gate": arguments.gate})  # fmt: skip
        return 0
    print_lines([f"{arguments.predictions.name}; rules {arguments.rules}, gate {arguments.gate}; "
                 "means with 95 % intervals"], style="bold")  # fmt: skip
    for measure in MEASURES:
        if measure in scores[0].values:
            shown = ((part, measures[measure]) for part, measures in parts.items())
            print_table(
                (measure, "value", "95 %", "n"),
                [(part, number(found.value), bounds(found), f"{found.n:,}")
                 for part, found in shown],
            )  # fmt: skip
    return 0


@contextmanager
def _opened() -> Iterator[GraphJudges]:
    from grice.cli._options import cache_folder
    from grice.scoring.models import Models, default_workers

    models = Models(mode="fast", workers=default_workers(), cache=cache_folder())
    try:
        yield models.open("bundle:graphs")  # type: ignore[misc]
    finally:
        models.close()


@contextmanager
def _judge(arguments: argparse.Namespace) -> Iterator[Judge | None]:
    if not arguments.judges:
        yield None
        return
    from functools import partial

    from grice.graphs.judged import judge

    with _opened() as judges:
        yield partial(judge, judges=judges, rules=arguments.rules, gate=arguments.gate)


def _unanswered(missing: int, total: int) -> str:
    return f"no prediction for {missing:,} of {plural(total, 'sample')}: left out"


def _print_rows(rows: Sequence[Row], arguments: argparse.Namespace) -> None:
    from grice.cli._tables import bounds, number, print_lines, print_table

    print_lines([f"{plural(rows[0].measures['sa'].n, 'sample')}; rules {arguments.rules}, gate "
                 f"{arguments.gate}; means with 95 % intervals"], style="bold")  # fmt: skip
    for measure in MEASURES:
        if measure in rows[0].measures:
            shown = (row.measures[measure] for row in rows)
            print_table(
                (measure, "value", "95 %"),
                [(row.name, number(found.value), bounds(found))
                 for row, found in zip(rows, shown, strict=True)],
            )  # fmt: skip
    print_lines([
        "ged: 0 is best. nonsense: a chain of the longest words with the system's stances.",
        "polarity: the system's graphs, the stance read off the number of negations in them.",
        "nonsense, polarity: the chain, the stance read off negations in both texts.",
        "What does not clearly beat these rows shows no understanding.",
    ], style="dim")  # fmt: skip


def _repair(arguments: argparse.Namespace) -> int:
    from grice.cli._output import print_json
    from grice.cli._tables import print_lines
    from grice.graphs.repair import repair_graph

    lost = fixed = 0
    for sample, graph in _graphs(arguments):
        found = repair_graph(graph, sample.belief, sample.argument, rules=arguments.rules)
        lost += found.graph is None
        fixed += bool(found.edits)
        if arguments.json:
            print_json({"id": sample.id, "graph": found.graph, "edits": found.edits,
                         "broken": found.verdict.broken, "reason": found.reason,
                         "smallest": found.smallest})  # fmt: skip
        elif found.graph is None:
            print_lines([f"{sample.id}: not repaired: {found.reason}"], style="bold red")
        elif found.edits:
            broken = ", ".join(found.verdict.broken)
            edits = "" if found.smallest else f" ({len(found.edits)} edits; fewer might do)"
            print_lines([f"{sample.id}: {broken}{edits}"], style="bold")
            print_lines([_edit(edit) for edit in found.edits], indent=2)
            print_lines([found.graph], indent=2)
    if not arguments.json:
        print_lines([f"{plural(fixed, 'graph')} repaired, {lost:,} not"], style="bold")
    return 1 if lost else 0


def _edit(edit: Edit) -> str:
    if edit.kind == "rewrite":  # both sides are the whole graph, which stands below
        return "rewrite: brackets, semicolons and spaces put in order"
    return f"{edit.kind}: {edit.before or '–'} → {edit.after or '–'}"


def _draw(arguments: argparse.Namespace) -> int:
    from grice.errors import InputError, did_you_mean
    from grice.graphs.drawing import draw_graph
    from grice.graphs.reader import read_graph

    graphs = _graphs(arguments)
    if arguments.html:
        from grice.graphs.viewer import Shown, graph_page

        chosen = [
            Shown(sample.id, sample.belief, sample.argument, sample.stance or "", graph)
            for sample, graph in graphs
            if arguments.id in (None, sample.id)
        ]
        if not chosen:
            names = {sample.id for sample, _ in graphs}
            raise InputError(f"no graph of a sample {arguments.id!r}"
                             f"{did_you_mean(arguments.id, names)}")  # fmt: skip
        return _write(arguments.output, graph_page(chosen))
    named = {sample.id: (sample, graph) for sample, graph in reversed(graphs)}
    wanted = graphs[0][0].id if arguments.id is None else arguments.id
    if wanted not in named:
        raise InputError(f"no graph of a sample {wanted!r}{did_you_mean(wanted, named)}")
    sample, graph = named[wanted]
    svg = draw_graph(
        read_graph(graph).graph, sample.belief, sample.argument, sample.stance or ""
    )  # fmt: skip
    return _write(arguments.output, svg)


def _write(output: Path | None, text: str) -> int:
    from grice.files import write_text

    if output is None:
        sys.stdout.write(text)
    else:
        write_text(output, text)
    return 0


def _stats(arguments: argparse.Namespace) -> int:
    from collections import Counter

    import msgspec

    from grice.cli._output import print_json
    from grice.cli._tables import bounds, number, print_lines, print_table
    from grice.graphs.analysis import leaks, negation_by_stance, relations_by_stance, shapes

    samples = [msgspec.structs.replace(sample, graphs=(graph,))
               for sample, graph in _graphs(arguments)]  # fmt: skip
    found, negated = shapes(samples), negation_by_stance(samples)
    relations = relations_by_stance(samples)
    leaked = leaks(samples) if any(sample.stance for sample in samples) else []
    if arguments.json:
        print_json({"shapes": found, "negated": negated, "relations": relations, "leaks": leaked})
        return 0
    print_lines([f"{plural(found.n, 'graph')}, {found.cyclic:,} with a cycle"], style="bold")
    print_table(("per graph", "least", "most", "mean"),
                [(name, str(part.least), str(part.most), number(part.mean))
                 for name, part in (("concepts", found.concepts), ("facts", found.facts),
                                    ("external concepts", found.external),
                                    ("depth", found.depth))])  # fmt: skip
    shares = (("more than a chain", found.non_linear), ("with an external concept",
              found.with_external), ("in topological order", found.topological),
              ("in depth-first order", found.depth_first))  # fmt: skip
    print_table(("share of graphs", ""), [(name, number(share)) for name, share in shares])
    print_table(("share of negated facts", ""), [(n, number(s)) for n, s in negated.items()])
    total = sum(relations.values(), Counter())
    names = sorted(total, key=lambda name: (-total[name], name))
    rows = [(name, *(f"{one[name]:,}" for one in relations.values())) for name in names]
    print_table(("relation", *relations), rows)
    if leaked:
        print_table(("stance by", "right", "95 %"),
                    [(LEAKS[one.rule], number(one.found.value), bounds(one.found))
                     for one in leaked])  # fmt: skip
    return 0


LEAKS = {"majority": "the more frequent one", "words": "negations in both texts, even or odd",
         "graph": "negations in the graph, even or odd"}  # fmt: skip


def _generate(arguments: argparse.Namespace) -> int:
    from grice.cli._terminal import warn
    from grice.errors import InputError
    from grice.graphs.generate import generate_graphs
    from grice.graphs.samples import Sample, read_samples
    from grice.records import to_json

    given = arguments.belief is not None or arguments.argument is not None
    if given == (arguments.samples is not None):
        raise InputError("give either SAMPLES or both --belief and --argument")
    if given and (arguments.belief is None or arguments.argument is None):
        raise InputError("--belief and --argument belong together")
    samples = (
        [Sample("0", arguments.belief, arguments.argument)]
        if given
        else read_samples(arguments.samples)
    )
    stances = None if arguments.stance is None else [arguments.stance] * len(samples)
    with _opened() as judges:
        made = generate_graphs(samples, judges, stances=stances)
    empty = [one.id for one in made if not one.graph]
    if empty:
        warn(f"{plural(len(empty), 'empty graph')}, the first of sample {empty[0]!r}: belief and "
             "argument have too few words to build facts from")  # fmt: skip
    # With belief and argument in it, a line is a sample too: the other actions read it.
    lines = (
        {"id": one.id, "belief": sample.belief, "argument": sample.argument,
         "stance": one.stance, "graph": one.graph}
        for sample, one in zip(samples, made, strict=True)
    )  # fmt: skip
    text = "".join(f"{to_json(line)}\n" for line in lines)
    return _write(arguments.output, text)
