"""The embedded baseline: keywords are grouped, then put into sentences that were seen elsewhere.

The keywords of a part go together and fit its context (the plausibility model). A part with the
common nouns of a training statement takes this with names, places and times exchanged; any other
part is put into a plain clause (:mod:`grice_tasks.situatedgen.frames`).
"""

from __future__ import annotations

import re
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np

from grice.models.mlp import Mlp
from grice_tasks.situatedgen.examples import finished
from grice_tasks.situatedgen.frames import named, needs_article
from grice_tasks.situatedgen.records import contexts_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from grice.models.protocols import Encoder
    from grice_tasks.situatedgen.frames import Frames
    from grice_tasks.situatedgen.models import ContrastHead
    from grice_tasks.situatedgen.records import Context
    from grice_tasks.situatedgen.tagger import ContextTagger

    Array: TypeAlias = NDArray[np.float32]

FEWEST, MOST = 2, 5  # Keywords of a sentence
WIDEST = 12  # Up to so many keywords every way to part them is looked at
CARRIER = "{} is well known."
"""Of four sentences tried the one in which most keywords of pairs mined from the training sources
get the kind that they have in their statements ("It was in {}" makes places of other names)."""
WEIGHT = 0.35
"""Weight of a unit of the plausibility model's margin beside the keywords' going together. Set by
hand; the recipe ``situated.weight`` finds nothing clearly better on pairs mined from the training
sources, where anything from 0.2 to 0.7 does as well."""
CANDIDATES = 12  # Templates whose keywords are compared
READ = 2  # Fillings whose fluency is judged


class Template(msgspec.Struct, frozen=True):
    """A statement with its keywords and their kinds: ``GEO``, ``TEMP`` or empty."""

    statement: str
    keywords: tuple[str, ...]
    kinds: tuple[str, ...]


class Recomposer:
    """Writes two sentences from keywords."""

    def __init__(
        self,
        templates: Sequence[Template],
        frames: Frames,
        grouping: Path,
        judge: ContrastHead,
        tagger: ContextTagger,
        encoder: Encoder,
    ) -> None:
        self._shapes: dict[_Shape, list[Template]] = {}
        for template in templates:
            self._shapes.setdefault(_shape(template.keywords, template.kinds), []).append(template)
        self._frames = frames
        self._grouping = Mlp.load(grouping)
        self._judge = judge
        self._tagger = tagger
        self._encoder = encoder
        self._known: dict[str, Array] = {}
        self._kinds: dict[str, Context | Literal[""]] = {}

    def generate(self, keywords: Sequence[Sequence[str]]) -> list[str]:
        """Return two sentences for each list of keywords; empty for an empty list."""
        self._read(word for line in keywords for word in line)
        written = []
        for line in keywords:
            sides = list(zip(line, self.group(line), strict=True))
            parts = ([word for word, side in sides if side == wanted] for wanted in (0, 1))
            written.append(" ".join(self._fill(part) for part in parts if part))
        return written

    def group(self, keywords: Sequence[str], *, weight: float = WEIGHT) -> list[int]:
        """Return for each keyword the sentence it goes to, 0 or 1."""
        self._read(keywords)
        count = len(keywords)
        if count < 2:
            return [0] * count
        partings = _partings(keywords)
        sides = np.array(partings)
        signs = (2 * sides - 1).astype(np.float32)
        table = self._ties(keywords) + weight * self._fits(keywords)
        scores = np.einsum("pi,ij,pj->p", signs, table, signs) / count
        held = np.array([bool(self._kinds[word]) for word in keywords])
        for part in (sides == 0, sides == 1):
            scores -= 2.0 * ~(part & held).any(axis=1)
        scores -= 0.15 * np.abs(2 * sides.sum(axis=1) - count)
        return list(partings[int(scores.argmax())])

    def _read(self, words: Iterable[str]) -> None:
        """Learn each keyword's vector, and its kind of context or that it has none."""
        fresh = [word for word in dict.fromkeys(words) if word not in self._kinds]
        self._encode(fresh)
        tagged = self._tagger.find([CARRIER.format(word) for word in fresh])
        for word, text in zip(fresh, tagged, strict=True):
            kinds = [kind for _, kind in contexts_in(text.entities)]
            known = kinds and (kinds[0] != "GEO" or self._frames.is_place(word))
            self._kinds[word] = kinds[0] if known else ""

    def _ties(self, keywords: Sequence[str]) -> Array:
        """Return how likely two keywords share a sentence, in log odds, shape ``(k, k)``."""
        count = len(keywords)
        ties = np.zeros((count, count), np.float32)
        pairs = list(combinations(range(count), 2))
        vectors = [self._known[word] for word in keywords]
        features = np.stack([pair_features(vectors[i], vectors[j]) for i, j in pairs])
        logits = self._grouping(features)[:, 0]
        for (i, j), value in zip(pairs, logits, strict=True):
            alike = keywords[i].lower() == keywords[j].lower()
            ties[i, j] = ties[j, i] = -4.0 if alike else float(value)
        return ties

    def _fits(self, keywords: Sequence[str]) -> Array:
        """Return how well a keyword goes with a context, above its mean over all contexts."""
        count = len(keywords)
        fits = np.zeros((count, count), np.float32)
        held = [i for i, word in enumerate(keywords) if self._kinds[word]]
        names = [(keywords[i], kind) for i in held if (kind := self._kinds[keywords[i]])]
        for j, word in enumerate(keywords):
            if self._kinds[word] or len(names) < 2:
                continue
            scores = np.array(self._judge.fit(word, names), np.float32)
            fits[held, j] = fits[j, held] = scores - scores.mean()
        return fits

    def _fill(self, keywords: Sequence[str]) -> str:
        """Return a training statement with these keywords in it, or a plain clause."""
        shape = _shape(keywords, [self._kinds[word] for word in keywords])
        fitting = self._shapes.get(shape, ()) if shape.nouns else ()
        if not fitting:
            return finished(self._frames.write(keywords, self._kinds))
        fitting = fitting[:CANDIDATES]
        self._encode({word for template in fitting for word in template.keywords})
        filled = [self._assign(template, keywords) for template in fitting]
        filled = sorted(filled, key=lambda scored: -scored[0])[:READ]
        fluent = self._judge.judge([(text, text) for _, text in filled], [[]] * len(filled))
        values = [
            score + float(np.log(judgement.fluency + 1e-6)) * 0.2
            for (score, _), judgement in zip(filled, fluent, strict=True)
        ]
        return filled[int(np.argmax(values))][1]

    def _assign(self, template: Template, keywords: Sequence[str]) -> tuple[float, str]:
        """Return the best filling of a template, with the mean likeness of its keywords."""
        likes = np.array(
            [
                [
                    float(self._known[slot] @ self._known[word])
                    - (template.kinds[place] != self._kinds[word])
                    + (slot.lower() == word.lower())
                    for word in keywords
                ]
                for place, slot in enumerate(template.keywords)
            ]
        )
        places = range(len(keywords))
        best = max(permutations(places), key=lambda order: sum(likes[p, order[p]] for p in places))
        text = _substituted(template, [keywords[k] for k in best])
        return float(np.mean([likes[p, best[p]] for p in places])), finished(text)

    def _encode(self, texts: Iterable[str]) -> None:
        fresh = sorted(set(texts) - self._known.keys())
        self._known.update(zip(fresh, self._encoder.encode(fresh), strict=True))


