"""Questions of task 3 (which of four spans is the tail) and the distance of their options."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

from grice_tasks.cider.reading import locate

if TYPE_CHECKING:
    from collections.abc import Sequence

OPTIONS = 4


class Choice(NamedTuple):
    """One item: a question and its options.

    Attributes:
        id: Name of the item.
        text: What the options are spans of.
        head: The head span.
        relation: The relation asked for.
        options: The options.
        label: Index of the right one.
    """

    id: str
    text: str
    head: str
    relation: str
    options: tuple[str, ...]
    label: int


def nearest(choice: Choice) -> int:
    """Return the option whose first place is nearest to the head's; the first among equals."""
    far = _distances(choice)
    return far.index(min(far))


def _distances(choice: Choice) -> list[int]:
    head = locate(choice.text, choice.head)
    distances = []
    for option in choice.options:
        place = locate(choice.text, option)
        missing = head is None or place is None
        distances.append(len(choice.text) if missing else abs(place[0] - head[0]))  # type: ignore[index]
    return distances


def distance_balanced(choices: Sequence[Choice]) -> list[Choice]:
    """Return the items whose right option is as often nearest to the head as second, third, last.

    Of each rank as many are kept as the rarest has, those of the smallest hash of their id, so
    that answering by distance alone is right in one of four.
    """
    by_rank: list[list[Choice]] = [[] for _ in range(OPTIONS)]
    for choice in choices:
        far = _distances(choice)
        order = sorted(range(len(far)), key=lambda i: (far[i], i))
        by_rank[order.index(choice.label)].append(choice)
    most = min(map(len, by_rank))
    chosen = {
        choice.id
        for rank in by_rank
        for choice in sorted(rank, key=lambda c: hashlib.sha256(c.id.encode()).hexdigest())[:most]
    }
    return [choice for choice in choices if choice.id in chosen]
