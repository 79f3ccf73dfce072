"""``grice explain``: one reply, its scores and everything they rest on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli._status import DONE, PARTIAL, UNUSABLE
from grice.cli.options import add_metric_options, check_options, load_grader
from grice.cli.output import emit_rows, print_json_lines
from grice.errors import InputError
from grice.tables import Lines

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.evaluation.counterfactuals import Counterfactual
    from grice.records import Conversation, Score
    from grice.scoring.api import Grader
    from grice.tables import View

HELP = "score one reply and show the evidence"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "turns",
        nargs="*",
        metavar="TURN",
        help="what was said, one argument a turn; the last one is the reply",
    )
    parser.add_argument("--file", metavar="FILE", help="take the conversation from this file")
    parser.add_argument("--id", metavar="ID", help="id of the conversation in the file")
    parser.add_argument("--turn", type=int, metavar="N", help="index of the reply, from 0")
    flags.add_input(parser)
    flags.add_json(parser)
    flags.add_switch(
        parser,
        "--what-if",
        "also try which single change of knowledge or text would lift the score",
    )
    flags.add_switch(parser, "--signature", "also say exactly what was computed")
    add_metric_options(parser, words)


def run(arguments: argparse.Namespace) -> int:
    """Score the reply and print the evidence."""
    from grice.cli.terminal import print_scores

    check_options(arguments)
    conversation = _conversation(arguments)
    with load_grader(arguments) as grader:
        scores = grader.score(conversation)
        if arguments.json:
            print_json_lines(scores)
        else:
            texts = [turn.text for turn in conversation.turns]
            print_scores(scores, texts, signatures=arguments.signature)
        if arguments.what_if:
            _try_changes(arguments, grader, conversation, scores)
    failed = sum(score.status == "failed" for score in scores)
    return DONE if not failed else UNUSABLE if failed == len(scores) else PARTIAL


def _try_changes(
    arguments: argparse.Namespace,
    grader: Grader,
    conversation: Conversation,
    scores: Sequence[Score],
) -> None:
    from grice.evaluation.counterfactuals import counterfactuals

    loaded = {metric.metric.name: metric for metric in grader.scorer.metrics}
    for score in scores:
        changes = counterfactuals(loaded[score.metric], conversation, score)
        emit_rows(changes, _changes_view(score.metric, changes), as_json=arguments.json)


def _changes_view(metric: str, changes: Sequence[Counterfactual]) -> View:
    from grice.evaluation.counterfactuals import best_of_each_kind

    yield Lines(["", f"what would lift {metric}"], style="bold")
    nothing = ["no single change that was tried"]
    yield Lines([*map(_change, best_of_each_kind(changes))] or nothing, indent=2)


def _change(change: Counterfactual) -> str:
    what = "knowing" if change.kind == "knowledge" else "without the words"
    return f"{change.value:.3f}  ({change.lift:+.3f})  {what}: {change.change}"


def _conversation(arguments: argparse.Namespace) -> Conversation:
    from grice.readers import find_conversation

    if arguments.file is None:
        return _stated(arguments)
    if arguments.turns:
        raise InputError("give either turns or --file, not both")
    return find_conversation(
        arguments.file,
        id=arguments.id,
        turn=arguments.turn,
        format=arguments.format,
        columns=arguments.columns,
    )


def _stated(arguments: argparse.Namespace) -> Conversation:
    """Return the conversation that the arguments themselves are."""
    from grice.records import Conversation, Turn

    if not arguments.turns:
        raise InputError(
            'nothing to explain: give the turns, as in grice explain "How are you?" '
            '"Fine, thanks.", or --file FILE --id ID --turn N'
        )
    # A reply may be longer than a name can be, which pathlib's test does not bear.
    if len(arguments.turns) == 1 and os.path.isfile(arguments.turns[0]):  # noqa: PTH113
        raise InputError(
            f"{arguments.turns[0]} is a file: give it as --file {arguments.turns[0]}, with "
            f"--id ID and --turn N where it holds several"
        )
    if arguments.id is not None or arguments.turn is not None:
        raise InputError("--id and --turn look into --file FILE: name it")
    turns = tuple(Turn("AB"[i % 2], text) for i, text in enumerate(arguments.turns))
    return Conversation("talk", turns, targets=(len(turns) - 1,))
