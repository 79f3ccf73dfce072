"""Links of a stream of conversations, with the records that could not be read in between."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from grice.errors import RecordError
from grice_tasks.cider.find import Wanted, find_all
from grice_tasks.cider.records import cider_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from grice.records import Conversation
    from grice_tasks.cider.find import Link
    from grice_tasks.cider.models import TripletModels


class ConversationLinks(NamedTuple):
    """A conversation with its links, in the order in which their heads were said."""

    conversation: Conversation
    links: list[Link]


def wanted_links(
    relations: Sequence[str] = (),
    *,
    least: float | None = None,
    most: int = 12,
    implicit: bool = True,
) -> Wanted:
    """Return which links are wanted; see :class:`grice_tasks.cider.find.Wanted`."""
    check_relations(relations)
    return Wanted(least=least, most=most, implicit=implicit, relations=frozenset(relations))


def check_relations(relations: Iterable[str]) -> None:
    """Raise InputError if a relation is none of CIDER's."""
    for name in relations:
        cider_schema()[name]


def links_of_records(
    records: Iterable[Conversation | RecordError], models: TripletModels, wanted: Wanted
) -> Iterator[ConversationLinks | RecordError]:
    """Yield the links of each conversation, and the records that could not be read as they come.

    Conversations are read a few at a time: memory does not grow with their number.
    """
    read: deque[Conversation] = deque()
    broken: deque[RecordError] = deque()

    def readable() -> Iterator[Conversation]:
        for record in records:
            if isinstance(record, RecordError):
                broken.append(record)
            else:
                read.append(record)
                yield record

    for links in find_all(readable(), models, wanted):
        while broken:
            yield broken.popleft()
        yield ConversationLinks(read.popleft(), links)
    yield from broken
