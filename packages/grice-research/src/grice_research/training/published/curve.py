"""The loss of a training as a small drawing."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice_research.training.published.course import Point

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 480, 240, 56, 28, 36


def drawn_curve(curve: Sequence[Point], title: str) -> str:
    """Return the loss over steps as SVG; empty axes without a point."""
    most = max((point.loss for point in curve), default=1.0)
    last = max((point.step for point in curve), default=1)
    floor = HEIGHT - BOTTOM

    def place(point: Point) -> str:
        x = LEFT + (WIDTH - LEFT - 16) * point.step / last
        y = floor - (floor - TOP) * max(0.0, point.loss) / max(most, 1e-9)
        return f"{x:.1f},{y:.1f}"

    line = " ".join(map(place, curve))
    axis = f"M{LEFT},{TOP}V{floor}H{WIDTH - 16}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'font-family="sans-serif" font-size="12"><title>{escape(title)}</title>'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>'
        f'<text x="{LEFT}" y="18" fill="#222">{escape(title)}</text>'
        f'<path d="{axis}" fill="none" stroke="#888"/>'
        f'<text x="{LEFT - 6}" y="{TOP + 8}" text-anchor="end" fill="#444">{most:.3g}</text>'
        f'<text x="{LEFT - 6}" y="{floor}" text-anchor="end" fill="#444">0</text>'
        f'<text x="{WIDTH - 16}" y="{HEIGHT - 16}" text-anchor="end" fill="#444">'
        f"step {last}</text>"
        f'<polyline points="{line}" fill="none" stroke="#1f5fa8" stroke-width="2"/></svg>\n'
    )
