"""What the metric asks of a model of whole conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence


class Dialogue(NamedTuple):
    """A whole conversation to be judged: who says what, in order."""

    speakers: tuple[str, ...]
    texts: tuple[str, ...]


@runtime_checkable
class DialogueClassifier(Protocol):
    """Judges how coherent conversations are, and which turns are not."""

    identity: str

    def read(self, dialogues: Sequence[Dialogue]) -> list[tuple[float, tuple[float, ...]]]:
        """Return for each conversation a value, and one for each of its turns, all 0 to 1."""
        ...

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is too long to be read whole."""
        ...
