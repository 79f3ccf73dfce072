"""Protocol of models that write two contrasting sentences from keywords."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence


@runtime_checkable
class KeywordWriter(Protocol):
    """Writes two sentences from keywords."""

    def generate(self, keywords: Sequence[Sequence[str]]) -> list[str]:
        """Return two sentences for each list of keywords; an empty text for an empty list."""
        ...
