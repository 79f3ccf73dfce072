"""Perturbations: functions that break a conversation on purpose and list the changes."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

    from grice.data import Conversation

__all__ = ["Change", "Material", "Perturbation", "Perturbed", "perturbation"]

Level: TypeAlias = str
"""``text``: turns are moved. ``semantic``: wording is changed. Plug-ins may have others."""


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """One change.

    Attributes:
        turns: Indices of the turns, in the new conversation, whose text or speaker differs.
    """

    kind: str
    turns: tuple[int, ...]
    what: str
    before: str = ""
    after: str = ""


class Perturbed(msgspec.Struct, frozen=True):
    """A broken conversation with its changes."""

    conversation: Conversation
    changes: tuple[Change, ...]


class Material(NamedTuple):
    """Resources of a perturbation beside the conversation itself.

    Attributes:
        others: Other conversations, for turns from elsewhere.
        resources: Named files, models or objects that plug-in perturbations read.
    """

    others: Sequence[Conversation] = ()
    resources: Mapping[str, object] = {}


if TYPE_CHECKING:
    Function: TypeAlias = Callable[[Conversation, Random, Material], Perturbed | None]


class Perturbation(NamedTuple):
    """A perturbation with its name and publication.

    Attributes:
        apply: Function of a conversation, a random generator and material; None if there is
            nothing to break.
        prepare: Opens the resources that ``apply`` reads; called once per run.
    """

    name: str
    level: Level
    source: str
    summary: str
    apply: Function
    prepare: Callable[[Material], Material] | None = None


def perturbation(
    name: str, level: Level, source: str, prepare: Callable[[Material], Material] | None = None
) -> Callable[[Function], Perturbation]:
    """Declare a function as a perturbation; the first line of its docstring is the summary."""

    def declare(function: Function) -> Perturbation:
        summary = (function.__doc__ or "").strip().partition("\n")[0]
        return Perturbation(name, level, source, summary, function, prepare)

    return declare


def with_texts(conversation: Conversation, texts: Mapping[int, str]) -> Conversation:
    """Return the conversation with other texts in some turns."""
    turns = list(conversation.turns)
    for index, text in texts.items():
        turns[index] = replace(turns[index], text=text)
    return replace(conversation, turns=tuple(turns))


def some_turns(
    conversation: Conversation, draw: Random, share: float, change: Callable[[int], Change | None]
) -> Perturbed | None:
    """Change the texts of a share of the turns, at least one, in any order."""
    places = list(range(len(conversation.turns)))
    draw.shuffle(places)
    wanted = max(1, int(share * len(places)))
    changes = list(islice(filter(None, map(change, places)), wanted))
    if not changes:
        return None
    texts = {made.turns[0]: made.after for made in changes}
    return Perturbed(with_texts(conversation, texts), tuple(changes))
