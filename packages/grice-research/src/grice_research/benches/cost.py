"""Replies that one core scores in a second, by preset, on logs written for this project.

Time is that of the processor, without the start: models are loaded and have scored one
conversation before the clock starts, and nothing is cached. The figure is of the machine that
measured it; the ratio of two rows is of use elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import process_time

from grice.data import Conversation
from grice.errors import GriceError
from grice.scoring import load
from grice.stats import mean
from grice.stats.estimate import Estimate
from grice_research.benches._turns import digest_of
from grice_research.benches.planted_flaws import read_logs
from grice_research.context import BenchContext
from grice_research.figures import Figure, Kind, figure

TITLE = "Cost of the presets, in time of one core"
PAPER = "Our own: `quality`, by which each preset orders replies, on the first planted logs"

PRESETS = ("small", "medium", "large")
TRIVIAL = "cosine_last_turn"
RATE = "replies per core-second"
LOGS, ROUNDS = 12, 3


def measure(_: BenchContext) -> Iterator[Figure]:
    """Yield how many replies a core scores in a second by each preset and by a trivial baseline."""
    first, *talks = read_logs().talks[: LOGS + 1]
    why = f"of {ROUNDS} runs over {sum(len(talk.targets or ()) for talk in talks)} replies"
    for name in (*PRESETS, TRIVIAL):
        kind: Kind = "baseline" if name == TRIVIAL else "ours"
        try:
            rate, signature = _rate(name, first, talks)
        except GriceError as error:  # its models were not fetched
            yield figure(name, RATE, None, kind, why=str(error))
            continue
        signature = f"{signature}|on:{digest_of('planted_flaws', talks)}"
        yield figure(name, RATE, rate, kind, why=why, signature=signature)


def _rate(name: str, first: Conversation, talks: Sequence[Conversation]) -> tuple[Estimate, str]:
    """Return replies per second of a preset or a metric, and the signatures of what it ran."""
    rates = []
    for _ in range(ROUNDS):
        metric, models = (name, PRESETS[0]) if name == TRIVIAL else ("quality", name)
        with load(metric, models=models, workers=1) as grader:
            list(grader.score([first]))
            start = process_time()
            list(grader.score(talks))
            seconds = process_time() - start
            rates.append(sum(len(talk.targets or ()) for talk in talks) / seconds)
            signature = "+".join(grader.signatures.values())
    return mean(rates), signature
