"""``grice review``: the replies to look at first, from scores that are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli.output import emit, write_rows
from grice.errors import InputError, plural
from grice.tables import Lines, Table, bounds, number

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from grice.evaluation.issues import Issues
    from grice.evaluation.review import FlaggedTurn, Further, Review
    from grice.tables import View

HELP = "list the replies to check first, from scores"
WIDTH, QUOTED = 74, 32
"""Characters of a turn, and of words in it, that are shown: a line of a terminal."""


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001
    """Declare the arguments."""
    parser.add_argument("scores", metavar="OUT.jsonl", help="what grice score wrote; - for stdin")
    parser.add_argument(
        "conversations",
        nargs="*",
        metavar="FILE",
        help="the conversations that were scored, to show what was said",
    )
    parser.add_argument(
        "--issues",
        metavar="TAXONOMY",
        help="label each reply with the issues it has: deta, or a TOML file in its layout",
    )
    parser.add_argument(
        "--threshold",
        type=float,
        metavar="X",
        help="with --issues: a value below it is an issue (default 0.5)",
    )
    flags.add_top(parser, 20)
    flags.add_output(parser, "FILE.jsonl", "a reply a line")
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the first replies."""
    from grice.cli.models import recommend_larger
    from grice.evaluation.review import STACKS, review

    if arguments.issues is not None:
        return _labelled(arguments)
    if arguments.threshold is not None:
        raise InputError("--threshold says what an issue is: it goes with --issues")
    reviewed = review(arguments.scores, arguments.conversations, top=arguments.top)
    write_rows(reviewed.items, arguments.output)
    emit(reviewed, _view(reviewed), as_json=arguments.json)
    if reviewed.stack.startswith(f"{STACKS[-1]}@"):
        recommend_larger()
    return 0


def _labelled(arguments: argparse.Namespace) -> int:
    """Print how often each issue is labelled, and the replies with most of them."""
    from grice.evaluation.issues import HALF, issues_of, read_taxonomy

    threshold = HALF if arguments.threshold is None else arguments.threshold
    labelled, replies = issues_of(
        arguments.scores, read_taxonomy(arguments.issues), threshold=threshold, top=arguments.top
    )
    write_rows(replies, arguments.output)
    emit(labelled, _issues_view(labelled), as_json=arguments.json)
    return 0


def _issues_view(labelled: Issues) -> View:
    replies = plural(labelled.replies, "reply", "replies")
    yield Lines([f"{replies}; a value below {labelled.threshold:g} is an issue"], style="bold")
    rows = [
        (
            count.issue,
            number(None if count.share is None else count.share.value),
            bounds(count.share),
            ", ".join(f"{name} ({n:,})" for name, n in count.metrics.items()) or "not run",
        )
        for count in labelled.counts
    ]
    yield Table(
        ("issue", "share", "95 % interval", "by"),
        [
            *rows,
            (
                "none of these",
                number(None if labelled.none is None else labelled.none.value),
                bounds(labelled.none),
                "",
            ),
        ],
    )
    yield Lines(
        [
            f"{reply.conversation} #{reply.turn}: "
            + ", ".join(f"{name} {reply.values[name]:.2f}" for name in reply.issues)
            for reply in labelled.items
            if reply.issues
        ]
    )


def _view(reviewed: Review) -> View:
    from grice.detectors import in_words

    used = {witness.metric: witness.turns for witness in reviewed.witnesses if witness.turns}
    names = ", ".join(f"{metric} ({turns:,})" for metric, turns in used.items())
    yield Lines([f"{plural(reviewed.turns, 'reply', 'replies')} by {names}"], style="bold")
    if reviewed.missing:
        yield Lines([f"not run: {', '.join(reviewed.missing)}"], style="dim")
    if reviewed.unused:
        names = ", ".join(reviewed.unused)
        yield Lines([f"run but not used for the order: {names}"], style="dim")
    if reviewed.certain:
        yield Lines([f"certain flaws: {in_words(reviewed.certain)}"], style="bold")
    levels = list(zip(reviewed.thresholds, reviewed.above, strict=True))
    reached = [level for level in levels if level[1]] or levels
    for threshold, above in reached[-1:]:
        yield Lines(
            [
                f"{plural(above, 'reply', 'replies')} at {threshold.probability:.2f} or more: "
                f"{threshold.precision:.0%} of such replies were flawed in written logs"
            ],
            style="dim",
        )
    for item in reviewed.items:
        yield from flagged_view(item)


def flagged_view(item: FlaggedTurn) -> Iterator[Lines]:
    """Yield the lines of one reply: its place, what was said, and why."""
    from grice.cli.terminal import one_line
    from grice.text.markdown import as_read

    place = f"{item.conversation} #{item.turn}"
    yield Lines(["", f"{item.rank}. {item.certainty} {item.headline}, {place}"], style="bold")
    # A reader must see the tags and tokens that a finding is about.
    reply = item.reply if item.findings else as_read(item.reply)
    texts = (as_read(item.before), reply)
    yield Lines([f"> {one_line(text, WIDTH)}" for text in texts if text], indent=3)
    if item.findings:
        yield Lines([item.reason or ""], indent=3, style="italic")
    against: tuple[FlaggedTurn | Further, ...] = (item, *item.further)
    for score in () if item.findings else against:
        why = f": {score.reason}" if score.reason else ""
        yield Lines([f"{score.metric} {score.value:.2f}{why}"], indent=3, style="italic")
    if item.words:
        quoted = ", ".join(f'"{one_line(words, QUOTED)}"' for words in item.words)
        yield Lines([quoted], indent=3, style="italic")