class _Shape(NamedTuple):
    """Keywords of a statement: its common nouns, how many names, its kinds of context."""

    nouns: tuple[str, ...]
    names: int
    kinds: tuple[str, ...]


def _shape(keywords: Sequence[str], kinds: Sequence[str]) -> _Shape:
    plain = [word for word, kind in zip(keywords, kinds, strict=True) if not kind]
    nouns = sorted(word.lower() for word in plain if not named(word))
    return _Shape(tuple(nouns), len(plain) - len(nouns), tuple(sorted(filter(None, kinds))))


def _partings(keywords: Sequence[str]) -> list[tuple[int, ...]]:
    """Return the ways to part keywords in two; the first one is always in the first part."""
    count = len(keywords)
    if count > WIDEST:  # far beyond the task: alternate
        return [tuple(i % 2 for i in range(count))]
    partings = []
    for bits in range(1, 2 ** (count - 1)):
        side = tuple((bits << 1) >> i & 1 for i in range(count))
        sizes = (count - sum(side), sum(side))
        if count < 2 * FEWEST or all(FEWEST <= size <= MOST for size in sizes):
            partings.append(side)
    return partings or [tuple(i % 2 for i in range(count))]


def _substituted(template: Template, keywords: Sequence[str]) -> str:
    """Return the template's statement with keywords replaced; a place takes its article along."""
    slots: list[tuple[int, int, str]] = []
    text = template.statement
    for old, new, kind in zip(template.keywords, keywords, template.kinds, strict=True):
        for match in re.finditer(rf"(?<!\w){re.escape(old)}(?!\w)", text):
            if all(match.end() <= first or last <= match.start() for first, last, _ in slots):
                start, behind = match.start(), text[: match.start()].lower().endswith("the ")
                if kind == "GEO" and behind and needs_article(old) and not needs_article(new):
                    start -= len("the ")
                article = "the " if kind == "GEO" and not behind and needs_article(new) else ""
                slots.append((start, match.end(), article + new))
                break
    for start, end, word in sorted(slots, reverse=True):
        text = text[:start] + word + text[end:]
    return text


def pair_features(first: Array, second: Array) -> Array:
    """Return what the network reads of two keywords: product and distance of their vectors."""
    size = np.float32(np.sqrt(len(first)))
    features: Array = np.concatenate(
        [first * second * size, np.abs(first - second)], dtype=np.float32
    )
    return features
