"""What the metric ``sense`` asks of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from grice.records import Response


@runtime_checkable
class FlawModel(Protocol):
    """Says what is wrong with replies."""

    identity: str
    flaws: tuple[str, ...]
    """What each column says; the first is any flaw at all."""

    def log_odds(self, responses: Sequence[Response]) -> NDArray[np.float32]:
        """Return the log odds of each flaw of each reply, shape ``(replies, flaws)``."""
        ...

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is too long to be read whole."""
        ...
