"""What writes contrasting sentences and statements, whichever model it stands on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grice_tasks.situatedgen.records import Question, Statement


class Written(NamedTuple):
    """A text and how it came about.

    Attributes:
        text: What was written.
        lacks: What it lacks of what was asked for, in words; empty if nothing is known to be.
        attempts: Answers that were looked at.
    """

    text: str
    lacks: tuple[str, ...] = ()
    attempts: int = 1

    @property
    def valid(self) -> bool:
        """Whether it is what was asked for, as far as its writer has looked."""
        return not self.lacks


@runtime_checkable
class KeywordWriter(Protocol):
    """Writes two sentences from keywords."""

    def generate(self, keywords: Sequence[Sequence[str]]) -> list[Written]:
        """Return two sentences for each list of keywords; an empty text for an empty list."""
        ...


@runtime_checkable
class SituatedWriter(KeywordWriter, Protocol):
    """Also turns questions with answers into statements."""

    def statements(self, questions: Iterable[Question]) -> list[Statement]:
        """Return a statement for each question that gives one."""
        ...
