"""``grice train`` of a published system, with the hyper-parameters of its paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli.output import emit, show
from grice.errors import InputError, plural
from grice.tables import Lines, Table, bounds, number

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.tables import View
    from grice_research.training.published.recipes import Recipe
    from grice_research.training.published.run import PublishedReport

SYSTEMS = {
    "accent": "the extractor of ACCENT, a T5 that writes triples",
    "amr-generator": "amrlib's generator, which DEAM uses, a T5 that writes texts of AMR graphs",
    "amr-parser": "amrlib's parser, which DEAM uses, a T5 that writes AMR graphs",
    "cider-choices": "CIDER's choice among spans, a BERT or RoBERTa",
    "cider-entailment": "CIDER's entailment of triplets, a RoBERTa",
    "cider-relations": "CIDER's relations of spans, a RoBERTa or BERT",
    "cider-spans": "CIDER's reader of tails, a SpanBERT or RoBERTa",
    "comet": "COMET, a BART that writes the tails of events",
    "deam": "the classifier of DEAM, a RoBERTa that reads conversations",
    "explagraphs-graph-stance": "ExplaGraphs' stance with its graph, a RoBERTa",
    "explagraphs-rationalizing": "ExplaGraphs' graphs for a stance, a T5 or BART",
    "explagraphs-reasoning": "ExplaGraphs' graphs before the stance, a T5 or BART",
    "explagraphs-stance": "ExplaGraphs' stance of an argument, a RoBERTa",
    "predictive-engagement": "predictive engagement, a network on a frozen BERT",
    "ruber": "RUBER's unreferenced score, a network on a frozen BERT",
    "situatedgen": "SituatedGen's writer, a T5 or BART",
}
"""Published systems by the name of their recipe in ``grice_research/data/recipes``."""


def about(system: str) -> str:
    """Return what the training of a system is."""
    return f"train {SYSTEMS[system]}, as its paper did"


def configure(parser: argparse.ArgumentParser, system: str) -> None:
    """Declare the arguments."""
    parser.set_defaults(model=system)
    flags.add_files(parser, "examples, in the layout of the paper's data")
    parser.add_argument(
        "--from",
        dest="base",
        type=Path,
        metavar="FOLDER",
        help="the checkpoint to start from: config.json, *.safetensors, tokenizer.json",
    )
    flags.add_list(
        parser,
        "--test",
        "FILE",
        "examples to measure on; default: every tenth of the others",
        type=Path,
    )
    parser.add_argument(
        "--set",
        dest="changes",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="another hyper-parameter than the paper's; may be repeated",
    )
    flags.add_trust_pickle(parser)
    flags.add_output(parser, "MODEL", "the folder of the new model", required=True)
    flags.add_json(parser)
    flags.add_extras(parser, "train")


def run(arguments: argparse.Namespace) -> int:
    """Train, measure on what was left out, write the model; goes on where it was interrupted."""
    from grice_research.training.published.recipes import find_recipe
    from grice_research.training.published.run import Order, train_published

    recipe = find_recipe(arguments.model)
    if arguments.base is None:
        raise InputError(
            f"{recipe.name}: name the checkpoint to start from, --from FOLDER; the paper starts "
            f"from {recipe.base}"
        )
    order = Order(
        recipe,
        [Path(file) for file in arguments.files],
        arguments.base,
        arguments.output,
        arguments.test,
        arguments.changes,
        arguments.trust_pickle,
    )
    recipe.values(order.changes)  # before anything is printed
    if not arguments.json:
        show(_recipe_view(recipe, order.changes))
    report = train_published(order)
    emit(report, _published_view(report, arguments), as_json=arguments.json)
    return 0


def _recipe_view(recipe: Recipe, changes: Sequence[str]) -> View:
    changed = {name: value for name, _, value in (change.partition("=") for change in changes)}
    rows = [
        (name, str(changed.get(name, stated.value)), _source(stated.source, name in changed))
        for name, stated in recipe.hyperparameters.items()
    ]
    yield Lines([recipe.summary], style="bold")
    yield Table(("hyper-parameter", "value", "where it is stated"), rows, words=2)


def _source(source: str, changed: bool) -> str:  # noqa: FBT001
    return f"yours; {source}" if changed else source


def _published_view(report: PublishedReport, arguments: argparse.Namespace) -> View:
    first, last = report.curve[0], report.curve[-1]
    yield Lines(
        [
            f"{plural(report.examples, 'example')} on {report.device}: loss {first.loss:.3f} to "
            f"{last.loss:.3f} in {plural(last.step, 'step')}"
        ],
        style="bold",
    )
    rows = [
        ("before", number(report.before.value), bounds(report.before)),
        ("after", number(report.after.value), bounds(report.after)),
    ]
    yield Table((f"{report.held_out} held out", "measure", "95 % interval"), rows)
    yield Lines([f"{report.measure}; chance is 0.5"])
    yield Lines([f"model: file:{arguments.output}; curve: curve.svg in it"], style="dim")
