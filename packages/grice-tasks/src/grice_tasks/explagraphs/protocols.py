"""What makes explanation graphs, whichever model it stands on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice_tasks.explagraphs.samples import Prediction, Sample, Stance


@runtime_checkable
class GraphPredictor(Protocol):
    """Says the stance of an argument to a belief, and explains it by a graph."""

    identity: str

    def stances(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[Stance, float]]:
        """Return the stance of each argument to its belief, with the margin of its score."""
        ...

    def predict(
        self, samples: Sequence[Sample], *, stances: Sequence[Stance] | None = None
    ) -> list[Prediction]:
        """Return a stance and a valid graph for each sample; neither gold is looked at.

        The graph is empty where belief and argument have too few words to build facts from.

        Args:
            stances: The stances to explain; by default they are predicted.
        """
        ...
