"""A conversation with a language model, whose guided reply stands beside what it says unguided."""

from __future__ import annotations

import math
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from grice.data import Conversation, Score, Turn
from grice.errors import InputError, RecordError
from grice.evaluation.rerank import FIELD, rerank
from grice.progress import track
from grice_tasks.steering.candidates import END, MAX_TOKENS, chat_prompt
from grice_tasks.steering.guide import GuidedChoice, likeliest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from grice.evaluation.rerank import Candidate
    from grice.models.decoding import TokenSelector
    from grice.models.protocols import SteerableLM
    from grice.scoring.api import Scorer
    from grice_tasks.steering.guide import Guide


USER, ASSISTANT = "user", "assistant"


class Reply(msgspec.Struct, frozen=True):
    """Turns written so far, with their scores."""

    text: str
    scores: tuple[Score, ...]


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The replies to one turn."""

    message: str  # the turn that is answered
    base: Reply  # the reply of the model as it is
    guided: Reply | None = None  # the reply under the guide; None without one


class Dialogue:
    """A conversation that goes on with the guided replies where there is a guide.

    The likeliest token is taken each time: the same turns get the same replies.
    """

    def __init__(
        self,
        model: SteerableLM,
        scorer: Scorer,
        guide: Guide | None = None,
        *,
        strength: float = 1.0,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        if guide is not None:
            guide.check(model)
            GuidedChoice(guide, strength)
        self._model, self._scorer = model, scorer
        self._guide, self._strength = guide, strength
        self._max_tokens = max_tokens
        self.turns: list[Turn] = []

    def answer(self, text: str) -> Answer:
        """Return the replies to what the user says, which become part of the conversation."""
        turns = [*self.turns, Turn(USER, text, USER)]
        prompt = chat_prompt(turns)
        selectors: list[TokenSelector] = [likeliest]
        if self._guide is not None:
            selectors.append(GuidedChoice(self._guide, self._strength))
        written = self._model.decode(
            [prompt] * len(selectors), selectors, stop=END, max_tokens=self._max_tokens
        )
        replies = self._scored(turns, [each.text for each in written])
        self.turns = [*turns, Turn(ASSISTANT, replies[-1].text, ASSISTANT)]
        return Answer(text, replies[0], replies[1] if len(replies) > 1 else None)

    def _scored(self, turns: Sequence[Turn], texts: Sequence[str]) -> list[Reply]:
        context = Conversation("chat", tuple(turns), meta={FIELD: list(texts)})
        (item,) = rerank([context], self._scorer)
        if isinstance(item, RecordError):
            raise item
        in_order = sorted(item.candidates, key=lambda candidate: candidate.index)
        return [Reply(candidate.text, candidate.scores) for candidate in in_order]


MOST_TURNS = 4  # Turns of a context, as in the thesis
WINDOW = 8  # Contexts after whose samples a run that is stopped goes on


class Sampling(NamedTuple):
    """How replies are drawn and labelled."""

    replies: int = 4  # of each context
    temperature: float = 0.7  # of the base model
    max_tokens: int = 40  # longest reply
    threshold: float = 0.5  # A score from here on satisfies a metric
    seed: int = 0  # of what is drawn

    def check(self) -> None:
        """Raise InputError for a threshold that is no number."""
        if not math.isfinite(self.threshold):
            raise InputError(f"a threshold is a finite number, found {self.threshold}")


class Labelled(NamedTuple):
    """A drawn reply with its labels."""

    context: int  # number of its context
    prompt: str  # what the model read
    text: str  # the reply; what ends it stands behind it, unless it was cut
    labels: dict[str, bool]  # whether it satisfies each metric

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
