"""``grice situatedgen``: contrasting sentences of place and time built, scored and generated."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli.output import emit, emit_rows, write_or_print_lines
from grice.errors import plural
from grice.tables import Lines, Table, bounds, estimate_fields, number
from grice_tasks import flags
from grice_tasks.flags import Action, add_actions, add_model, add_rules, run_action

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from grice.tables import View
    from grice_tasks.situatedgen.models import KeywordWriter, SituatedModels
    from grice_tasks.situatedgen.scores import Row

SHIPPED = "builtin:situated"

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
"""Rows beside a system's figures."""
LEGEND = (
    "match_first: the reading of the paper's example; match_exclusive: the one that",
    "writing keywords twice cannot raise. halved: the keywords cut in two, no model.",
    "swapped: the references with places or times exchanged, false by construction.",
    "..._best: in the better order of both sentences. --json has every interval.",
)


def _configure_score(parser: argparse.ArgumentParser) -> None:
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
    from grice.cli.options import opened_models
    from grice_tasks.situatedgen.models import open_models

    with opened_models(keep=False) as models:
        yield open_models(models)


def add_writer(parser: argparse.ArgumentParser) -> None:
    """Add the model that writes sentences and statements."""
    add_model(parser, SHIPPED)


@contextmanager
def opened_writer(arguments: argparse.Namespace) -> Iterator[KeywordWriter]:
    """Open the model of :func:`add_writer`."""
    from grice.cli.options import opened_models
    from grice_tasks.situatedgen.models import KeywordWriter

    reference = arguments.model or SHIPPED
    if reference == SHIPPED:
        with opened_shipped() as shipped:
            yield shipped
    else:
        with opened_models() as models:
            yield models.load(reference, KeywordWriter)


def _score(arguments: argparse.Namespace) -> int:
    """Print the scores of the system and of the baselines."""
    from grice.cli.streams import warn
    from grice_tasks.situatedgen.scores import score_files

    with opened_shipped() if arguments.plausibility == "shipped" else nullcontext() as models:
        systems = score_files(arguments.file, arguments.outputs, models=models, seed=arguments.seed)
    own = systems[0][0]
    total = own.measures["match_first"].n
    for problem, count in sorted(own.problems.items()):
        warn(f"{count:,} of {total:,}: {problem}")
    rows = [row for system in systems for row in system]
    emit_rows(_records(rows), _score_view(rows), as_json=arguments.json)
    return 0


def _records(rows: Sequence[Row]) -> Iterator[dict[str, object]]:
    for row in rows:
        place = {"row": row.name, "context": row.context}
        for measure, estimate in row.measures.items():
            yield {**place, "measure": measure, **estimate_fields(estimate)}
        yield {**place, "problems": row.problems}


def _score_view(rows: Sequence[Row]) -> View:
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


LINES = ("FILE.jsonl", "a record a line; default: standard output")

QUESTIONS = (
    "JSON lines with id, question, answer, form (claim, yes_no, choice, fact); or id, statement; "
    "or plain lines, each a statement"
)
TITLE = "A benchmark of place and time"
SEED = 17
"""Seed of the splits, older than the default of 0 elsewhere; kept so that splits stay the same."""


def add_file(parser: argparse.ArgumentParser, about: str) -> None:
    """Add the file that an action reads."""
    parser.add_argument("file", type=Path, metavar="FILE", help=about)


def add_input(parser: argparse.ArgumentParser, about: str) -> None:
    """Add the file that an action reads, and the one that it writes."""
    add_file(parser, about)
    flags.add_output(parser, *LINES)


def _configure_build(parser: argparse.ArgumentParser) -> None:
    add_file(parser, QUESTIONS)
    add_rules(parser, "paper")
    parser.add_argument("--title", default=TITLE, help=f"of the datasheet ({TITLE})")
    flags.add_list(parser, "--source", "TEXT", "where the file is from, with its licence")
    parser.add_argument(
        "--contrast",
        choices=("shipped", "none"),
        default="shipped",
        help="drop pairs that do not depend on their context (default)",
    )
    flags.add_shared(parser, "seed", "int", SEED, "splits and the order of keywords")
    flags.add_output(parser, "FOLDER", "the splits; the folder is made if need be", required=True)
    flags.add_json(parser)


def _build(arguments: argparse.Namespace) -> int:
    from grice_tasks.situatedgen.build import build_folder

    settings = f"--rules {arguments.rules} --seed {arguments.seed}"
    with opened_shipped() as models:
        built = build_folder(
            arguments.file,
            arguments.output,
            models,
            contrast=arguments.contrast == "shipped",
            rules=arguments.rules,
            seed=arguments.seed,
            title=arguments.title,
            sources=arguments.source,
            command=f"grice situatedgen build {arguments.file.name} {settings}",
        )
    sizes = {name: len(samples) for name, samples in built.splits.items()}
    steps = Lines(f"{count:>9,}  {what}" for what, count in built.counts.items())
    pairs = Lines((f"{size:>9,}  pairs in {name}" for name, size in sizes.items()), style="bold")
    row = {"output": str(arguments.output), "counts": built.counts, "splits": sizes}
    emit(row, [steps, pairs], as_json=arguments.json)
    return 0


HELP = "build, score and solve tests of contrasting sentences on place and time"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001
    """Declare the arguments of each action."""
    add_actions(
        parser,
        (
            Action(
                "score",
                "a system's sentences against references, under every reading, baselines below",
                _configure_score,
                _score,
            ),
            Action(
                "generate",
                "two sentences from each list of keywords",
                _configure_generate,
                _generate,
            ),
            Action(
                "build",
                "a benchmark from your questions or statements",
                _configure_build,
                _build,
            ),
            Action(
                "describe",
                "tables 1 and 2 and figure 3 of a file of samples",
                _configure_describe,
                _describe,
            ),
        ),
    )


run = run_action


def _configure_generate(parser: argparse.ArgumentParser) -> None:
    add_input(parser, "samples: JSON lines with keywords")
    add_writer(parser)


def _configure_describe(parser: argparse.ArgumentParser) -> None:
    add_file(parser, "samples: JSON lines with keywords, keywords_pos, statements")
    flags.add_json(parser)


def _generate(arguments: argparse.Namespace) -> int:
    from grice_tasks.situatedgen.records import Output, read_keywords

    lines = read_keywords(arguments.file)
    with opened_writer(arguments) as writer:
        texts = writer.generate([keywords for _, keywords in lines])
    outputs = (Output(name, text) for (name, _), text in zip(lines, texts, strict=True))
    write_or_print_lines(outputs, arguments.output)
    return 0


def _describe(arguments: argparse.Namespace) -> int:
    import msgspec

    from grice_tasks.situatedgen.examples import describe
    from grice_tasks.situatedgen.records import read_samples

    statistics = describe(read_samples(arguments.file))
    figures = msgspec.to_builtins(statistics).items()
    rows = [(name.replace("_", " "), _figure(value)) for name, value in figures]
    emit(statistics, [Table(("", "figure"), rows)], as_json=arguments.json)
    return 0


def _figure(value: float | dict[str, int]) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {count:,}" for name, count in value.items())
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}"
