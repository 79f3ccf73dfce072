"""Draw ``docs/coherence-cross.svg``: trained on one set of perturbations, tested on each.

    python docs/coherence.py

The figures are those of ``cross.json``, which the recipe ``coherence.cross``
writes.
"""

from __future__ import annotations

import json
from pathlib import Path

import grice_research

HERE = Path(__file__).parent
FIGURES = Path(grice_research.__file__).parent / "recipes" / "coherence" / "cross.json"
LEFT, TOP, WIDE, HIGH = 110, 50, 96, 44
LOW = (244, 241, 234)
FULL = (22, 92, 125)


def drawing(table: dict[str, dict[str, dict[str, float]]]) -> str:
    """Return the heat map: a row per training set, a column per test set."""
    names = list(table)
    width, height = LEFT + WIDE * len(names) + 10, TOP + HIGH * len(names) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="system-ui, sans-serif" font-size="13">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<text x="{LEFT}" y="18" font-weight="600">tested on</text>',
        f'<text x="8" y="{TOP - 12}" font-weight="600">trained on</text>',
    ]
    for column, test in enumerate(names):
        x = LEFT + WIDE * column + WIDE / 2
        parts.append(f'<text x="{x}" y="{TOP - 12}" text-anchor="middle">{test}</text>')
    for row, kind in enumerate(names):
        y = TOP + HIGH * row
        parts.append(f'<text x="8" y="{y + HIGH / 2 + 5}">{kind}</text>')
        for column, test in enumerate(names):
            parts += _cell(LEFT + WIDE * column, y, table[kind][test])
    note = "share of held-out conversations above their broken twins; mean and range of seeds"
    parts += [f'<text x="8" y="{height - 12}" font-size="11">{note}</text>', "</svg>"]
    return "\n".join(parts) + "\n"


def _cell(x: float, y: float, cell: dict[str, float]) -> list[str]:
    value = cell["accuracy"]
    depth = min(1.0, max(0.0, (value - 0.5) / 0.5))
    red, green, blue = (round(a + (b - a) * depth) for a, b in zip(LOW, FULL, strict=True))
    ink = "#fff" if depth > 0.5 else "#222"
    low, high = min(cell["seeds"]), max(cell["seeds"])  # type: ignore[call-overload]
    middle = x + WIDE / 2
    return [
        f'<rect x="{x + 1}" y="{y + 1}" width="{WIDE - 2}" height="{HIGH - 2}" '
        f'fill="rgb({red},{green},{blue})"/>',
        f'<text x="{middle}" y="{y + 20}" fill="{ink}" text-anchor="middle">{value:.2f}</text>',
        f'<text x="{middle}" y="{y + 35}" fill="{ink}" font-size="10" text-anchor="middle">'
        f"{low:.2f} – {high:.2f}</text>",
    ]


if __name__ == "__main__":
    (HERE / "coherence-cross.svg").write_text(drawing(json.loads(FIGURES.read_text())), "utf-8")
