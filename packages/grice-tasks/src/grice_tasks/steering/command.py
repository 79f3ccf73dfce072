"""``grice steer``: a language model's replies as they are and guided, with scores.

Each line of standard input is answered; with ``--candidates N`` a model writes N replies for each
context of files, for ``grice rerank``.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

from grice.cli.derive import names
from grice.cli.options import add_metric_options, check_options, loader, models_as_asked
from grice.cli.output import emit, write_or_print_lines
from grice.cli.streams import DONE, PARTIAL
from grice.errors import InputError, RecordError
from grice.tables import Lines, Table, number
from grice_tasks import flags
from grice_tasks.flags import add_model

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from grice.data import Conversation
    from grice.tables import View
    from grice_tasks.steering.decoding import SteerableLM
    from grice_tasks.steering.dialogue import Answer, Reply
    from grice_tasks.steering.guide import Guide

HELP = "chat with a language model, with and without guidance, with scores"
BASE = "model:medium"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="contexts to be answered, for --candidates"
    )
    add_model(parser, BASE)
    flags.add_path(
        parser, "--guide", "DIR", "steer the model by a guide that grice train guide made"
    )
    flags.add_number(
        parser,
        "--strength",
        "S",
        "exponent of the guide's estimate; 0 is the base model",
        1.0,
        type=float,
    )
    flags.add_number(parser, "--max-tokens", "N", "longest reply", 48)
    flags.add_number(
        parser, "--candidates", "N", "write N replies for each context of FILE, for grice rerank"
    )
    flags.add_input(parser)
    flags.add_output(parser, "FILE.jsonl", "the contexts with candidates, for --candidates")
    flags.add_json(parser)
    add_metric_options(parser, words)


def run(arguments: argparse.Namespace) -> int:
    """Answer each line of standard input until it ends, or write candidates."""
    if bool(arguments.files) != (arguments.candidates is not None):
        raise InputError("files of contexts and --candidates N need each other; give both")
    if arguments.files and arguments.guide is None:
        raise InputError("--candidates: give --guide DIR; without one, grice rerank --generate N")
    metrics = names(arguments.metrics)
    check_options(arguments, metrics)
    with ExitStack() as stack:
        named = arguments.model or BASE
        reference = named if ":" in named else f"model:{named}"  # one that was fetched
        model = open_base(arguments, reference, stack)
        guide = None if arguments.guide is None else _open_guide(arguments, model)
        if arguments.files and guide is not None:
            return _write_candidates(arguments, model, guide)
        _talk(arguments, model, guide, metrics, stack)
    return DONE


def open_base(arguments: argparse.Namespace, reference: str, stack: ExitStack) -> SteerableLM:
    """Return a language model that can be steered, which is closed by the stack."""
    from grice.models.causal import EmbeddedCausalLM
    from grice_tasks.steering.decoding import SteerableLM

    models = models_as_asked(arguments)
    stack.callback(models.close)
    return SteerableLM(models.load(reference, EmbeddedCausalLM))


def _open_guide(arguments: argparse.Namespace, base: SteerableLM) -> Guide:
    from grice_tasks.steering.guide import check_strength, load_guide

    check_strength(arguments.strength)
    guide = load_guide(arguments.guide)
    guide.check(base)
    return guide


def _write_candidates(arguments: argparse.Namespace, model: SteerableLM, guide: Guide) -> int:
    """Write contexts with candidates; the exit status is 4 if records could not be used."""
    from grice.cli.options import conversations
    from grice.cli.streams import warn
    from grice_tasks.steering.dialogue import with_candidates

    records = conversations(arguments.files, arguments)
    written: list[Conversation] = []
    broken = 0
    for item in with_candidates(
        records,
        model,
        guide,
        arguments.strength,
        count=arguments.candidates,
        max_tokens=arguments.max_tokens,
    ):
        if isinstance(item, RecordError):
            warn(str(item))
            broken += 1
        else:
            written.append(item)
    rows = ({"id": item.id, "turns": item.turns, **item.meta} for item in written)
    write_or_print_lines(rows, arguments.output)
    return PARTIAL if broken else DONE


def _talk(
    arguments: argparse.Namespace,
    model: SteerableLM,
    guide: Guide | None,
    metrics: Sequence[str],
    stack: ExitStack,
) -> None:
    from grice_tasks.steering.dialogue import Dialogue

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
