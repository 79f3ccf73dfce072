"""Scores as events of OpenTelemetry, ``gen_ai.evaluation.result``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from grice.integrations.evaluator import of_library

with of_library("opentelemetry-api", "1.45.2"):
    from opentelemetry._logs import LogRecord, get_logger

if TYPE_CHECKING:
    from grice.data import Score

EVENT = "gen_ai.evaluation.result"


def emit_scores(scores: Iterable[Score], *, attributes: dict[str, Any] | None = None) -> int:
    """Emit an event of the current span for each score, with further attributes; return how many.

    An event without a value has the reason.
    """
    logger = get_logger("grice")
    count = 0
    for score in scores:
        count += 1
        named = {
            "gen_ai.evaluation.name": score.metric,
            "gen_ai.evaluation.score.value": score.value if score.status == "ok" else None,
            "gen_ai.evaluation.score.label": None if score.status == "ok" else score.status,
            "gen_ai.evaluation.explanation": score.reason,
            "gen_ai.conversation.id": score.conversation,
            "grice.turn": score.turn,
            "grice.signature": score.signature,
            **(attributes or {}),
        }
        known = {name: value for name, value in named.items() if value is not None}
        logger.emit(LogRecord(event_name=EVENT, attributes=known))
    return count
