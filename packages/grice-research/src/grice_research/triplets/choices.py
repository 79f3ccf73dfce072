"""Which of four spans is the tail (task 3): candidates, filtering, and what distance gives away."""

from __future__ import annotations

import hashlib
import random
from typing import TYPE_CHECKING, NamedTuple, Protocol

from grice.errors import InputError
from grice_tasks.cider.structure import locate

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Choice",
    "Discriminator",
    "Filtered",
    "Round",
    "candidates",
    "distance_balanced",
    "filter_options",
    "nearest",
]

OPTIONS = 4


class Choice(NamedTuple):
    """One item: a question and its options.

    Attributes:
        id: Name of the item.
        text: What the options are spans of.
        head: The head span.
        relation: The relation asked for.
        options: The options.
        label: Index of the right one.
    """

    id: str
    text: str
    head: str
    relation: str
    options: tuple[str, ...]
    label: int


def candidates(
    spans: Sequence[str], head: str, valid: Sequence[str], *, overlap: bool = False
) -> list[str]:
    """Return the spans that can stand as wrong options, each once.

    Args:
        spans: Spans of the dialogue.
        head: The head: no option.
        valid: Every valid tail of this head and relation.
        overlap: Whether a span that holds a valid tail, or lies in one, may stand. The release
            takes out equal strings alone, which leaves 11 valid tails among its wrong options.
    """
    wrong = {text.strip().lower() for text in (head, *valid)}
    tails = [tail.strip().lower() for tail in valid]
    options: dict[str, str] = {}
    for span in spans:
        stripped = span.strip()
        lower = stripped.lower()
        if not stripped or lower in wrong:
            continue
        if not overlap and any(lower in tail or tail in lower for tail in tails):
            continue
        options.setdefault(lower, stripped)
    return list(options.values())


def nearest(choice: Choice) -> int:
    """Return the option whose first place is nearest to the head's; the first among equals."""
    far = _distances(choice)
    return far.index(min(far))


def _distances(choice: Choice) -> list[int]:
    head = locate(choice.text, choice.head)
    distances = []
    for option in choice.options:
        place = locate(choice.text, option)
        missing = head is None or place is None
        distances.append(len(choice.text) if missing else abs(place[0] - head[0]))  # type: ignore[index]
    return distances


def distance_balanced(choices: Sequence[Choice]) -> list[Choice]:
    """Return the items whose right option is as often nearest to the head as second, third, last.

    Of each rank as many are kept as the rarest has, those of the smallest hash of their id, so
    that answering by distance alone is right in one of four.
    """
    by_rank: list[list[Choice]] = [[] for _ in range(OPTIONS)]
    for choice in choices:
        far = _distances(choice)
        order = sorted(range(len(far)), key=lambda i: (far[i], i))
        by_rank[order.index(choice.label)].append(choice)
    most = min(map(len, by_rank))
    chosen = {
        choice.id
        for rank in by_rank
        for choice in sorted(rank, key=lambda c: hashlib.sha256(c.id.encode()).hexdigest())[:most]
    }
    return [choice for choice in choices if choice.id in chosen]


class Discriminator(Protocol):
    """What filtering plays against: learns to tell right options by context and relation."""

    def fit(self, choices: Sequence[Choice]) -> None:
        """Learn from items, from nothing."""

    def scores(self, choices: Sequence[Choice]) -> list[list[float]]:
        """Return a score per option of each item, higher for what looks right."""


class Round(NamedTuple):
    """One round of filtering: how often the discriminator was right, and what was replaced."""

    accuracy: float
    replaced: int


class Filtered(NamedTuple):
    """The items after filtering, and the discriminator's curve."""

    choices: list[Choice]
    curve: list[Round]


def filter_options(
    choices: Sequence[Choice],
    pools: Sequence[Sequence[str]],
    discriminator: Discriminator,
    *,
    rounds: int = 35,
    seed: int = 0,
) -> Filtered:
    """Return the items with wrong options that are hard to tell by context and relation alone.

    Adversarial filtering as in the paper's appendix A, after SWAG (Zellers et al. 2018): in each
    round the items are split in three; the discriminator learns from two parts (from half in the
    first round), and in each item of the rest the option it finds least likely is replaced by
    an unused one of the pool, unless that option is the right one or the pool is empty. The head is
    hidden from a discriminator that follows the paper, which leaves distance as a way out.

    Args:
        choices: The items with their first options.
        pools: For each item, what else could stand as a wrong option.
        discriminator: Plays against it.
        rounds: How many rounds; the paper saw no change after about 35.
        seed: Seed of splits and draws.

    Raises:
        InputError: If there is not one pool per item, or there are too few items to split.
    """
    if len(pools) != len(choices) or len(choices) < 3:
        raise InputError(f"{len(choices)} items with {len(pools)} pools: three or more, one each")
    draw = random.Random(seed)
    now = list(choices)
    left = [
        [option for option in dict.fromkeys(pool) if option not in choice.options]
        for choice, pool in zip(choices, pools, strict=True)
    ]
    for pool in left:
        draw.shuffle(pool)
    curve = []
    for number in range(rounds):
        order = list(range(len(now)))
        draw.shuffle(order)
        cut = len(order) // 2 if number == 0 else 2 * len(order) // 3
        discriminator.fit([now[i] for i in order[:cut]])
        rest = order[cut:]
        hits = replaced = 0
        for i, scores in zip(rest, discriminator.scores([now[i] for i in rest]), strict=True):
            hits += scores.index(max(scores)) == now[i].label
            worst = scores.index(min(scores))
            if worst != now[i].label and left[i]:
                options = list(now[i].options)
                options[worst] = left[i].pop()
                now[i] = now[i]._replace(options=tuple(options))
                replaced += 1
        curve.append(Round(hits / len(rest), replaced))
    return Filtered(now, curve)
