"""``grice explain``: one reply, its scores and everything they rest on."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from grice.cli._status import DONE, PARTIAL, UNUSABLE
from grice.cli.options import add_metric_options, load_grader
from grice.errors import InputError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.evaluation.counterfactuals import Counterfactual
    from grice.records import Conversation, Score
    from grice.scoring.api import Grader

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
    parser.add_argument("--format", metavar="NAME", help="format of the file")
    parser.add_argument("--json", action="store_true", help="print the scores as JSON lines")
    parser.add_argument(
        "--what-if",
        action="store_true",
        help="also try which single change of knowledge or text would lift the score",
    )
    add_metric_options(parser, words)


def run(arguments: argparse.Namespace) -> int:
    """Score the reply and print the evidence."""
    from grice.cli.terminal import print_scores
    from grice.records import to_json

    conversation = _conversation(arguments)
    with load_grader(arguments) as grader:
        scores = grader.score(conversation)
        if arguments.json:
            sys.stdout.writelines(f"{to_json(score)}\n" for score in scores)
        else:
            print_scores(scores, [turn.text for turn in conversation.turns])
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
    from grice.cli.tables import print_lines
    from grice.evaluation.counterfactuals import best_of_each_kind, counterfactuals
    from grice.records import to_json

    loaded = {one.metric.name: one for one in grader.scorer.metrics}
    for score in scores:
        found = counterfactuals(loaded[score.metric], conversation, score)
        if arguments.json:
            sys.stdout.writelines(f"{to_json(one)}\n" for one in found)
            continue
        print_lines(["", f"what would lift {score.metric}"], style="bold")
        print_lines((_change(one) for one in best_of_each_kind(found)), indent=2)
        if not found:
            print_lines(["no single change that was tried"], indent=2)


def _change(one: Counterfactual) -> str:
    done = "knowing" if one.kind == "knowledge" else "without the words"
    return f"{one.value:.3f}  ({one.lift:+.3f})  {done}: {one.change}"


def _conversation(arguments: argparse.Namespace) -> Conversation:
    from grice.records import Conversation, Turn

    if arguments.file is None:
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
    if arguments.turns:
        raise InputError("give either turns or --file, not both")
    found = _find(arguments)
    last = len(found.turns) - 1
    turn = last if arguments.turn is None else arguments.turn
    if not 0 <= turn <= last:
        raise InputError(f"{arguments.file}: {found.id} has turns 0 to {last}, not {turn}")
    return Conversation(found.id, found.turns, (turn,), found.meta)


def _find(arguments: argparse.Namespace) -> Conversation:
    from grice.formats import read
    from grice.records import Conversation

    broken: list[Exception] = []
    with read(arguments.file, format=arguments.format) as reading:
        for record in reading:
            if not isinstance(record, Conversation):
                broken.append(record)
            elif arguments.id in (None, record.id):
                return record
    sought = "" if arguments.id is None else f" with the id {arguments.id!r}"
    unread = f"; {len(broken)} could not be read, the first: {broken[0]}" if broken else ""
    raise InputError(f"{arguments.file}: no conversation{sought}{unread}")
