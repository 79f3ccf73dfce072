"""Record the scores that ``grice doctor`` sets those of other machines beside.

    python -m grice_research.recipes.reference_scores

Scores the made-up conversations of the doctor with the default metrics, those of qualities that
run by name and ``sense``, whose model is the largest that ships, in both modes, and writes them
with the processor they come from. Run it again whenever one of them or a model of one changes:
scores of other signatures do not compare.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

import grice
from grice.metrics.registry import find_metrics
from grice.scoring.machine import describe_machine
from grice.scoring.reference import FILE, Recorded, ReferenceScores, conversations
from grice_research.benches._turns import QUALITIES

if TYPE_CHECKING:
    from grice.models.embedded import Mode

COMMAND = "python -m grice_research.recipes.reference_scores"


def main() -> None:
    machine = describe_machine()
    if machine.variables:
        raise SystemExit(f"unset {', '.join(machine.variables)}: they may change the scores")
    record = ReferenceScores(
        COMMAND,
        machine.processor,
        machine.instructions,
        machine.kernels,
        machine.versions,
        {"fast": record_scores("fast"), "exact": record_scores("exact")},
    )
    path = Path(grice.__file__).parent / "data" / FILE
    path.write_bytes(msgspec.json.format(msgspec.json.encode(record)) + b"\n")


def record_scores(mode: Mode) -> dict[str, Recorded]:
    """Return the scores by the name of the metric."""
    names = dict.fromkeys((*find_metrics().defaults(), *QUALITIES, "sense"))
    with grice.load(*names, mode=mode, workers=1) as grader:
        scores = grader.score(conversations())
        return {
            metric: Recorded(signature, tuple(s.value for s in scores if s.metric == metric))
            for metric, signature in grader.signatures.items()
        }


if __name__ == "__main__":
    main()
