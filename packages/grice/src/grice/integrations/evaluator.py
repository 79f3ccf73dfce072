"""What every integration does: messages of any tool in, evaluations out."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, NamedTuple

from grice.errors import InputError, RecordError, plural
from grice.readers import from_logs, from_messages
from grice.scoring import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grice.records import Conversation, Score
    from grice.scoring import Grader

METRICS = "relevance,repetition"
"""What is evaluated where nothing is named: what says most about a single reply."""


class Evaluation(NamedTuple):
    """What one metric says of a reply or of a conversation.

    Attributes:
        metric: Its name.
        value: The score, or the mean over the replies that were judged; None where the metric
            abstained or failed for all of them.
        passed: Whether the value reaches the minimum; None without a minimum, or without a value.
        reason: The shortest reason, or why there is no value.
        signature: What exactly was computed.
    """

    metric: str
    value: float | None
    passed: bool | None
    reason: str
    signature: str


class Evaluator:
    """Metrics that are loaded once and evaluate replies and conversations.

    Args:
        metrics: Their names, comma-separated.
        minimum: The least value that passes, of all metrics or by name; without it, nothing is
            said to pass or fail.
        models: A preset, or an endpoint, as ``grice score --models`` takes it.

    Raises:
        InputError: For an unknown metric, or a minimum of a metric that is not asked for.
    """

    def __init__(
        self,
        metrics: str = METRICS,
        minimum: float | Mapping[str, float] | None = None,
        models: str | None = None,
    ) -> None:
        names = tuple(name.strip() for name in metrics.split(",") if name.strip())
        self._grader = _grader(names, models)
        if minimum is None or isinstance(minimum, (int, float)):
            self._minimum = {} if minimum is None else dict.fromkeys(names, float(minimum))
        else:
            self._minimum = dict(minimum)
        if unknown := sorted(self._minimum.keys() - set(names)):
            raise InputError(
                f"a minimum of {', '.join(unknown)}, which is not evaluated; "
                f"evaluated: {', '.join(names)}"
            )

    def reply(self, messages: object, name: str = "conversation") -> list[Evaluation]:
        """Evaluate the last message as a reply to those before.

        Args:
            messages: Of any tool; see :func:`grice.readers.from_messages`.
            name: The id of the conversation.

        Raises:
            RecordError: If they cannot be read.
        """
        return self.of(from_messages(messages, name))

    def conversation(self, messages: object, name: str = "conversation") -> list[Evaluation]:
        """Evaluate all replies of the assistant, and the conversation as a whole.

        Args:
            messages: Of any tool; see :func:`grice.readers.from_messages`.
            name: The id of the conversation.

        Raises:
            RecordError: If they cannot be read.
        """
        return self.of(from_messages(messages, name, whole=True))

    def logged(self, records: Sequence[Mapping[str, Any]], form: str) -> list[Evaluation]:
        """Evaluate the conversation of what a tool logs.

        Args:
            records: Objects in the layout of a format, of one conversation.
            form: Name of the format.

        Raises:
            RecordError: If one of them cannot be read, or nothing was said.
        """
        conversations = from_logs(records, form, "log")
        for conversation in conversations:
            if isinstance(conversation, RecordError):
                raise conversation
            return self.of(conversation)
        raise RecordError("no reply", file="log")

    def of(self, conversation: Conversation) -> list[Evaluation]:
        """Evaluate a conversation that was read."""
        by_metric: dict[str, list[Score]] = {}
        for score in self._grader.score(conversation):
            by_metric.setdefault(score.metric, []).append(score)
        return [self._evaluation(name, scores) for name, scores in by_metric.items()]

    def _evaluation(self, name: str, scores: Sequence[Score]) -> Evaluation:
        known = [s for s in scores if s.status == "ok" and s.value is not None]
        values = [score.value for score in known if score.value is not None]
        if not values:
            return Evaluation(name, None, None, scores[0].reason or "", scores[0].signature)
        value = sum(values) / len(values)
        lowest = min(known, key=lambda score: score.value or 0.0)
        reason = lowest.reason or ""
        if len(values) > 1:
            reason = (
                f"mean of {plural(len(values), 'reply', 'replies')}; lowest in turn {lowest.turn}: "
                + (reason or f"{lowest.value:.2f}")
            )
        minimum = self._minimum.get(name)
        passed = None if minimum is None else value >= minimum
        return Evaluation(name, value, passed, reason, known[0].signature)


@cache  # tools call a module once for each test; models are opened once
def _grader(metrics: tuple[str, ...], models: str | None) -> Grader:
    return load(*metrics, models=models) if models else load(*metrics)


@contextmanager
def of_library(package: str, written_for: str) -> Iterator[None]:
    """Say what to do where a library is missing, or has moved what an integration stands on.

    Args:
        package: Its name on the package index.
        written_for: The version that the integration was tested with.

    Raises:
        InputError: If something cannot be imported; it names both versions.
    """
    try:
        yield
    except (ImportError, AttributeError) as error:
        try:
            there = version(package)
        except PackageNotFoundError:
            raise InputError(
                f"{package} is not installed: pip install {package} (tested with {written_for})"
            ) from None
        raise InputError(
            f"{package} {there} is installed, and this integration was tested with {written_for}, "
            f"whose interface had what is missing now: {error}; pip install "
            f"{package}=={written_for}"
        ) from error
