"""Prompts of dialogue models, and candidates for a reply that a language model writes."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from grice.errors import InputError, RecordError
from grice.evaluation.rerank import FIELD
from grice.readers import roles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from grice.data import Conversation, Turn
    from grice.models.protocols import Generated

SYSTEM = "You are in a friendly conversation. Answer in one or two short sentences."
BEGIN, END = "<|im_start|>", "<|im_end|>"
"""Delimiters of a message in the training data of the models of the presets."""
MAX_TOKENS = 48
WINDOW = 16  # Contexts whose candidates are written together


class Writer(Protocol):
    """A generator of candidates: a causal language model, or a steered one."""

    def alternatives(
        self, prompts: Sequence[str], *, count: int, stop: str = "\n", max_tokens: int = 64
    ) -> list[tuple[Generated, ...]]:
        """Return texts that differ from their first token on."""
        ...


def with_candidates(
    records: Iterable[Conversation | RecordError],
    generator: Writer,
    *,
    count: int,
    max_tokens: int = MAX_TOKENS,
) -> Iterator[Conversation | RecordError]:
    """Yield the contexts with candidates that a model writes, after those that they have.

    The texts begin with the most probable first tokens and continue greedily: the same model
    writes the same texts again.
    """
    if count < 1:
        raise InputError(f"at least one candidate is written, not {count}")
    return _written(iter(records), generator, count, max_tokens)


def _written(
    records: Iterator[Conversation | RecordError], generator: Writer, count: int, max_tokens: int
) -> Iterator[Conversation | RecordError]:
    while window := list(islice(records, WINDOW)):
        contexts = [record for record in window if not isinstance(record, RecordError)]
        prompts = [chat_prompt(context.turns) for context in contexts]
        written = iter(
            generator.alternatives(prompts, count=count, stop=END, max_tokens=max_tokens)
        )
        for record in window:
            if isinstance(record, RecordError):
                yield record
                continue
            texts = [text.text for text in next(written)]
            before = record.meta.get(FIELD, [])
            if isinstance(before, list):
                listed = [*before, *dict.fromkeys(filter(None, texts))]
                yield replace(record, meta={**record.meta, FIELD: listed})
            else:
                problem = "a list of candidates is needed"
                yield RecordError(problem, file=record.id, field=FIELD)


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
        (
            roles.prompt_role(turn, turns[-1]),
            turn.text.replace(BEGIN, "").replace(END, "").strip(),
        )
        for turn in turns
    ]
    if not any(role == roles.SYSTEM for role, _ in messages):
        messages.insert(0, (roles.SYSTEM, SYSTEM))
    lines = [f"{BEGIN}{role}\n{text}{END}\n" for role, text in messages]
    return "".join(lines) + f"{BEGIN}assistant\n"
