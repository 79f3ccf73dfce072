"""Candidates for a reply, written by a language model."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec.structs import replace

from grice.errors import InputError, RecordError
from grice.evaluation.rerank import FIELD
from grice.models.protocols import Chat, ChatRequest, Message, Unanswered
from grice.readers import roles
from grice.records import Turn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from grice.models.protocols import Generated
    from grice.records import Conversation

SYSTEM = "You are in a friendly conversation. Answer in one or two short sentences."
BEGIN, END = "<|im_start|>", "<|im_end|>"
"""Marks of a message, as the models of the presets medium and large have learned them."""
ASKED = (
    f"{SYSTEM} The conversation so far is the JSON you are given; write the assistant's next turn. "
    'Answer with JSON alone: {"reply": "..."}'
)
AROUND = 16
"""Tokens of the JSON around a reply."""
MAX_TOKENS = 48
WINDOW = 16
"""Contexts whose candidates are written before they are passed on."""


class Writer(Protocol):
    """A generator of candidates: any causal language model, or a steered one."""

    def alternatives(
        self, prompts: Sequence[str], *, count: int, stop: str = "\n", max_tokens: int = 64
    ) -> list[tuple[Generated, ...]]:
        """Return texts that differ from their first token on."""
        ...


def with_candidates(
    records: Iterable[Conversation | RecordError],
    generator: Writer | Chat,
    *,
    count: int,
    field: str = FIELD,
    max_tokens: int = MAX_TOKENS,
) -> Iterator[Conversation | RecordError]:
    """Yield the contexts with candidates that a model writes, behind those that they have.

    The texts begin with the model's likeliest first tokens and go on with the best one each time:
    they differ, nothing is drawn at random, and the same model writes the same texts again. A chat
    model of an endpoint is asked so many times, with another seed each, at temperature 1.
    """
    if count < 1:
        raise InputError(f"at least one candidate is written, not {count}")
    return _written(iter(records), generator, count, field, max_tokens)


def _written(
    records: Iterator[Conversation | RecordError],
    generator: Writer | Chat,
    count: int,
    field: str,
    max_tokens: int,
) -> Iterator[Conversation | RecordError]:
    while window := list(islice(records, WINDOW)):
        contexts = [record for record in window if not isinstance(record, RecordError)]
        if isinstance(generator, Chat):
            texts = iter(_asked(generator, contexts, count, max_tokens))
        else:
            prompts = [chat_prompt(context.turns) for context in contexts]
            written = generator.alternatives(prompts, count=count, stop=END, max_tokens=max_tokens)
            texts = ([text.text for text in alternatives] for alternatives in written)
        for record in window:
            if isinstance(record, RecordError):
                yield record
            elif isinstance(said := next(texts), Unanswered):
                yield RecordError(f"no candidate: {said.reason}", file=record.id, field=field)
            else:
                before = record.meta.get(field, [])
                if isinstance(before, list):
                    listed = [*before, *dict.fromkeys(filter(None, said))]
                    yield replace(record, meta={**record.meta, field: listed})
                else:
                    problem = "a list of candidates is needed"
                    yield RecordError(problem, file=record.id, field=field)


class _Reply(msgspec.Struct):
    reply: str


def _asked(
    chat: Chat, contexts: Sequence[Conversation], count: int, max_tokens: int
) -> Iterator[list[str] | Unanswered]:
    """Yield what a chat model answers to each context, or why it answers none of its requests."""
    requests = []
    for context in contexts:
        # What was said is data, and no instruction.
        talk = [
            {"role": roles.prompt_role(turn, context.turns[-1]), "content": turn.text}
            for turn in context.turns
        ]
        content = msgspec.json.encode({"conversation": talk}).decode()
        messages = (Message("system", ASKED), Message("user", content))
        limit = max_tokens + AROUND
        requests += [ChatRequest(messages, 1.0, seed, limit) for seed in range(count)]
    answers = chat.answers(requests, _Reply)
    for start in range(0, len(answers), count):
        said = answers[start : start + count]
        texts = [" ".join(each.reply.split()) for each in said if isinstance(each, _Reply)]
        missing = [each for each in said if isinstance(each, Unanswered)]
        yield texts if texts else missing[0]


def chat_prompt(turns: Sequence[Turn]) -> str:
    """Return turns as messages in the layout of ChatML, up to where the reply begins.

    The last speaker is the user; a system prompt of the conversation stands in place of ours.

    >>> print(chat_prompt([Turn("A", "Is it far?")]).replace(SYSTEM, "…"))
    <|im_start|>system
    …<|im_end|>
    <|im_start|>user
    Is it far?<|im_end|>
    <|im_start|>assistant
    <BLANKLINE>
    """
    # A text without the marks cannot end its message: what was said is no instruction.
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
