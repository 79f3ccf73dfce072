"""A scanner of Inspect Scout: the replies of a transcript."""

from __future__ import annotations

from grice.integrations.evaluator import METRICS, Evaluator, of_library

with of_library("inspect-scout", "0.6.1"):
    # Scout inspects the types of a scanner when it is declared.
    from inspect_scout import Result, Scanner, Transcript, scanner


@scanner(messages="all")  # type: ignore[untyped-decorator]
def grice_scanner(metrics: str = METRICS, *, models: str | None = None) -> Scanner[Transcript]:
    """Scan a transcript by metrics of :class:`Evaluator`; values are means, null if abstained."""
    evaluator = Evaluator(metrics, models=models)

    async def scan(transcript: Transcript) -> Result:
        evaluations = evaluator.conversation(transcript.messages, str(transcript.transcript_id))
        return Result(
            value={item.metric: item.value for item in evaluations},
            explanation="; ".join(f"{item.metric}: {item.reason}" for item in evaluations),
            metadata={"signatures": {item.metric: item.signature for item in evaluations}},
        )

    return scan
