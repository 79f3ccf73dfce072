"""Checks for other people's tests: rules that metrics keep, and flaws that they must notice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.perturb import Material
from grice.perturb.run import named, perturb
from grice.testing.conformance import check_metric

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from grice.data import Conversation
    from grice.perturb import Perturbed

__all__ = ["broken_pairs", "check_metric", "check_prefers_intact"]

NOTHING = Material()


def broken_pairs(
    conversations: Sequence[Conversation],
    kind: str,
    *,
    seed: int = 0,
    material: Material = NOTHING,
) -> Iterator[tuple[Conversation, Perturbed]]:
    """Yield each conversation with a broken twin, where there is something to break.

    Args:
        conversations: Ordinary conversations; turns from elsewhere come from among them.
        kind: A perturbation or mixture, such as ``contradiction`` or ``deam``.
        seed: Another seed, other twins.
        material: AMR graphs for the kinds that need them.

    Raises:
        InputError: If there is no such kind.
    """
    chosen = named(kind)
    if not material.others:
        material = material._replace(others=conversations)
    for conversation in conversations:
        perturbed = perturb(conversation, chosen, seed=seed, material=material)
        if perturbed is not None:
            yield conversation, perturbed


def check_prefers_intact(
    score: Callable[[Conversation], float],
    conversations: Sequence[Conversation],
    kind: str,
    *,
    at_least: float = 0.5,
    seed: int = 0,
    material: Material = NOTHING,
) -> None:
    """Assert that conversations score higher than their broken twins; chance is 0.5.

    Args:
        score: Your metric or judge: a conversation to a number, higher is better.
        conversations: Ordinary conversations.
        kind: A perturbation or mixture.
        at_least: The share of pairs that must be ranked right, equal scores counting half.
        seed: Another seed, other twins.
        material: AMR graphs for the kinds that need them.

    Raises:
        AssertionError: If fewer are ranked right, or nothing could be broken; the message holds
            the pair that was missed by most, with what was broken in it.
        InputError: If there is no such kind.
    """
    margins = []
    for intact, broken in broken_pairs(conversations, kind, seed=seed, material=material):
        margins.append((score(intact) - score(broken.conversation), intact.id, broken))
    if not margins:
        raise AssertionError(f"{kind}: none of {len(conversations)} conversations could be broken")
    share = sum(0.5 if margin == 0 else float(margin > 0) for margin, _, _ in margins)
    share /= len(margins)
    if share < at_least:
        margin, name, broken = min(margins, key=lambda margin_of: margin_of[0])
        raise AssertionError(
            f"{kind}: {share:.0%} of {len(margins)} broken conversations score lower, expected "
            f"at least {at_least:.0%}; worst: {name}, {-margin:.3g} higher although "
            f"{broken.changes[0].what}"
        )
