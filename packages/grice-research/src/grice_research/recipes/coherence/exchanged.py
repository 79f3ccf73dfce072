"""Turns in which words were exchanged on purpose, beside the same turns as they were said."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from grice.perturb.wording import agreeing, replace, words
from grice_research.surface import base, exchanged, placeholder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grice_research.recipes.coherence.data import Sample

Spans = tuple[tuple[int, int], ...]

TURNS = 4
"""Turns of a conversation that are used."""
LONGEST, SHORTEST = 500, 4
"""Characters, and words, of such a turn."""
POOL = 1500
"""Conversations whose words are put into other ones."""
FEW, HALF = 0.2, 0.5
"""Shares of a turn's words that are exchanged."""
ANY, LOST = 0.15, 0.12
"""Shares of words that are exchanged for any other, and that are left out."""
OTHERS = ("stranger", "stranger", "any", "drop", "swap", "irrelevancy")

_TOKEN = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")
_LETTERS = re.compile(r"[^\W\d_]+")
_WITH_BLANKS = re.compile(r"\S+\s*")


class Exchanged(NamedTuple):
    """A turn as it was said and with other words."""

    kind: str
    original: str
    text: str
    spans: Spans


class _Pool(NamedTuple):
    """Words of other conversations, by what they can take the place of, and all of them."""

    by_slot: dict[tuple[str, str], list[str]]
    all: list[str]


def exchanges(samples: Sequence[Sample], seed: int) -> list[list[Exchanged]]:
    """Return for each conversation some of its turns with other words.

    Each turn once with words of the same conversation, and once in another way: words of the same
    kind from elsewhere, any words, words left out or in another order.
    """
    pool = _pool(samples[:POOL])
    return [_of(sample, Random(f"{seed}:{i}"), pool) for i, sample in enumerate(samples)]


def as_perturbed(intact: Sample, broken: Sample) -> list[Exchanged]:
    """Return the turns that a perturbation of wording has changed."""
    if len(intact.turns) != len(broken.turns):
        return []
    return [_exchanged(broken.kind, intact.turns[i], broken.turns[i])
            for i in sorted(broken.broken) if intact.turns[i] != broken.turns[i]]  # fmt: skip


def _of(sample: Sample, draw: Random, pool: _Pool) -> list[Exchanged]:
    read = [words(text) for text in sample.turns]
    places = [i for i, text in enumerate(sample.turns)
              if len(text.split()) >= SHORTEST and len(text) < LONGEST]  # fmt: skip
    draw.shuffle(places)
    drawn: list[Exchanged] = []
    used = 0
    for place in places:
        if used == TURNS:
            break
        original = sample.turns[place]
        made = []
        for kind in ("irrelevancy", draw.choice(OTHERS)):
            if kind == "irrelevancy":
                change = exchanged(sample.turns, read, place, draw)
                text = change.after if change else None
            else:
                text = _WAYS[kind](original, draw, pool)
            if text and text != original:
                made.append(_exchanged(kind, original, text))
        drawn += made
        used += bool(made)
    return drawn


def _pool(samples: Sequence[Sample]) -> _Pool:
    by_slot: dict[tuple[str, str], list[str]] = {}
    every = []
    for text in (text for sample in samples for text in sample.turns):
        for word in words(text):
            if word.kind:
                by_slot.setdefault(placeholder(word), []).append(base(word))
            if word.text.isalpha():
                every.append(word.lower)
    return _Pool(by_slot, every)


def _strangers(original: str, draw: Random, pool: _Pool) -> str | None:
    """Put words of the same kind from other conversations into a turn."""
    read = words(original)
    able = [i for i, word in enumerate(read) if word.kind and placeholder(word) in pool.by_slot]
    if not able:
        return None
    own = {base(word) for word in read if word.kind}
    edits = {}
    for i in draw.sample(able, max(1, int(draw.choice((FEW, HALF)) * len(able)))):
        new = draw.choice(pool.by_slot[placeholder(read[i])])
        if new not in own:
            edits[read[i].start, read[i].end] = agreeing(new, read, i)
    return replace(original, edits) if edits else None


def _any(original: str, draw: Random, pool: _Pool) -> str | None:
    places = [match.span() for match in _LETTERS.finditer(original)]
    if len(places) < SHORTEST:
        return None
    chosen = draw.sample(places, max(1, int(ANY * len(places))))
    edits = {place: draw.choice(pool.all) for place in chosen}
    for (start, end), word in sorted(edits.items(), reverse=True):
        original = original[:start] + word + original[end:]
    return original


def _dropped(original: str, draw: Random, _: _Pool) -> str | None:
    parts = _WITH_BLANKS.findall(original)
    if len(parts) <= SHORTEST:
        return None
    left_out = set(draw.sample(range(len(parts) - 1), max(1, int(LOST * len(parts)))))
    return "".join(part for i, part in enumerate(parts) if i not in left_out)


def _swapped(original: str, draw: Random, _: _Pool) -> str | None:
    parts = original.split()
    if len(parts) <= SHORTEST:
        return None
    for _ in range(max(1, len(parts) // 12)):
        i = draw.randrange(len(parts) - 1)
        parts[i], parts[i + 1] = parts[i + 1], parts[i]
    return " ".join(parts)


_WAYS: dict[str, Callable[[str, Random, _Pool], str | None]] = {
    "stranger": _strangers, "any": _any, "drop": _dropped, "swap": _swapped,
}  # fmt: skip


def _exchanged(kind: str, original: str, text: str) -> Exchanged:
    """Mark what stands in a text and not in the turn as it was said."""
    before = _TOKEN.findall(original)
    after = [(match[0], match.span()) for match in _TOKEN.finditer(text)]
    matcher = SequenceMatcher(None, before, [word for word, _ in after], autojunk=False)
    spans: list[tuple[int, int]] = []
    for what, _, _, start, end in matcher.get_opcodes():
        if what == "delete":
            start, end = max(0, start - 1), min(len(after), start + 1)
        if what != "equal":
            spans += [span for _, span in after[start:end]]
    return Exchanged(kind, original, text, tuple(spans))
