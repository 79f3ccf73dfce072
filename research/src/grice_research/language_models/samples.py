"""Parts of evaluated sets that are small enough for a language model, and the rows of a place."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from grice_research.rows import DIFFERENCE, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeVar

    from grice.runtime.models import Models
    from grice.stats.estimate import Estimate

    Item = TypeVar("Item")

__all__ = ["GAP", "LANGUAGE_MODEL", "SHIPS", "Place", "sampled"]

LANGUAGE_MODEL, SHIPS = "language model", "ships"
"""How the names of rows begin that are no trivial baselines, in every place the same."""
GAP = f"{LANGUAGE_MODEL} less {SHIPS}"


class Place(NamedTuple):
    """Where a language model is measured.

    Attributes:
        on: The place and the data.
        models: What opens models.
        model: Reference of the language model in the place.
        why: What the figures of both rest on.
    """

    on: str
    models: Models
    model: str
    why: str = ""

    def rows(
        self,
        measure: str,
        estimates: Mapping[str, Estimate],
        gap: Estimate | None = None,
        *,
        lower: bool = False,
    ) -> Iterator[Row]:
        """Yield a row for each system, then how far the language model is above what ships.

        Args:
            measure: What was measured.
            estimates: The figure of each system by its name.
            gap: The language model less what ships, on the same items.
            lower: Whether lower is better.
        """
        signature = f"{self.models.fingerprint(self.model)}|mode:{self.models.mode}|on:{self.on}"
        for name, estimate in estimates.items():
            ours = name.startswith((LANGUAGE_MODEL, SHIPS))
            yield Row(
                row=name,
                measure=measure,
                estimate=estimate,
                kind="ours" if ours else "baseline",
                on=self.on,
                lower=lower,
                why=self.why if ours else "",
                signature=signature,
            )
        if gap is not None:
            yield Row(
                row=GAP,
                measure=f"{DIFFERENCE}{measure}",
                estimate=gap,
                kind="ours",
                on=self.on,
                lower=lower,
                signature=signature,
            )


def sampled(items: Sequence[Item], count: int, key: Callable[[Item], str]) -> list[Item]:
    """Return so many items, drawn by the hash of their keys, whatever their order."""
    return sorted(items, key=lambda item: (crc32(key(item).encode()), key(item)))[:count]
