"""``grice verify``: does what a file of scores says follow from the texts and the knowledge?"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli.options import add_metric_options, check_options, load_grader, loader, names
from grice.cli.output import emit
from grice.errors import InputError, plural
from grice.tables import Lines, Table, bounds, number

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.evaluation.faithful import FaithfulResult
    from grice.evaluation.verify import Stated, VerifyResult
    from grice.scoring.api import Grader
    from grice.tables import View

HELP = "re-derive each piece of evidence of a file of scores"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "scores", nargs="?", metavar="SCORES.jsonl", help="what grice score -o wrote"
    )
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="the conversations that were scored, in order"
    )
    flags.add_input(parser)
    parser.add_argument(
        "--tolerance",
        type=float,
        default=1e-6,
        metavar="T",
        help="figures this near are the same (default 1e-6)",
    )
    flags.add_switch(
        parser,
        "--faithful",
        "instead: does the score move as its evidence says when a reply is changed?",
    )
    flags.add_list(
        parser,
        "--on",
        "FILE",
        "with --faithful: conversations, such as deco_train.jsonl; may be repeated",
    )
    flags.add_json(parser)
    add_metric_options(parser, words)
    flags.tells_by_status(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print what follows and what does not; the exit status is 1 if anything does not."""
    return _faithful(arguments) if arguments.faithful else _verify(arguments)


def _verify(arguments: argparse.Namespace) -> int:
    from grice.evaluation.verify import verify_files

    if not arguments.scores or not arguments.files:
        raise InputError(
            "give the scores and the conversations they were written for, as in grice verify "
            "scores.jsonl chat.jsonl"
        )
    result = verify_files(
        arguments.scores,
        arguments.files,
        load=partial(_load, arguments),
        installed=arguments.registry.metrics,
        metrics=names(arguments.metrics),
        format=arguments.format,
        columns=arguments.columns,
        tolerance=arguments.tolerance,
    )
    emit(result, _view(result), as_json=arguments.json)
    return 0 if result.ok else 1


def _load(arguments: argparse.Namespace, wanted: Sequence[str], how: Stated) -> Grader:
    """Load metrics with the options that a file states, where the arguments give none."""
    check_options(arguments, wanted)
    load = loader(arguments)
    given = load.keywords["options"]
    options = {name: how.options.get(name, {}) | given.get(name, {}) for name in wanted}
    return load(wanted, options=options, mode="fast" if how.fast else arguments.mode)


def _view(result: VerifyResult) -> View:
    yield Lines([f"{result.file}: {plural(result.scores, 'score')} re-derived"], style="bold")
    rows = [
        (tally.metric, tally.kind, f"{tally.verified:,}", f"{tally.differs:,}")
        for tally in result.tallies
    ]
    yield Table(("metric", "kind", "verified", "differs"), rows)
    if result.ok:
        yield Lines(["everything follows"], style="green")
    for difference in result.differences:
        turn = "" if difference.turn is None else f" #{difference.turn}"
        place = f"{difference.conversation}{turn}  {difference.metric}, {difference.kind}"
        yield Lines([f"{place}: {difference.piece or ''}".rstrip(": ")])
        yield Lines([difference.what], style="bold red", indent=4)
    if result.more:
        yield Lines([f"… and {result.more:,} more"])


def _faithful(arguments: argparse.Namespace) -> int:
    from grice.cli._reading import conversations
    from grice.evaluation.faithful import faithfulness
    from grice.records import Conversation

    files = [*([arguments.scores] if arguments.scores else []), *arguments.files, *arguments.on]
    if not files:
        raise InputError("give conversations, as in grice verify --faithful --on deco_train.jsonl")
    arguments.metrics = arguments.metrics or "commonsense"
    check_options(arguments)
    records = conversations(files, arguments.format, arguments.columns)
    talks = [record for record in records if isinstance(record, Conversation)]
    with load_grader(arguments) as grader:
        results = [faithfulness(loaded, talks) for loaded in grader.scorer.metrics]
    for result in results:
        emit(result, _faithful_view(result), as_json=arguments.json)
    return 0


def _faithful_view(result: FaithfulResult) -> View:
    replies = plural(result.replies, "reply", "replies")
    yield Lines([f"{result.metric}: {replies} with evidence"], style="bold")
    rows = [
        (rate.name, number(rate.share.value), bounds(rate.share), f"{rate.share.n:,}")
        for rate in result.rates
    ]
    yield Table(("change of a reply", "share", "95 %", "n"), rows)
    yield Lines(result.remarks, style="dim")
