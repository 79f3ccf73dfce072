"""Dialogue with a language model, as it is and guided: prompts, candidates, scored answers."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from grice.data import Conversation, Score, Turn
from grice.errors import InputError, RecordError
from grice.evaluation.rerank import FIELD, rerank
from grice.readers import roles
from grice_tasks.steering.guide import GuidedChoice, likeliest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from grice.scoring.api import Scorer
    from grice_tasks.steering.decoding import SteerableLM, TokenSelector
    from grice_tasks.steering.guide import Guide

SYSTEM = "You are in a friendly conversation. Answer in one or two short sentences."
BEGIN, END = "<|im_start|>", "<|im_end|>"
"""Delimiters of a message in the training data of the models of the presets."""
MAX_TOKENS = 48
WINDOW = 16  # contexts whose candidates are written together
USER, ASSISTANT = "user", "assistant"


def chat_prompt(turns: Sequence[Turn]) -> str:
    """Return turns as messages in the layout of ChatML, up to the start of the reply.

    The last speaker is the user; a system prompt of the conversation replaces the default one.

    >>> from grice.data import Turn
    >>> print(chat_prompt([Turn("A", "Is it far?")]).replace(SYSTEM, "…"))
    <|im_start|>system
    …<|im_end|>
    <|im_start|>user
    Is it far?<|im_end|>
    <|im_start|>assistant
    <BLANKLINE>
    """
    # A text without the delimiters cannot end its message.
    messages = [
        (roles.prompt_role(turn, turns[-1]), turn.text.replace(BEGIN, "").replace(END, "").strip())
        for turn in turns
    ]
    if not any(role == roles.SYSTEM for role, _ in messages):
        messages.insert(0, (roles.SYSTEM, SYSTEM))
    lines = [f"{BEGIN}{role}\n{text}{END}\n" for role, text in messages]
    return "".join(lines) + f"{BEGIN}assistant\n"


def with_candidates(
    records: Iterable[Conversation | RecordError],
    model: SteerableLM,
    guide: Guide | None = None,
    strength: float = 1.0,
    *,
    count: int,
    max_tokens: int = MAX_TOKENS,
) -> Iterator[Conversation | RecordError]:
    """Yield the contexts with candidates that a model writes, guided or not, after theirs.

    The texts begin with the likeliest tokens and continue greedily: the same model
    writes the same texts again.
    """
    if count < 1:
        raise InputError(f"at least one candidate is written, not {count}")
    if guide is not None:
        guide.check(model)
    remaining = iter(records)
    while window := list(islice(remaining, WINDOW)):
        prompts = [
            chat_prompt(record.turns) for record in window if not isinstance(record, RecordError)
        ]
        selectors = [
            GuidedChoice(guide, strength, first=place) for _ in prompts for place in range(count)
        ]
        repeated = [prompt for prompt in prompts for _ in range(count)]
        written = iter(model.decode(repeated, selectors, stop=END, max_tokens=max_tokens))
        for record in window:
            if isinstance(record, RecordError):
                yield record
                continue
            texts = [text.text for text in islice(written, count)]
            before = record.meta.get(FIELD, [])
            if isinstance(before, list):
                listed = [*before, *dict.fromkeys(filter(None, texts))]
                yield replace(record, meta={**record.meta, FIELD: listed})
            else:
                problem = "a list of candidates is needed"
                yield RecordError(problem, file=record.id, field=FIELD)


class Reply(msgspec.Struct, frozen=True):
    """A reply with its scores."""

    text: str
    scores: tuple[Score, ...]


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The replies to one turn."""

    message: str
    base: Reply
    guided: Reply | None = None  # under the guide; None without one


class Dialogue:
    """A conversation that goes on with the guided replies where there is a guide."""

    def __init__(
        self,
        model: SteerableLM,
        scorer: Scorer,
        guide: Guide | None = None,
        *,
        strength: float = 1.0,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        self._selectors: list[TokenSelector] = [likeliest]
        if guide is not None:
            guide.check(model)
            self._selectors.append(GuidedChoice(guide, strength))
        self._model, self._scorer, self._max_tokens = model, scorer, max_tokens
        self.turns: list[Turn] = []

    def answer(self, text: str) -> Answer:
        """Return the replies to a message of the user, which join the conversation."""
        turns = [*self.turns, Turn(USER, text, USER)]
        prompts = [chat_prompt(turns)] * len(self._selectors)
        written = self._model.decode(
            prompts, self._selectors, stop=END, max_tokens=self._max_tokens
        )
        texts = [each.text for each in written]
        (item,) = rerank(
            [Conversation("chat", tuple(turns), meta={FIELD: list(texts)})], self._scorer
        )
        if isinstance(item, RecordError):
            raise item
        in_order = sorted(item.candidates, key=lambda candidate: candidate.index)
        replies = [Reply(candidate.text, candidate.scores) for candidate in in_order]
        self.turns = [*turns, Turn(ASSISTANT, replies[-1].text, ASSISTANT)]
        return Answer(text, *replies)
