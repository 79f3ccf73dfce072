"""What no metric of a reply and its history can judge, and judging the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from grice.records import Judgement
from grice.text.language import other_language
from grice.text.script import unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from grice.records import Response

Item = TypeVar("Item")


def empty(response: Response) -> str | None:
    """Return that a reply has no word; None if it has one."""
    return None if response.text.strip() else "the reply is empty"


def not_read(response: Response) -> str | None:
    """Return why a reply cannot be judged by itself, in words; None if it can."""
    if reason := empty(response):
        return reason
    if reason := unreadable(response.text):
        return f"the reply {reason}"
    if language := other_language(response.text):
        return f"the reply is in {language}, not in English"
    return None


def nothing_to_judge(response: Response) -> str | None:
    """Return why a reply cannot be judged beside its history, in words; None if it can."""
    if reason := not_read(response):
        return reason
    last = None
    for turn in reversed(response.history):  # mostly the first that is looked at can be read
        if (reason := unreadable(turn.text)) is None:
            return None
        last = last or reason
    return "no turn before it" if last is None else f"what was said before {last}"


def judge_or_abstain(
    items: Sequence[Item],
    nothing: Callable[[Item], str | None],
    judge: Callable[[list[Item]], Iterable[Judgement]],
    neutral: float,
) -> Iterator[Judgement]:
    """Yield a judgement of each item: an abstention where there is nothing to judge.

    Args:
        items: Replies, or whatever is judged.
        nothing: Gives the reason why an item cannot be judged; None if it can.
        judge: Gives the judgements of those that can be, all at once and in order.
        neutral: The value of an abstention.
    """
    reasons = [nothing(item) for item in items]
    judged = [item for item, reason in zip(items, reasons, strict=True) if reason is None]
    judgements = iter(judge(judged))
    for reason in reasons:
        yield Judgement(neutral, "abstained", reason) if reason else next(judgements)
