"""``grice graph``: explanation graphs checked, scored, repaired, drawn, counted and made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli import _graph_score, _graph_stats, flags
from grice.cli.actions import Action, add_actions, run_action
from grice.cli.options import chosen_preset
from grice.cli.output import emit_rows, print_or_write
from grice.errors import plural
from grice.tables import Lines

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.tables import View
    from grice_tasks.explagraphs.check import Verdict
    from grice_tasks.explagraphs.repair import Edit, Repair

HELP = "check, score, repair, draw, count or generate explanation graphs"

MODEL = "bundle:graphs"
LANGUAGE_MODEL = "bundle:graphs-medium"
"""What a language model that is named by itself stands in."""


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
                _graph_score.configure,
                _graph_score.run,
            ),
            Action(
                "repair",
                "a few edits that make a broken graph valid; exit status 1 if one stays so",
                _configure_checking,
                _repair,
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
                _graph_stats.run,
            ),
            Action(
                "generate",
                "a stance and a valid graph for each belief and argument, as JSON lines",
                _configure_generate,
                _generate,
            ),
        ),
        extras=("graphs", "onnx", "stats", "train"),
    )


run = run_action


def _add_graphs(parser: argparse.ArgumentParser) -> None:
    _graph_score.add_samples(parser)
    parser.add_argument(
        "predictions",
        type=Path,
        metavar="PREDICTIONS",
        nargs="?",
        help=f"{_graph_score.PREDICTIONS}; default: the graphs of SAMPLES",
    )


def _configure_checking(parser: argparse.ArgumentParser) -> None:
    _configure_rules(parser)
    flags.tells_by_status(parser)


def _configure_rules(parser: argparse.ArgumentParser) -> None:
    _add_graphs(parser)
    flags.add_rules(parser, "released")
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
    flags.add_model(parser, MODEL)
    flags.add_preset(parser)
    flags.add_output(parser, "FILE.jsonl", "a graph a line; default: standard output")


def _check(arguments: argparse.Namespace) -> int:
    from grice_tasks.explagraphs.check import check_graph
    from grice_tasks.explagraphs.files import read_graphs

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


def _repair(arguments: argparse.Namespace) -> int:
    from grice_tasks.explagraphs.files import read_graphs
    from grice_tasks.explagraphs.repair import repair_graph

    lost = fixed = 0
    for sample, graph in read_graphs(arguments.samples, arguments.predictions):
        repair = repair_graph(graph, sample.belief, sample.argument, rules=arguments.rules)
        lost += repair.graph is None
        fixed += bool(repair.edits)
        row = {
            "id": sample.id,
            "graph": repair.graph,
            "edits": repair.edits,
            "broken": repair.verdict.broken,
            "reason": repair.reason,
            "smallest": repair.smallest,
        }
        emit_rows([row], _repaired(sample.id, repair), as_json=arguments.json)
    total = f"{plural(fixed, 'graph')} repaired, {lost:,} not"
    emit_rows((), [Lines([total], style="bold")], as_json=arguments.json)
    return 1 if lost else 0


def _repaired(name: str, repair: Repair) -> View:
    if repair.graph is None:
        yield Lines([f"{name}: not repaired: {repair.reason}"], style="bold red")
    elif repair.edits:
        broken = ", ".join(repair.verdict.broken)
        edits = "" if repair.smallest else f" ({len(repair.edits)} edits; fewer might do)"
        yield Lines([f"{name}: {broken}{edits}"], style="bold")
        yield Lines([*map(_edit, repair.edits), repair.graph], indent=2)


def _edit(edit: Edit) -> str:
    if edit.kind == "rewrite":  # both sides are the whole graph, which stands below
        return "rewrite: brackets, semicolons and spaces put in order"
    return f"{edit.kind}: {edit.before or '–'} → {edit.after or '–'}"


def _draw(arguments: argparse.Namespace) -> int:
    from grice.files import write_text
    from grice_tasks.explagraphs.files import draw_page, draw_sample, read_graphs

    graphs = read_graphs(arguments.samples, arguments.predictions)
    if arguments.report is not None:
        write_text(arguments.report, draw_page(graphs, arguments.id))
    if arguments.report is None or arguments.output is not None:
        print_or_write(draw_sample(graphs, arguments.id), arguments.output)
    return 0


def _generate(arguments: argparse.Namespace) -> int:
    from grice.cli.models import opened_models
    from grice.cli.terminal import warn
    from grice.records import to_json
    from grice.scoring.presets import named_preset
    from grice_tasks.explagraphs.files import samples_to_explain
    from grice_tasks.explagraphs.protocols import GraphPredictor

    samples = samples_to_explain(arguments.samples, arguments.belief, arguments.argument)
    stances = None if arguments.stance is None else [arguments.stance] * len(samples)
    preset = named_preset(chosen_preset(arguments))
    preset.check_models()
    reference = arguments.model or preset.commands.graphs or MODEL
    with opened_models() as models:
        predictor = models.open_in_place(reference, LANGUAGE_MODEL, GraphPredictor)
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
