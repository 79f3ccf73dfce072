"""``grice chat``: talk with a language model, and see what a guide makes of its replies."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli._status import DONE
from grice.cli._steering import BASE, add_guide, open_base, open_guide
from grice.cli.options import add_metric_options, check_options, loader, names
from grice.cli.output import emit
from grice.tables import Lines, Table, number

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from grice.tables import View
    from grice_tasks.steering.dialogue import Answer, Reply

HELP = "talk with a language model: its replies as they are and guided, with scores"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    flags.add_model(parser, BASE)
    add_guide(parser)
    flags.add_number(parser, "--max-tokens", "N", "longest reply", 48)
    flags.add_json(parser)
    add_metric_options(parser, words)


def run(arguments: argparse.Namespace) -> int:
    """Answer each line of standard input until it ends."""
    from grice.models.protocols import SteerableLM
    from grice_tasks.steering.dialogue import Dialogue

    metrics = names(arguments.metrics)
    check_options(arguments, metrics)
    with ExitStack() as stack:
        named = arguments.model or BASE
        reference = named if ":" in named else f"model:{named}"  # one that was fetched
        model = open_base(arguments, reference, stack, SteerableLM)
        guide = None if arguments.guide is None else open_guide(arguments, model)
        grader = stack.enter_context(loader(arguments)(metrics))
        dialogue = Dialogue(
            model,
            grader.scorer,
            guide,
            strength=arguments.strength,
            max_tokens=arguments.max_tokens,
        )
        for line in _lines():
            answer = dialogue.answer(line)
            emit(answer, _view(answer), as_json=arguments.json)
            sys.stdout.flush()
    return DONE


def _lines() -> Iterator[str]:
    """Yield the lines that hold something; on a terminal each is asked for."""
    is_asked = sys.stdin.isatty()
    while True:
        if is_asked:
            sys.stderr.write("> ")
            sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            break
        if line.strip():
            yield line.strip()
    if is_asked:
        sys.stderr.write("\n")


def _view(answer: Answer) -> View:
    replies = [answer.base] if answer.guided is None else [answer.base, answer.guided]
    titles = ("base", "guided")[: len(replies)]
    values = [_values(reply) for reply in replies]
    yield Lines([f"> {answer.message}"], style="bold")
    yield Table(
        ("", *titles),
        [
            ("reply", *(reply.text or "(nothing)" for reply in replies)),
            *((name, *(number(each.get(name)) for each in values)) for name in values[0]),
        ],
        words=len(replies) + 1,
    )


def _values(reply: Reply) -> dict[str, float | None]:
    return {score.metric: score.value for score in reply.scores}
