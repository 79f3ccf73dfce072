"""Writing ``card.toml``: what the bundle is, what made it, how well it agrees with people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from grice.runtime.bundle import file_sha256

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = ["FILES", "write_card"]

FILES = ("head.npz", "left.npz", "right.npz")

Value = str | int | float | list[str] | list[int]


def write_card(
    folder: Path,
    facts: Mapping[str, Value],
    training: Mapping[str, Value],
    settings: Mapping[str, Value],
    quality: Iterable[Mapping[str, Value]] = (),
    files: Iterable[str] = FILES,
) -> None:
    """Write the card beside the files, whose sums it states."""
    tables = [_pairs(facts), "[training]\n" + _pairs(training), "[settings]\n" + _pairs(settings)]
    tables += ["[[quality]]\n" + _pairs(figure) for figure in quality]
    tables.append("[files]\n" + _pairs({f'"{name}"': file_sha256(folder / name) for name in files}))
    (folder / "card.toml").write_text("\n".join(tables), "utf-8")


def _pairs(table: Mapping[str, Value]) -> str:
    # JSON's strings, numbers and flat lists are TOML's.
    return "".join(
        f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in table.items()
    )
