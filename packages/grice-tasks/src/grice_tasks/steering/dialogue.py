"""A conversation with a language model, whose guided reply stands beside what it says unguided."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from grice.errors import RecordError
from grice.evaluation.candidates import END, MAX_TOKENS, chat_prompt
from grice.evaluation.rerank import FIELD, rerank
from grice.records import Conversation, Score, Turn
from grice_tasks.steering.guide import GuidedChoice, likeliest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.models.protocols import SteerableLM
    from grice.models.stepwise import Chooser
    from grice.scoring.run import Scorer
    from grice_tasks.steering.guide import Guide

USER, ASSISTANT = "user", "assistant"


class Reply(msgspec.Struct, frozen=True):
    """Turns written so far, with their scores."""

    text: str
    scores: tuple[Score, ...]


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The replies to one turn.

    Attributes:
        message: The turn that is answered.
        base: The reply of the model as it is.
        guided: The reply under the guide; None without one.
    """

    message: str
    base: Reply
    guided: Reply | None = None


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
        choosers: list[Chooser] = [likeliest]
        if self._guide is not None:
            choosers.append(GuidedChoice(self._guide, self._strength))
        written = self._model.choose(
            [prompt] * len(choosers), choosers, stop=END, max_tokens=self._max_tokens
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
