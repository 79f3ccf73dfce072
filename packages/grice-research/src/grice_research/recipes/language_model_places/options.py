"""Which language model stands in a place, and where the bundle is written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from grice_research.places import MODELS
from grice_research.recipes.options import parser_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

__all__ = ["MEDIUM", "Made", "Quality", "measured", "options_of"]

MEDIUM = "model:medium"
Quality: TypeAlias = "list[dict[str, str | float | int]]"
"""Figures of a card."""


class Made(NamedTuple):
    """A bundle that is made.

    Attributes:
        data: The folder of the data sets.
        base: Reference of what it stands on.
        folder: Where it is written.
        sample: How many items calibrate it.
    """

    data: Path
    base: str
    folder: Path
    sample: int

    @property
    def name(self) -> str:
        """Its name, that of its folder."""
        return self.folder.name


def options_of(doc: str | None, name: str, base: str = MEDIUM, *, sample: int = 0) -> Made:
    """Return what the command says; by default the bundle that ships.

    Args:
        doc: The docstring of the recipe's module.
        name: Name of the bundle that ships.
        base: What that stands on.
        sample: How many items calibrate that; 0 if none do.
    """
    parser: argparse.ArgumentParser = parser_of(doc)
    parser.add_argument("--base", default=base, help=f"what it stands on; default: {base}")
    parser.add_argument(
        "--out",
        type=Path,
        default=MODELS / name,
        help="folder of the bundle, whose name it bears; default: the one that ships",
    )
    if sample:
        parser.add_argument(
            "--sample",
            type=int,
            default=sample,
            metavar="N",
            help=f"items that calibrate it, for a larger model fewer; default: {sample}",
        )
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    return Made(given.data, given.base, given.out, given.sample if sample else 0)


def measured(
    on: str, areas: Mapping[str, tuple[float, float, float]], n: int, command: str
) -> Quality:
    """Return figures of a card, printed too: areas under the curve with their intervals.

    Args:
        on: What was measured.
        areas: Value and interval by what was scored.
        n: Items.
        command: What measures them again.
    """
    figures: Quality = []
    for name, (value, low, high) in areas.items():
        print(f"{on}: {name}: {value:.3f} [{low:.3f}, {high:.3f}], n {n}", flush=True)
        numbers = {"value": round(value, 3), "low": round(low, 3), "high": round(high, 3)}
        figures.append(
            {"on": on, "measure": f"area, {name}", **numbers, "n": n, "command": command}
        )
    return figures
