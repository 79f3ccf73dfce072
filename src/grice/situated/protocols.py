"""What writes contrasting sentences and statements, whichever model it stands on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grice.situated.records import Question, Statement


@runtime_checkable
class KeywordWriter(Protocol):
    """Writes two sentences from keywords."""

    def generate(self, keywords: Sequence[Sequence[str]]) -> list[str]:
        """Return two sentences for each list of keywords; empty for an empty list."""
        ...


@runtime_checkable
class SituatedWriter(KeywordWriter, Protocol):
    """Also turns questions with answers into statements."""

    def statements(self, questions: Iterable[Question]) -> list[Statement]:
        """Return a statement for each question that gives one."""
        ...
