"""``grice review``: the replies to check first, from scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli.options import recommend_larger
from grice.cli.output import Output, one_line, write_rows
from grice.errors import plural
from grice.tables import Lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.cli.derive import Count, OutputPath
    from grice.evaluation.review import FlaggedTurn, Review
    from grice.tables import View

WIDTH, QUOTED = 74, 32
"""Characters of a turn, and of words in it, that are shown: a line of a terminal."""


def run(
    scores: str,
    conversations: Sequence[str] = (),
    *,
    top: Count = 20,
    output: OutputPath | None = None,
) -> Output:
    """List the replies to check first, from scores.

    Args:
        scores (OUT.jsonl): scores of grice score; - for stdin
        conversations (FILE): the conversations that were scored, to show the texts
        output: a reply a line
    """
    from grice.evaluation.review import STACKS, review

    reviewed = review(scores, conversations, top=top)
    if output is not None:
        write_rows(reviewed.items, output)
    if reviewed.stack.startswith(f"{STACKS[-1]}@"):
        recommend_larger()
    return Output([reviewed], _view(reviewed))


def _view(reviewed: Review) -> View:
    from grice.detectors import in_words

    used = reviewed.witnesses.items()
    names = ", ".join(f"{metric} ({turns:,})" for metric, turns in used if turns)
    yield Lines([f"{plural(reviewed.turns, 'reply', 'replies')} by {names}"], style="bold")
    if reviewed.missing:
        yield Lines([f"not run: {', '.join(reviewed.missing)}"], style="dim")
    if reviewed.unused:
        names = ", ".join(reviewed.unused)
        yield Lines([f"run but not used for the order: {names}"], style="dim")
    if reviewed.certain:
        yield Lines([f"certain flaws: {in_words(reviewed.certain)}"], style="bold")
    levels = list(zip(reviewed.thresholds, reviewed.above, strict=True))
    for threshold, above in ([level for level in levels if level[1]] or levels)[-1:]:
        replies = f"{plural(above, 'reply', 'replies')} at {threshold.probability:.2f} or more"
        flawed = f"{threshold.precision:.0%} of such replies were flawed in written logs"
        yield Lines([f"{replies}: {flawed}"], style="dim")
    for item in reviewed.items:
        yield from _flagged_view(item)


def _flagged_view(item: FlaggedTurn) -> Iterator[Lines]:
    """Show one reply: its place, its text, and why it is listed."""
    from grice.text.markup import as_read

    place = f"{item.conversation} #{item.turn}"
    yield Lines(["", f"{item.rank}. {item.certainty} {item.headline}, {place}"], style="bold")
    # A reader must see the tags and tokens that a finding is about.
    reply = item.reply if item.findings else as_read(item.reply)
    texts = (as_read(item.before), reply)
    yield Lines([f"> {one_line(text, WIDTH)}" for text in texts if text], indent=3)
    why = item.reason or ""
    if item.value is not None:
        why = f"{item.metric} {item.value:.2f}" + (f": {why}" if why else "")
    quoted = ", ".join(f'"{one_line(words, QUOTED)}"' for words in item.words)
    yield Lines([why, *([quoted] if quoted else [])], indent=3, style="italic")
