"""MATCH: are the keywords that belong together in the same sentence?

The published scorer was not released and its description leaves repeated keywords open. Every
reading here has a name; the two that are reported are ``first``, which gives the value of the
paper's worked example, and ``exclusive``, which does not depend on the order of the sentences
and gives nothing for writing every keyword twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from grice.errors import InputError, did_you_mean
from grice_tasks.situatedgen.words import find_run, lemmas, sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

Reading: TypeAlias = Literal["first", "exclusive", "present", "naive"]
"""Reading of a repeated keyword: ``first``, its j-th copy takes the j-th sentence that holds
it, the last one if there are fewer; ``exclusive``, it is right if the sentences that hold it are
just those its copies belong to; ``present``, it is right if its sentence holds it; ``naive``, it
takes the first sentence that holds it."""

READINGS: tuple[Reading, ...] = ("first", "exclusive", "present", "naive")


class Match(msgspec.Struct, frozen=True):
    """MATCH of one output.

    Attributes:
        value: Share of keywords in their sentence, in the better order of the two, 0 to 1.
        coverage: Share of keywords that stand in one of the first two sentences.
        missing: Keywords that stand in neither.
        sentences: How many sentences the output has; only the first two are read.
    """

    value: float
    coverage: float
    missing: tuple[str, ...]
    sentences: int


def match_keywords(
    output: str, keywords: Sequence[str], belongs: Sequence[int], *, reading: Reading = "first"
) -> Match:
    """Return MATCH of an output under a named reading.

    >>> paper = ["July", "China", "winter", "Australia", "summer", "July"]
    >>> output = "July is summer in Australia. July is winter in China."
    >>> round(match_keywords(output, paper, [0, 0, 1, 1, 0, 1]).value, 2)
    0.67
    """
    _check(keywords, belongs, reading)
    split = sentences(output)
    tokens = [lemmas(sentence) for sentence in (*split, "", "")[:2]]
    runs = [lemmas(keyword) for keyword in keywords]
    holding = {run: tuple(i for i in (0, 1) if find_run(run, tokens[i]) >= 0) for run in set(runs)}
    missing = tuple(word for word, run in zip(keywords, runs, strict=True) if not holding[run])
    right = max(
        _right(runs, [place ^ turned for place in belongs], holding, reading) for turned in (0, 1)
    )
    return Match(right / len(runs), 1 - len(missing) / len(runs), missing, len(split))


Holding: TypeAlias = "dict[tuple[str, ...], tuple[int, ...]]"


def _right(
    runs: Sequence[tuple[str, ...]], belongs: Sequence[int], holding: Holding, reading: Reading
) -> int:
    """Return how many copies are where they belong."""
    wanted: dict[tuple[str, ...], set[int]] = {}
    for run, place in zip(runs, belongs, strict=True):
        wanted.setdefault(run, set()).add(place)
    seen: dict[tuple[str, ...], int] = {}
    right = 0
    for run, place in zip(runs, belongs, strict=True):
        copy = seen.get(run, 0)
        seen[run] = copy + 1
        held = holding[run]
        if reading == "present":
            right += place in held
        elif reading == "exclusive":
            right += bool(held) and set(held) == wanted[run]
        elif held:
            right += held[0 if reading == "naive" else min(copy, len(held) - 1)] == place
    return right


def _check(keywords: Sequence[str], belongs: Sequence[int], reading: str) -> None:
    if reading not in READINGS:
        raise InputError(f"reading={reading!r}{did_you_mean(reading, READINGS)}")
    if not keywords:
        raise InputError("no keyword to look for")
    if len(keywords) != len(belongs) or not set(belongs) <= {0, 1}:
        raise InputError(
            f"{len(keywords)} keywords with places {list(belongs)}: each needs its own, 0 or 1"
        )
