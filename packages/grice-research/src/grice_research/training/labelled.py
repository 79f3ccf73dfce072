"""Labelled replies out of your own conversations, checked before anything is trained."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from grice.data import Conversation, Json, Response
from grice.errors import InputError, RecordError, did_you_mean, plural
from grice.models.protocols import Pair
from grice.scoring.loaded import responses
from grice.text.language import unreadable

LEAST = 20  # fewer labels than this can neither teach nor show anything
HISTORY = 4  # turns before a reply that are read, as the shipped models read them


class Labelled(NamedTuple):
    """Replies with what people said of them."""

    pairs: list[Pair]
    labels: list[float]
    groups: list[str]
    says: tuple[str, ...]
    responses: tuple[Response, ...] = ()  # of labelled replies


class _Found(NamedTuple):
    response: Response
    value: float
    whole: bool


def labelled_replies(
    records: Iterable[Conversation | RecordError],
    *,
    label: str = "label",
    scale: tuple[float, float] = (0.0, 1.0),
) -> Labelled:
    """Return the replies that carry a label.

    The label of a turn is its field of that name. The label of a whole conversation goes to the
    replies it names for judging, or to every reply; nobody has judged them one by one then.
    """
    low, high = scale
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(f"scale {low:g} to {high:g}: two numbers, the lower one first")
    replies: list[_Found] = []
    fields: set[str] = set()
    for record in _sound(records):
        fields.update(record.meta, *(turn.meta for turn in record.turns))
        replies += _of_conversation(record, label, scale)
    if not replies:
        near = did_you_mean(label, fields)
        raise InputError(f"no reply carries a field {label!r}{near}; name yours with --label")
    _check(replies, label)
    copied = sum(reply.whole for reply in replies)
    labels = plural(
        copied, "label is that of a whole conversation", "labels are those of whole conversations"
    )
    says = [f"{labels}, copied to each reply"]
    return Labelled(
        [_pair(reply.response) for reply in replies],
        [(reply.value - low) / (high - low) for reply in replies],
        [reply.response.conversation for reply in replies],
        tuple(says if copied else ()),
        tuple(reply.response for reply in replies),
    )


def true_and_false_replies(
    records: Iterable[Conversation | RecordError], *, seed: int = 0
) -> Labelled:
    """Return every reply as a true one, and with another conversation's reply as a false one."""
    import numpy as np

    true = [
        response
        for record in _sound(records)
        for response in responses(record)
        if response.history and _readable(response)
    ]
    talks = len({response.conversation for response in true})
    if len(true) < LEAST or talks < 5:
        raise InputError(
            f"{plural(len(true), 'reply', 'replies')} with a history in "
            f"{plural(talks, 'conversation')}; at least {LEAST} in 5 are needed"
        )
    rng = np.random.default_rng(seed)
    pairs = [_pair(response) for response in true]
    false = []
    for pair, response in zip(pairs, true, strict=True):
        other = response
        while other.conversation == response.conversation:
            other = true[int(rng.integers(len(true)))]
        false.append(Pair(pair.left, other.text))
    groups = [response.conversation for response in true]
    labels = [1.0] * len(pairs) + [0.0] * len(false)
    says = "no labels: each reply was set against one of another conversation"
    return Labelled(pairs + false, labels, groups * 2, (says,))


def _sound(records: Iterable[Conversation | RecordError]) -> list[Conversation]:
    """Return the conversations; the input is read to its end before anything is refused."""
    conversations = list(records)
    for record in conversations:
        if isinstance(record, RecordError):
            raise record
    return [record for record in conversations if not isinstance(record, RecordError)]


def _of_conversation(
    record: Conversation, label: str, scale: tuple[float, float]
) -> Iterator[_Found]:
    whole = _value(record.meta, label, f"{record.id}", scale)
    for response in responses(record):
        place = f"{record.id}, turn {response.turn}"
        own = _value(record.turns[response.turn].meta, label, place, scale)
        value = whole if own is None else own
        # A label of the conversation means its replies; its first turn is not a reply.
        if value is None or (own is None and not response.history and record.targets is None):
            continue
        if not any(turn.text.strip() for turn in response.history):
            raise InputError(f"{place}: the labelled reply has no turn before it; give its history")
        if not _readable(response):
            why = unreadable(response.text)
            what = f"the labelled reply {why}" if why else "no turn before the reply can be read"
            raise InputError(f"{place}: {what}; leave its label out")
        yield _Found(response, value, own is None and record.targets is None)


def _value(
    meta: Mapping[str, Json], label: str, place: str, scale: tuple[float, float]
) -> float | None:
    given = meta.get(label)
    if given is None or given == "":
        return None
    low, high = scale
    try:
        value = float(given)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InputError(f"{place}: {label}: a number is needed, found {given!r}") from None
    if not low <= value <= high:  # also catches NaN
        raise InputError(
            f"{place}: {label}: {value:g} is not on the scale from {low:g} to {high:g}; state "
            f"yours with --scale LOW HIGH"
        )
    return value


def _check(checked: Sequence[_Found], label: str) -> None:
    kinds = {reply.value for reply in checked}
    if len(kinds) == 1:
        raise InputError(f"every {label} is {kinds.pop():g}: there is nothing to tell apart")
    if len(checked) < LEAST:
        replies = plural(len(checked), "labelled reply", "labelled replies")
        raise InputError(f"{replies}; at least {LEAST} are needed")
    if (talks := len({reply.response.conversation for reply in checked})) < 5:
        raise InputError(f"labels of {plural(talks, 'conversation')} only; at least 5 are needed")


def _readable(response: Response) -> bool:
    return unreadable(response.text) is None and any(
        unreadable(turn.text) is None for turn in response.history
    )


def _pair(response: Response) -> Pair:
    return Pair(tuple(turn.text for turn in response.history[-HISTORY:]), response.text)
