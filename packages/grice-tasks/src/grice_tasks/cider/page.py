"""Links of conversations on one page: the texts with linked spans, and a table below each."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from grice_tasks.pages import render_page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from grice.data import Conversation
    from grice_tasks.cider.find import Link


def links_page(conversations: Iterable[tuple[Conversation, Sequence[Link]]]) -> str:
    """Return an HTML page with every conversation and a table of its links."""
    return render_page(
        "links",
        "Commonsense links",
        conversations=[
            (
                conversation,
                [
                    (turn.speaker, list(_pieces(turn.text, number, links)))
                    for number, turn in enumerate(conversation.turns)
                ],
                links,
            )
            for conversation, links in conversations
        ],
    )


def _pieces(text: str, turn: int, links: Sequence[Link]) -> Iterator[tuple[str, str, str]]:
    """Yield pieces of a turn, each with the numbers of the links whose head and tail hold it."""
    heads = [(n, link.head_span) for n, link in enumerate(links) if link.head_span.turn == turn]
    tails = [(n, link.tail_span) for n, link in enumerate(links) if link.tail_span.turn == turn]
    ends = {at for _, span in (*heads, *tails) for at in (span.start, span.end)}
    for start, end in pairwise(sorted({0, len(text), *ends})):
        of_head, of_tail = (
            " ".join(str(n) for n, span in spans if span.start <= start and end <= span.end)
            for spans in (heads, tails)
        )
        yield text[start:end], of_head, of_tail
