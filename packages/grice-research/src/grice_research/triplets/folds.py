"""Folds of dialogues for cross-validation, near-duplicates together."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from grice.errors import InputError
from grice.text.tokens import UNICODE_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["make_folds", "near_duplicates"]

GRAM = 6
"""Words in a row that two texts have in common."""
SHARED = 0.5
"""Share of the shorter text's :data:`GRAM`-grams from which on two texts are near-duplicates."""


def near_duplicates(texts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the pairs of texts that share over half of the shorter one's runs of six words."""
    grams = {name: _grams(text) for name, text in texts.items()}
    holders: dict[tuple[str, ...], list[str]] = {}
    for name, grams_of_text in grams.items():
        for gram in grams_of_text:
            holders.setdefault(gram, []).append(name)
    shared: dict[tuple[str, str], int] = {}
    for names in holders.values():
        for i, first in enumerate(names):
            for second in names[i + 1 :]:
                shared[first, second] = shared.get((first, second), 0) + 1
    return sorted(
        (a, b)
        for (a, b), count in shared.items()
        if count / min(len(grams[a]), len(grams[b])) > SHARED
    )


def _grams(text: str) -> set[tuple[str, ...]]:
    words = UNICODE_WORDS.findall(text.lower())
    return {tuple(words[i : i + GRAM]) for i in range(len(words) - GRAM + 1)}


def make_folds(texts: Mapping[str, str], *, folds: int = 5, seed: int = 0) -> dict[str, int]:
    """Return a test fold, from 1, for each dialogue; near-duplicates share one.

    Groups are dealt by size, largest first, each to the fold with the fewest dialogues, in an
    order drawn by the seed among groups of one size.

    Args:
        texts: Text of each dialogue by id; its order does not matter.
        folds: How many.
        seed: Seed of the draw.

    Raises:
        InputError: If there are fewer groups than folds, or fewer than two folds.
    """
    groups = _groups(sorted(texts), near_duplicates(texts))
    if not 2 <= folds <= len(groups):
        raise InputError(
            f"folds={folds}: from 2 to {len(groups)}, the number of dialogues that are no "
            f"near-duplicates of each other"
        )
    random.Random(seed).shuffle(groups)
    groups.sort(key=len, reverse=True)
    sizes = [0] * folds
    fold_of: dict[str, int] = {}
    for group in groups:
        smallest = sizes.index(min(sizes))
        sizes[smallest] += len(group)
        fold_of |= dict.fromkeys(group, smallest + 1)
    return fold_of


def _groups(names: Sequence[str], pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    leader = {name: name for name in names}

    def top(name: str) -> str:
        while leader[name] != name:
            name = leader[name]
        return name

    for a, b in pairs:
        first, second = sorted((top(a), top(b)))
        leader[second] = first
    grouped: dict[str, list[str]] = {}
    for name in names:
        grouped.setdefault(top(name), []).append(name)
    return list(grouped.values())
