"""Evaluations of messages of any tool, for all integrations."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from grice.errors import InputError, RecordError, plural
from grice.evaluation.scores import read_scores
from grice.readers import from_logs, from_messages
from grice.scoring import Grader, load

if TYPE_CHECKING:
    from grice.data import Conversation, Score

METRICS = "relevance,repetition"  # the default metrics for single replies


class Evaluation(NamedTuple):
    """Result of one metric: the score, or the mean over the judged replies, and its reason."""

    metric: str
    value: float | None  # None if the metric abstained or failed for all of them
    passed: bool | None  # whether it reaches the minimum; None without one of the two
    reason: str
    signature: str


class Evaluator:
    """Evaluator of replies and conversations by metrics that are loaded once.

    Args:
        minimum: The lowest value that passes, of all metrics or by name; without it, nothing
            passes or fails.
        models: A preset, or an endpoint, as ``grice score --models`` takes it.

    Raises:
        InputError: For an unknown preset, or a minimum of a metric that is not evaluated.
        MetricError: For an unknown metric.
    """

    def __init__(
        self,
        metrics: str = METRICS,
        minimum: float | Mapping[str, float] | None = None,
        models: str | None = None,
    ) -> None:
        names = tuple(name.strip() for name in metrics.split(",") if name.strip())
        self._grader = _grader(names, models)
        if isinstance(minimum, (int, float)):
            minimum = dict.fromkeys(names, float(minimum))
        self._minimum = dict(minimum or {})
        if unknown := sorted(self._minimum.keys() - set(names)):
            raise InputError(
                f"minimum for {', '.join(unknown)}, which is not evaluated; "
                f"evaluated: {', '.join(names)}"
            )

    def reply(self, messages: object, name: str = "conversation") -> list[Evaluation]:
        """Evaluate the last message as a reply to those before; RecordError for an unusable one.

        They may be of any tool, and ``name`` is the id of the conversation.
        """
        return self.of(from_messages(messages, name))

    def conversation(self, messages: object, name: str = "conversation") -> list[Evaluation]:
        """Evaluate all replies of the assistant, and the conversation as a whole."""
        return self.of(from_messages(messages, name, whole=True))

    def logged(self, records: Sequence[Mapping[str, Any]], form: str) -> list[Evaluation]:
        """Evaluate the conversation that a tool has logged; RecordError if it cannot be read."""
        [first, *_] = from_logs(records, form, "log") or [RecordError("no reply", file="log")]
        if isinstance(first, RecordError):
            raise first
        return self.of(first)

    def of(self, conversation: Conversation) -> list[Evaluation]:
        """Evaluate a conversation that was read."""
        by_metric: dict[str, list[Score]] = {}
        for score in self._grader.score(conversation):
            by_metric.setdefault(score.metric, []).append(score)
        return [self._evaluation(name, scores) for name, scores in by_metric.items()]

    def _evaluation(self, name: str, scores: Sequence[Score]) -> Evaluation:
        known = [(s.value, s) for s in scores if s.status == "ok" and s.value is not None]
        if not known:
            return Evaluation(name, None, None, scores[0].reason or "", scores[0].signature)
        value = sum(value for value, _ in known) / len(known)
        least, lowest = min(known, key=lambda pair: pair[0])
        reason = lowest.reason or ""
        if len(known) > 1:
            mean = f"mean of {plural(len(known), 'reply', 'replies')}"
            reason = f"{mean}; lowest in turn {lowest.turn}: {reason or f'{least:.2f}'}"
        minimum = self._minimum.get(name)
        passed = None if minimum is None else value >= minimum
        return Evaluation(name, value, passed, reason, lowest.signature)


@cache  # tools call a module once for each test; models are opened once
def _grader(metrics: tuple[str, ...], models: str | None) -> Grader:
    return load(*metrics, models=models) if models else load(*metrics)


@contextmanager
def of_library(package: str, tested: str) -> Iterator[None]:
    """Turn a failed import of a library into InputError, with the version that was tested."""
    try:
        yield
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"this integration needs {package} (tested with {tested}): {error}; "
            f"pip install {package}=={tested}"
        ) from error


def scores_to_write(file: str | Path) -> Iterator[tuple[str, Score]]:
    """Yield each score that has a value, with a stable key; InputError if the file has none."""
    none = True
    for _, score in read_scores(str(file)):
        if score.status == "ok" and score.value is not None:
            none = False
            place = f"{score.conversation}\0{score.turn}\0{score.metric}\0{score.signature}"
            yield hashlib.blake2b(place.encode(), digest_size=16).hexdigest(), score
    if none:
        raise InputError(f"{file}: holds no score with a value")
