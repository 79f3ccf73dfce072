"""What int8 costs the systems that write: their figures in ``fast`` beside those in ``exact``.

    python -m grice_research.recipes.published.modes --data DATA

A line a figure of each system that was trained, with the seconds that each mode took.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

from grice.runtime.models import Models, default_workers
from grice_research.recipes.published.systems import WRITERS
from grice_research.recipes.published.train import WORK, fields

if TYPE_CHECKING:
    from grice.runtime.embedded import Mode
    from grice_research.recipes.published.measures import Figure
    from grice_research.recipes.published.systems import System

MODES: tuple[Mode, Mode] = ("fast", "exact")


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    for name, opened in WRITERS.items():
        place = name.replace(" ", "-")
        bundle = WORK / f"{place}-0"
        if bundle.exists():
            system = opened(data=options.data, folder=WORK / place)
            measured = {mode: _measured(system, bundle, mode) for mode in MODES}
            for fast, exact in zip(*(figures for figures, _ in measured.values()), strict=True):
                row = {
                    "system": name,
                    "measure": fast.measure,
                    "fast": fields(fast.estimate),
                    "exact": fields(exact.estimate),
                    "seconds": {mode: round(seconds, 1) for mode, (_, seconds) in measured.items()},
                }
                print(json.dumps(row), flush=True)


def _measured(system: System, bundle: Path, mode: Mode) -> tuple[list[Figure], float]:
    began = time.perf_counter()
    with Models(mode=mode, workers=default_workers(), cache=None) as models:
        figures = list(system.figures(models, f"file:{bundle.resolve()}"))
    return figures, time.perf_counter() - began


if __name__ == "__main__":
    main()
