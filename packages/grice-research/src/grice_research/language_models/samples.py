"""Parts of evaluated sets that are small enough for a language model, and the rows of a place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias
from zlib import crc32

from grice_research.context import Skipped
from grice_research.rows import DIFFERENCE, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import TypeVar

    from grice.models.models import Models
    from grice.stats.estimate import Estimate
    from grice_research.replies import Replies

    Item = TypeVar("Item")

__all__ = [
    "LANGUAGE_MODEL",
    "PART",
    "SHIPS",
    "Candidate",
    "Place",
    "Size",
    "sampled",
    "sampled_replies",
]

LANGUAGE_MODEL, SHIPS = "language model", "ships"
"""How the names of rows begin that are no trivial baselines, in every place the same."""
PART = ", part"
"""How the name of data ends of which fewer items are read than by ``medium``."""
Size: TypeAlias = Literal["medium", "large"]
"""A model of the index that is measured in every place."""
SHIPPED: Size = "medium"
"""The one whose bundles ship."""
RECIPE = "grice_research.recipes.language_model_places"


class Candidate(NamedTuple):
    """A language model that may stand in every place.

    Attributes:
        size: Which one.
        folder: Where the bundles are that put it in its places; those of ``medium`` ship.
    """

    size: Size
    folder: Path | None = None

    @property
    def row(self) -> str:
        """The name of its rows."""
        return LANGUAGE_MODEL if self.size == SHIPPED else f"{LANGUAGE_MODEL} ({self.size})"

    @property
    def gap(self) -> str:
        """The name of the rows that say how far it is above what ships."""
        return f"{self.row} less {SHIPS}"

    @property
    def base(self) -> str:
        """Reference of the model itself."""
        return f"model:{self.size}"

    def bundle(self, place: str) -> str:
        """Return the reference of the bundle that puts it in a place, such as ``graphs``.

        Raises:
            Skipped: If nobody has made it.
        """
        name = f"{place}-{self.size}"
        if self.size == SHIPPED:
            return f"bundle:{name}"
        if self.folder is None or not (self.folder / name / "card.toml").is_file():
            raise Skipped(
                f"{name} is not at hand; python -m {RECIPE}.{place} --base {self.base} "
                f"--out WEIGHTS/language_model_places/{name} makes it"
            )
        return f"file:{self.folder / name}"

    def on(self, data: str) -> str:
        """Return the name of the data: all but ``medium`` read a part of its items."""
        return data if self.size == SHIPPED else data + PART


class Place(NamedTuple):
    """Where a language model is measured.

    Attributes:
        on: The place and the data.
        models: What opens models.
        candidate: The language model.
        model: Its reference in the place.
        why: What the figures of both rest on.
    """

    on: str
    models: Models
    candidate: Candidate
    model: str
    why: str = ""

    def rows(
        self,
        measure: str,
        estimates: Mapping[str, Estimate],
        gap: Estimate | None = None,
        *,
        lower: bool = False,
        printed: str = "",
    ) -> Iterator[Row]:
        """Yield a row for each system, then how far the language model is above what ships.

        Args:
            measure: What was measured.
            estimates: The figure of each system by its name.
            gap: The language model less what ships, on the same items.
            lower: Whether lower is better.
            printed: Which system is a published one.
        """
        signature = f"{self.models.fingerprint(self.model)}|mode:{self.models.mode}|on:{self.on}"
        for name, estimate in estimates.items():
            ours = name.startswith((LANGUAGE_MODEL, SHIPS))
            yield Row(
                row=name,
                measure=measure,
                estimate=estimate,
                kind="ours" if ours else "printed" if name == printed else "baseline",
                on=self.on,
                lower=lower,
                why=self.why if ours else "",
                signature=signature,
            )
        if gap is not None:
            yield Row(
                row=self.candidate.gap,
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


def sampled_replies(replies: Replies, count: int) -> list[int]:
    """Return the places of so many replies, in the order of the set."""
    texts = [response.text for response in replies.responses]
    return sorted(sampled(range(len(texts)), count, lambda place: texts[place]))
