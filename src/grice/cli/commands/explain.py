"""``grice explain``: one reply, its scores and everything they rest on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from grice.cli._options import add_metric_options, load_grader
from grice.errors import InputError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.records import Conversation

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
    add_metric_options(parser, words)


def run(arguments: argparse.Namespace) -> int:
    """Score the reply and print the evidence."""
    from grice.cli._terminal import print_scores
    from grice.records import to_json

    conversation = _conversation(arguments)
    with load_grader(arguments) as grader:
        scores = grader.score(conversation)
    if arguments.json:
        sys.stdout.writelines(f"{to_json(score)}\n" for score in scores)
    else:
        print_scores(scores, [turn.text for turn in conversation.turns])
    return 1 if any(score.status == "failed" for score in scores) else 0


def _conversation(arguments: argparse.Namespace) -> Conversation:
    from grice.records import Conversation, Turn

    if arguments.file is None:
        if not arguments.turns:
            raise InputError(
                'nothing to explain: give the turns, as in grice explain "How are you?" '
                '"Fine, thanks.", or --file FILE --id ID --turn N'
            )
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

    with read(arguments.file, format=arguments.format) as reading:
        for record in reading:
            if isinstance(record, Conversation) and arguments.id in (None, record.id):
                return record
    raise InputError(f"{arguments.file}: no conversation with the id {arguments.id!r}")
