"""What metrics do not see, as several commands show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.errors import LONGEST
from grice.tables import Lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grice.tables import View

__all__ = ["limits_view"]


def limits_view(metrics: Iterable[str]) -> View:
    """Yield what metrics do not see, in one line each; those not measured in one for all."""
    from grice.metrics.limits import NOT_MEASURED, summed_up

    limits = {name: summed_up(name) for name in metrics}
    they = "they do" if len(limits) > 1 else "it does"
    yield Lines([f"What {they} not see, by recorded figures (grice list METRIC has them):"])
    measured = (f"{name}: {words}" for name, words in limits.items() if words != NOT_MEASURED)
    yield Lines(measured, indent=2, longest=LONGEST)
    if missing := [name for name, words in limits.items() if words == NOT_MEASURED]:
        yield Lines([f"{NOT_MEASURED}: {', '.join(missing)}"], indent=2, longest=LONGEST)
