"""Draw ``docs/steering.svg``: replies as more is chosen from, or a guide gets stronger.

    python docs/steering.py

The figures are those of ``docs/results/steering.json``, which ``grice bench steering --record
docs/results`` writes.
"""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HERE = Path(__file__).parent
FIGURES = HERE / "results" / "steering.json"
MEASURES = {
    "relevance": "relevance (steers)",
    "engagement": "engagement (steers)",
    "cross_encoder": "cross_encoder",
    "sense": "sense",
    "commonsense": "commonsense",
    "unanswered": "unanswered",
    "words": "words",
    "share of replies that repeat themselves": "repeat themselves",
    "share of replies that contradict by sense": "contradict, by sense",
    "distinct-2 of a reply": "distinct-2",
    "nats a token under the base": "nats a token under the base",
}
GUIDE = "relevance and engagement"
STEERING = 2
"""How many of them steer; the others had no part."""
LEFT, TOP, WIDE, HIGH, GAP = 190, 64, 250, 46, 22
OURS, PEOPLE = "#1f6f8b", "#b5562b"


class Point(NamedTuple):
    """A figure with its interval, at a step."""

    step: str
    value: float
    low: float
    high: float


def drawing(figures: Sequence[dict[str, object]]) -> str:
    """Return small panels: a row of a measure, columns for choosing and for guiding."""
    measures = [name for name in MEASURES if any(each["measure"] == name for each in figures)]
    width = LEFT + 2 * (WIDE + GAP) + 20
    height = TOP + len(measures) * (HIGH + GAP) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="system-ui, sans-serif" font-size="12" '
        'role="img">',
        "<title>Measures of replies by how much is chosen from and how strong the guide is</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<text x="{LEFT}" y="20" font-weight="600">the best of n</text>',
        f'<text x="{LEFT + WIDE + GAP}" y="20" font-weight="600">guided, by strength</text>',
        f'<text x="{LEFT}" y="38" font-size="11" fill="{PEOPLE}">'
        "dashed: what people said; bars: 95 % intervals; guided: fewer contexts, see the record</text>",
    ]
    for row, measure in enumerate(measures):
        y = TOP + row * (HIGH + GAP)
        weight = "600" if row < STEERING else "400"
        parts.append(
            f'<text x="8" y="{y + HIGH / 2 + 4}" font-weight="{weight}">'
            f"{escape(MEASURES[measure])}</text>"
        )
        parts += _row(figures, measure, y)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _row(figures: Sequence[dict[str, object]], measure: str, y: float) -> Iterable[str]:
    columns = [
        points(figures, measure, r"best of (\d+)", first="1"),
        points(figures, measure, rf"guide of {re.escape(GUIDE)}, strength (.+)"),
    ]
    people = next(iter(points(figures, measure, "people()")), None)
    shown = [each for column in columns for each in column] + ([people] if people else [])
    low, high = min(each.low for each in shown), max(each.high for each in shown)
    spread = (high - low) or 1.0

    def place(value: float) -> float:
        return y + HIGH - (value - low) / spread * HIGH

    for number, column in enumerate(columns):
        x = LEFT + number * (WIDE + GAP)
        yield (f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" fill="none" stroke="#ccc"/>')
        if people:
            yield (
                f'<line x1="{x}" x2="{x + WIDE}" y1="{place(people.value):.1f}" '
                f'y2="{place(people.value):.1f}" stroke="{PEOPLE}" stroke-dasharray="4 3"/>'
            )
        yield from _line(column, x, y, place)


def _line(column: Sequence[Point], x: float, y: float, place: object) -> Iterable[str]:
    assert callable(place)
    at = [x + WIDE * (number + 0.5) / len(column) for number in range(len(column))]
    track = " ".join(
        f"{left:.1f},{place(point.value):.1f}" for left, point in zip(at, column, strict=True)
    )
    yield f'<polyline points="{track}" fill="none" stroke="{OURS}" stroke-width="1.5"/>'
    for left, point in zip(at, column, strict=True):
        yield (
            f'<line x1="{left:.1f}" x2="{left:.1f}" y1="{place(point.low):.1f}" '
            f'y2="{place(point.high):.1f}" stroke="{OURS}"/>'
        )
        yield f'<circle cx="{left:.1f}" cy="{place(point.value):.1f}" r="3" fill="{OURS}"/>'
        yield (
            f'<text x="{left:.1f}" y="{y + HIGH + 13}" font-size="10" text-anchor="middle" '
            f'fill="#555">{escape(point.step)}: {point.value:.2f}</text>'
        )


def points(
    figures: Sequence[dict[str, object]], measure: str, row: str, *, first: str = ""
) -> list[Point]:
    """Return the figures of a measure of the rows of a pattern, after that of the base."""
    series = [] if not first else points(figures, measure, "base()")
    series = [point._replace(step=first) for point in series]
    for each in figures:
        matched = re.fullmatch(row, str(each["row"]))
        if matched and each["measure"] == measure:
            value, low, high = (each.get(name) for name in ("value", "low", "high"))
            assert isinstance(value, float)
            bounds = (value if low is None else low, value if high is None else high)
            series.append(Point(matched[1], value, *map(float, bounds)))  # type: ignore[arg-type]
    return sorted(series, key=lambda point: float(point.step or 0))


def main() -> None:
    """Write the picture."""
    figures = json.loads(FIGURES.read_text("utf-8"))["figures"]
    (HERE / "steering.svg").write_text(drawing(figures), "utf-8")


if __name__ == "__main__":
    main()
