"""Replies that a model draws for contexts, labelled by metrics: what a guide learns from."""

from __future__ import annotations

import math
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec.structs import replace

from grice.errors import InputError, RecordError
from grice.evaluation.candidates import END, chat_prompt
from grice.evaluation.rerank import FIELD, rerank
from grice.progress import track
from grice.records import Conversation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from grice.evaluation.rerank import Candidate
    from grice.models.protocols import SteerableLM
    from grice.scoring.run import Scorer

MOST_TURNS = 4
"""Turns of a context, as in the thesis."""
WINDOW = 8
"""Contexts after whose samples a run that is stopped goes on."""


class Sampling(NamedTuple):
    """How replies are drawn and labelled.

    Attributes:
        replies: Of each context.
        temperature: Of the base model.
        max_tokens: Longest reply.
        threshold: A score from here on satisfies a metric.
        seed: Of what is drawn.
    """

    replies: int = 4
    temperature: float = 0.7
    max_tokens: int = 40
    threshold: float = 0.5
    seed: int = 0

    def check(self) -> None:
        """Raise InputError for a threshold that is no number."""
        if not math.isfinite(self.threshold):
            raise InputError(f"a threshold is a finite number, found {self.threshold}")


class Labelled(NamedTuple):
    """A drawn reply with its labels.

    Attributes:
        context: Number of its context.
        prompt: What the model read.
        text: The reply; what ends it stands behind it, unless it was cut.
        labels: Whether it satisfies each metric.
    """

    context: int
    prompt: str
    text: str
    labels: dict[str, bool]

    def satisfies(self, metrics: Iterable[str]) -> bool:
        """Return whether it satisfies all of these."""
        return all(self.labels[name] for name in metrics)


def draw_contexts(
    records: Iterable[Conversation | RecordError], *, seed: int, most_turns: int = MOST_TURNS
) -> Iterator[Conversation | RecordError]:
    """Yield one context of each conversation: consecutive turns at a random position."""
    random = np.random.default_rng(seed)
    for record in records:
        if isinstance(record, RecordError):
            yield record
        elif not record.turns:
            yield RecordError("there is no turn to answer", file=record.id, field="turns")
        else:
            starts = max(1, len(record.turns) - most_turns)
            start = int(random.integers(starts))
            turns = record.turns[start : start + most_turns]
            yield Conversation(record.id, turns)


def labelled_samples(
    contexts: Sequence[Conversation], model: SteerableLM, scorer: Scorer, sampling: Sampling
) -> list[Labelled]:
    """Return replies that a model draws for contexts, each with the labels of all metrics.

    A reply that a metric does not judge, or fails on, is left out.
    """
    if not contexts:
        raise InputError("no context to learn from: each needs a turn to answer")
    numbered = iter(enumerate(contexts))
    windows = iter(lambda: list(islice(numbered, WINDOW)), [])
    count = -(-len(contexts) // WINDOW)
    labelled = [
        reply
        for window in track(windows, "parts of the contexts", count)
        for reply in _of_window(window, model, scorer, sampling)
    ]
    if not labelled:
        raise InputError("no reply that was drawn could be judged by all metrics")
    return labelled


def _of_window(
    window: Sequence[tuple[int, Conversation]],
    model: SteerableLM,
    scorer: Scorer,
    sampling: Sampling,
) -> Iterator[Labelled]:
    prompts = [chat_prompt(context.turns) for _, context in window]
    drawn = model.sample(
        prompts,
        count=sampling.replies,
        seed=sampling.seed,
        temperature=sampling.temperature,
        stop=END,
        max_tokens=sampling.max_tokens,
    )
    records = [
        replace(context, meta={FIELD: [reply.text for reply in replies]})
        for (_, context), replies in zip(window, drawn, strict=True)
    ]
    ranked = rerank(records, scorer)
    for (number, _), prompt, replies, item in zip(window, prompts, drawn, ranked, strict=True):
        if isinstance(item, RecordError):
            continue
        for candidate in sorted(item.candidates, key=lambda candidate: candidate.index):
            labels = _labels(candidate, sampling.threshold)
            if labels is not None:
                text = candidate.text + END * replies[candidate.index].ended
                yield Labelled(number, prompt, text, labels)


def _labels(candidate: Candidate, threshold: float) -> dict[str, bool] | None:
    """Return whether each metric is satisfied; None where one does not judge."""
    if not candidate.scores or any(score.status != "ok" for score in candidate.scores):
        return None
    return {score.metric: (score.value or 0.0) >= threshold for score in candidate.scores}
