"""Candidates for a reply, written by a language model."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from grice.errors import InputError, RecordError
from grice.records import Turn
from grice.scoring.items import ASSISTANTS, INSTRUCTIONS
from grice.steer.rerank import FIELD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from grice.records import Conversation
    from grice.runtime.protocols import Generated

__all__ = ["END", "MAX_TOKENS", "Writer", "chat_prompt", "with_candidates"]

SYSTEM = "You are in a friendly conversation. Answer in one or two short sentences."
BEGIN, END = "<|im_start|>", "<|im_end|>"
"""Marks of a message, as the models of the presets medium and large have learned them."""
MAX_TOKENS = 48
WINDOW = 16
"""Contexts whose candidates are written before they are passed on."""


class Writer(Protocol):
    """What writes candidates: any causal generator, or one that a guide steers."""

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
    field: str = FIELD,
    max_tokens: int = MAX_TOKENS,
) -> Iterator[Conversation | RecordError]:
    """Yield the contexts with candidates that a model writes, behind those that they have.

    The texts begin with the model's likeliest first tokens and go on with the best one each time:
    they differ, nothing is drawn at random, and the same model writes the same texts again.

    Args:
        records: Contexts, whose last turn is the one to answer.
        generator: A model that was trained on messages in the layout of ChatML.
        count: Candidates of each context; texts that are written twice or empty are fewer.
        field: The field of the record that holds them.
        max_tokens: Longest text.

    Raises:
        InputError: For less than one candidate.
    """
    if count < 1:
        raise InputError(f"at least one candidate is written, not {count}")
    return _written(iter(records), generator, count, field, max_tokens)


def _written(
    records: Iterator[Conversation | RecordError],
    generator: Writer,
    count: int,
    field: str,
    max_tokens: int,
) -> Iterator[Conversation | RecordError]:
    while window := list(islice(records, WINDOW)):
        contexts = [record for record in window if not isinstance(record, RecordError)]
        prompts = [chat_prompt(context.turns) for context in contexts]
        texts = iter(generator.alternatives(prompts, count=count, stop=END, max_tokens=max_tokens))
        for record in window:
            if isinstance(record, RecordError):
                yield record
            else:
                written = [text.text for text in next(texts) if text.text]
                yield _with(record, field, list(dict.fromkeys(written)))


def _with(context: Conversation, field: str, texts: Sequence[str]) -> Conversation | RecordError:
    before = context.meta.get(field, [])
    if not isinstance(before, list):
        return RecordError("a list of candidates is needed", file=context.id, field=field)
    return replace(context, meta={**context.meta, field: [*before, *texts]})


def chat_prompt(turns: Sequence[Turn]) -> str:
    """Return turns as messages in the layout of ChatML, up to where the reply begins.

    Whoever speaks last is the user; a system prompt of the conversation stands in place of ours.

    >>> print(chat_prompt([Turn("A", "Is it far?")]).replace(SYSTEM, "…"))
    <|im_start|>system
    …<|im_end|>
    <|im_start|>user
    Is it far?<|im_end|>
    <|im_start|>assistant
    <BLANKLINE>
    """
    messages = [(_role(turn, turns[-1]), _plain(turn.text)) for turn in turns]
    if not any(role == "system" for role, _ in messages):
        messages.insert(0, ("system", SYSTEM))
    lines = [f"{BEGIN}{role}\n{text}{END}\n" for role, text in messages]
    return "".join(lines) + f"{BEGIN}assistant\n"


def _role(turn: Turn, last: Turn) -> str:
    if turn.role in INSTRUCTIONS:
        return "system"
    if turn.role:
        return "assistant" if turn.role in ASSISTANTS else "user"
    return "user" if turn.speaker == last.speaker else "assistant"


def _plain(text: str) -> str:
    """Return a text that cannot end its message: what was said is no instruction."""
    return text.replace(BEGIN, "").replace(END, "").strip()
