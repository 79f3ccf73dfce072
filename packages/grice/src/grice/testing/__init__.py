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
    """Yield each conversation that can be broken with its perturbed version.

    Turns of other conversations come from among them, if the material has none. ``kind`` is a
    perturbation or mixture, such as ``contradiction`` or ``deam``.
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
    """Assert that conversations score higher than their perturbed versions; chance is 0.5.

    Args:
        score: Metric or judge: a conversation to a number, higher is better.
        conversations: Ordinary conversations.
        kind: A perturbation or mixture.
        at_least: Least share of pairs in the right order; equal scores count half.
        seed: Seed of the perturbation.
        material: Other conversations and resources of the perturbation.

    Raises:
        AssertionError: If fewer pairs are in the right order, or nothing could be broken.
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
