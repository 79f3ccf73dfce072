"""What of a conversation is judged."""

from __future__ import annotations

from grice.records import Conversation, Turn
from grice.scoring.items import responses


class Index(int):
    """An index that counts how often one is compared."""

    compared = 0

    def __eq__(self, other):
        Index.compared += 1
        return int(self) == other

    __hash__ = int.__hash__


def test_many_targets_are_looked_up_and_not_searched():
    count = 2000
    turns = tuple(Turn("AB"[i % 2], str(i)) for i in range(count))
    targets = tuple(Index(i) for i in range(0, count, 2))
    replies = responses(Conversation("long", turns, targets))
    assert [reply.turn for reply in replies] == list(range(0, count, 2))
    assert Index.compared <= 2 * count
