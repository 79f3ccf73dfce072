"""``grice situatedgen``: contrasting sentences of place and time built, scored and generated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli.output import emit, write_or_print_lines
from grice.cli.parser import Action, add_actions, run_action
from grice.tables import Table
from grice_tasks.situatedgen import build_command, score_command
from grice_tasks.situatedgen.build_command import add_file, add_input
from grice_tasks.situatedgen.score_command import add_writer, opened_writer

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

HELP = "build, score and answer tests of contrasting sentences of place and time"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001
    """Declare the arguments of each action."""
    add_actions(
        parser,
        (
            Action(
                "score",
                "a system's sentences against references, under every reading, baselines below",
                score_command.configure,
                score_command.run,
            ),
            Action(
                "generate",
                "two sentences from each list of keywords",
                _configure_generate,
                _generate,
            ),
            *build_command.ACTIONS,
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
    from grice_tasks.situatedgen.files import generate_file

    with opened_writer(arguments) as writer:
        outputs = generate_file(arguments.file, writer)
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
