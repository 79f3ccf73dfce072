"""The table of all places, from the recorded run of ``grice bench language-models``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.errors import InputError
from grice_research.language_models.samples import PART, SHIPS, Candidate
from grice_research.outdated import notice, outdated
from grice_research.rows import DIFFERENCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grice_research.figures import Figure

__all__ = ["BEGIN", "END", "places_table", "with_table"]

BEGIN, END = "<!-- places -->", "<!-- end of places -->"
HEAD = (
    "| place and data | measure | model | its figure | ships | best trivial baseline | n | stays |",
    "|---|---|---|---|---|---|---|---|",
)
CANDIDATES = (Candidate("medium"), Candidate("large"))
LOWER = "lower is better"


def with_table(page: str, figures: Sequence[Figure]) -> str:
    """Return a page with the table between its two marks.

    Raises:
        InputError: If the page does not hold both marks.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InputError(f"the table stands between {BEGIN} and {END}, which the page has not")
    old = {change: figure.command for figure, each in outdated(figures).items() for change in each}
    said = notice(old, old.values(), "Figures of the table")
    table = f"{said}\n\n{places_table(figures)}" if said else places_table(figures)
    return f"{before}{BEGIN}\n{table}{END}{after}"


def places_table(figures: Sequence[Figure]) -> str:
    """Return a Markdown table with a row for each measure of each place and each model.

    What ships stays unless the language model is above it by more than chance explains.
    """
    # A part of the data has figures of its own, and stands below the whole.
    places: dict[tuple[str, str], dict[str, dict[str, Figure]]] = {}
    for figure in figures:
        key = figure.on.removesuffix(PART), figure.measure.removeprefix(DIFFERENCE)
        places.setdefault(key, {}).setdefault(figure.on, {})[figure.row] = figure
    lines = [
        line
        for (_, measure), parts in places.items()
        for candidate in CANDIDATES
        for on, rows in parts.items()
        for line in _line(on, measure, candidate, rows)
    ]
    return "\n".join((*HEAD, *lines)) + "\n"


def _line(on: str, measure: str, candidate: Candidate, rows: Mapping[str, Figure]) -> Iterator[str]:
    own = rows.get(candidate.row)
    if own is None or own.value is None:
        return
    sign = -1 if own.lower else 1
    baselines = [row for row in rows.values() if row.kind == "baseline" and row.value is not None]
    best = max(baselines, key=lambda row: sign * (row.value or 0.0), default=None)
    shown = f"{measure} ({LOWER})" if own.lower else measure
    floor = "–" if best is None else f"{best.value:.3f} {best.row}"
    shipped = rows.get(SHIPS)
    cells = (
        on,
        shown,
        candidate.size,
        _interval(own),
        "nothing" if shipped is None else _interval(shipped),
        floor,
        str(own.n),
        _stays(shipped, rows.get(candidate.gap), sign),
    )
    yield f"| {' | '.join(cells)} |"


def _interval(figure: Figure) -> str:
    if figure.low is None or figure.high is None:
        return f"{figure.value:.3f}"
    return f"{figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}]"


def _stays(shipped: Figure | None, gap: Figure | None, sign: int) -> str:
    """Return what stays in a place, and how sure that is."""
    if shipped is None:
        return "nothing"
    if gap is None or gap.low is None or gap.high is None:
        return "what ships"
    difference = f"{gap.value:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]"
    low, high = sorted((sign * gap.low, sign * gap.high))
    if low > 0:
        return f"what ships; here the language model is better ({difference})"
    if high < 0:
        return f"what ships ({difference})"
    return f"what ships; no difference shown ({difference})"
