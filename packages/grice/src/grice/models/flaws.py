"""Flaws of replies, from the hidden states of a causal language model, and its prompts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from grice.data import Response
from grice.errors import ModelFolderError
from grice.models.folder import ModelFolder
from grice.models.loader import ModelLoader, Settings, model_type
from grice.models.protocols import Prompt, PromptEncoder, PromptPart
from grice.numeric import Array, np

Answer = TypeVar("Answer")
SPEAKER = re.compile(
    r"^[ \t]{0,20}(?:[A-Z]|user|human|customer|client|assistant|agent|bot|ai|system):"
    r"(?:[ \t]{1,20}|$)",
    re.MULTILINE | re.IGNORECASE,
)
"""The name of a speaker at the beginning of a line, as prompts have it."""


class _Reading(NamedTuple):
    """Turns (speaker, text) of one prompt, and the replies by the index of their turn."""

    turns: list[tuple[str, str]]
    replies: dict[int, int]

    def prompt(self, first: str, end: str) -> Prompt:
        """Return the turns as lines of speakers A, B, …; replies are targets up to their end."""
        names = {first: "A"}
        parts = []
        for place, (speaker, text) in enumerate(self.turns):
            name = names.setdefault(speaker, chr(ord("A") + len(names) % 26))
            line = f" {text.strip()}"
            parts.append(PromptPart(f"{name}:"))
            if place in self.replies:
                parts += [PromptPart(line + end, target=True), PromptPart("\n"[len(end) :])]
            else:
                parts.append(PromptPart(f"{line}\n"))
        return parts


def read_replies(
    responses: Sequence[Response],
    read: Callable[[list[Prompt]], Sequence[Sequence[Answer]]],
    *,
    by_speaker: bool = False,
    end: str = "",
) -> list[Answer]:
    """Return the answer of a language model for each reply, whose prompts have replies as targets.

    A conversation is read once for all its replies, or once for those of a speaker, who is then
    called A. The end of a target is empty or a line break.
    """
    found = list(_readings(responses, by_speaker=by_speaker))
    prompts = []
    for reading in found:
        first = responses[next(iter(reading.replies.values()))].speaker
        prompts.append(reading.prompt(first if by_speaker else reading.turns[0][0], end))
    answers: dict[int, Answer] = {}
    for reading, each in zip(found, read(prompts), strict=True):
        answers.update(zip(reading.replies.values(), each, strict=True))
    return [answers[number] for number in range(len(responses))]


def _readings(responses: Sequence[Response], *, by_speaker: bool) -> Iterator[_Reading]:
    """Join each reply to an open reading that is the beginning of its history."""
    open_readings: dict[str, _Reading] = {}
    for number, response in enumerate(responses):
        turns = [(turn.speaker, turn.text) for turn in response.history]
        turns.append((response.speaker, response.text))
        group = response.speaker if by_speaker else ""
        reading = open_readings.get(group)
        begun = len(reading.turns) if reading else 0
        # A repeated reply gets its own prompt, so that both are scored.
        if reading and begun < len(turns) and turns[:begun] == reading.turns:
            reading.turns.extend(turns[begun:])
            reading.replies[len(turns) - 1] = number
            continue
        if reading:
            yield reading
        open_readings[group] = _Reading(turns, {len(turns) - 1: number})
    yield from open_readings.values()


class FlawSettings(Settings, frozen=True):
    """Settings of a model of type ``flaw-heads``: its language model, and the flaw per output."""

    base: str
    flaws: list[str]


class FlawHeads:
    """A small network on the mean hidden state of a reply, with an output per flaw."""

    def __init__(self, folder: ModelFolder, settings: FlawSettings, loader: ModelLoader) -> None:
        from grice.models.mlp import Mlp

        reader = loader.dependency(folder, settings.base, PromptEncoder, "states")
        self.identity = f"{folder.identity}/{reader.identity}"
        self.flaws = tuple(settings.flaws)  # the first is any flaw at all
        self._reader, self.truncated = reader, reader.truncated
        self._network = Mlp.load(folder.file("head.npz"))
        weight, bias = self._network.layers[0][0], self._network.layers[-1][1]
        if (len(weight), len(bias)) != (reader.dimensions, len(self.flaws)):
            raise ModelFolderError(
                f"{folder.path}: head.npz maps {len(weight)} dimensions to {len(bias)} flaws; "
                f"{reader.dimensions} and {len(self.flaws)} are expected"
            )

    def log_odds(self, responses: Sequence[Response]) -> Array:
        """Return the log odds of each flaw of each reply, shape ``(replies, flaws)``."""
        return self._network(reply_states(self._reader, responses))


def reply_states(reader: PromptEncoder, responses: Sequence[Response]) -> Array:
    """Return the mean hidden state of each reply after its history, ``(replies, dimensions)``.

    Names of speakers within a turn are left out: it would read as several turns.
    """
    alone = [
        replace(
            response,
            text=_one_turn(response.text),
            history=tuple(replace(turn, text=_one_turn(turn.text)) for turn in response.history),
        )
        if any(":" in turn.text for turn in response.history) or ":" in response.text
        else response
        for response in responses
    ]
    states = read_replies(alone, reader.mean_states, by_speaker=True, end="\n")
    return np.array(states, np.float32).reshape(-1, reader.dimensions)


def _one_turn(text: str) -> str:
    return SPEAKER.sub("", text) if ":" in text else text


flaw_heads = model_type("flaw-heads", task="flaws", settings=FlawSettings)(FlawHeads)
