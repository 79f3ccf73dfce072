"""``grice situatedgen build`` and its steps: statements, mark, mine and split."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli.output import emit, write_or_print_lines
from grice.cli.parser import Action
from grice.errors import plural
from grice.tables import Lines
from grice_tasks.flags import add_rules
from grice_tasks.situatedgen.score_command import opened_shipped

if TYPE_CHECKING:
    import argparse

LINES = ("FILE.jsonl", "a record a line; default: standard output")

QUESTIONS = (
    "JSON lines with id, question, answer, form (claim, yes_no, choice, fact); or id, statement; "
    "or plain lines, each a statement"
)
TITLE = "A benchmark of place and time"
SEED = 17
"""What splits were drawn with before seeds began at 0 elsewhere: they stay as they are."""


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
    _add_folder(parser)
    flags.add_json(parser)


def _configure_statements(parser: argparse.ArgumentParser) -> None:
    add_input(parser, QUESTIONS)


def _configure_mark(parser: argparse.ArgumentParser) -> None:
    add_file(parser, "what `statements` wrote")
    flags.add_output(parser, *LINES)


def _configure_mine(parser: argparse.ArgumentParser) -> None:
    add_file(parser, "what `mark` wrote")
    parser.add_argument(
        "--search",
        choices=("exact", "nearby"),
        help="all pairs, or neighbouring cells; default: by size",
    )
    add_rules(parser, "paper")
    flags.add_seed(parser, "the first centres of cells")
    flags.add_output(parser, *LINES)


def _configure_split(parser: argparse.ArgumentParser) -> None:
    add_file(parser, "what `mine` wrote")
    parser.add_argument("marked", type=Path, metavar="MARKED", help="what `mark` wrote")
    _add_folder(parser)


def _add_folder(parser: argparse.ArgumentParser) -> None:
    flags.add_seed(parser, "splits and the order of keywords", SEED)
    flags.add_output(parser, "FOLDER", "the splits; the folder is made if need be", required=True)


def _build(arguments: argparse.Namespace) -> int:
    from grice_tasks.situatedgen.files import build_folder

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


def _statements(arguments: argparse.Namespace) -> int:
    from grice_tasks.situatedgen.files import statements_of_file

    with opened_shipped() as models:
        statements, lost = statements_of_file(arguments.file, models.context.clauses)
    warn_of(lost, "question", "without a statement: false claim or unknown form")
    write_or_print_lines(statements, arguments.output)
    return 0


def _mark(arguments: argparse.Namespace) -> int:
    from grice_tasks.situatedgen.marking import mark_statements
    from grice_tasks.situatedgen.records import Statement, read_records

    with opened_shipped() as models:
        statements = read_records(arguments.file, Statement)
        marked, without = mark_statements(statements, models.context.tagger)
    warn_of(len(without), "statement", "without context")
    write_or_print_lines(marked, arguments.output)
    return 0


def _mine(arguments: argparse.Namespace) -> int:
    from grice_tasks.situatedgen.files import mine_file

    with opened_shipped() as models:
        pairs, refused = mine_file(
            arguments.file,
            models.encoder,
            rules=arguments.rules,
            search=arguments.search,
            seed=arguments.seed,
        )
    for reason, count in sorted(refused.items()):
        warn_of(count, "pair", f"refused: {reason}")
    write_or_print_lines(pairs, arguments.output)
    return 0


def _split(arguments: argparse.Namespace) -> int:
    from grice_tasks.situatedgen.files import split_files

    between = split_files(arguments.file, arguments.marked, arguments.output, seed=arguments.seed)
    warn_of(between, "pair", "between communities")
    return 0


def warn_of(count: int, noun: str, problem: str) -> None:
    """Say how many of something have a problem, if any has."""
    from grice.cli.terminal import note

    if count:
        note(f"{plural(count, noun)} {problem}")


ACTIONS = (
    Action(
        "build",
        "a benchmark from your questions or statements, in one go",
        _configure_build,
        _build,
    ),
    Action(
        "statements",
        "step 1: statements from questions with answers",
        _configure_statements,
        _statements,
    ),
    Action(
        "mark",
        "step 2: context, keywords and masked sentences of statements",
        _configure_mark,
        _mark,
    ),
    Action("mine", "step 3: pairs of marked statements that are alike", _configure_mine, _mine),
    Action("split", "step 4: samples in splits that share no statement", _configure_split, _split),
)
"""A benchmark in one go, and step by step."""
