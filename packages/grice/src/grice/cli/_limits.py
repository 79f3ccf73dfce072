"""What metrics do not see, as several commands show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.errors import LONGEST
from grice.tables import Lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grice.tables import View


def earned_view(metrics: Iterable[str]) -> View:
    """Yield which metrics have earned to run by default, each with the set that shows it."""
    from grice.metrics.earned import NOT_EARNED, verdict_on
    from grice.metrics.limits import NOT_MEASURED

    verdicts = {name: verdict_on(name) for name in metrics}
    without = (NOT_EARNED, NOT_MEASURED)
    yield Lines(["Scored by default is what beats trivial baselines on a set it has not seen:"])
    measured = (f"{name}: {words}" for name, words in verdicts.items() if words not in without)
    yield Lines(measured, indent=2, longest=LONGEST)
    for words in without:
        if others := [name for name, verdict in verdicts.items() if verdict == words]:
            yield Lines([f"{words}: {', '.join(others)}"], indent=2, longest=LONGEST)


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
