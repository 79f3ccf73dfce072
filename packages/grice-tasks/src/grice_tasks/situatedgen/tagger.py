"""Entities and nouns of sentences: a protocol, and the tagger that ships.

The shipped tagger is a small network on token states of the shared encoder with what the spelling
shows (capitals, digits) and whether a word stands in a list of places, events and times from
WordNet 3.0 or of cities from GeoNames. The encoder reads no capitals, so that text in lower case is
tagged too.
"""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from grice.errors import BundleError
from grice.models.mlp import Mlp
from grice.models.protocols import TaggedSpan
from grice.models.spans import best_paths, neighbourhood, word_starts
from grice.numeric import softmax
from grice_tasks.situatedgen.dates import merge_spans
from grice_tasks.tokens import WORDS_AND_MARKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float32]
    Offsets: TypeAlias = list[tuple[int, int]]

LABELS = ("GPE", "DATE", "TIME", "EVENT", "NAME", "NUMBER")
"""``NAME`` stands for every other name (people, groups, regions, works), ``NUMBER`` for numbers,
amounts and ranks."""
REACH = 1
LONGEST = 6
"""Most words in a listed name."""
LISTS = "PET"
"""Marks of the lists that every reader of tokens has a place for."""
CITIES = "PETC"
"""Those of the tagger."""
SURE = 0.8
"""From here on a name stays what the network takes it for, whatever lists say."""


class Found(NamedTuple):
    """Entities of a sentence: named ones and single nouns, each in order of start."""

    entities: tuple[TaggedSpan, ...]
    nouns: tuple[TaggedSpan, ...]


@runtime_checkable
class Tagger(Protocol):
    """Finds entities and nouns."""

    identity: str

    def find(self, texts: Sequence[str]) -> list[Found]:
        """Return what is in each text; entity labels are those of OntoNotes or LABELS."""
        ...


class Names:
    """Lists of names that are looked up word by word, the longest first."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._marks: dict[tuple[str, ...], set[str]] = {}
        for line in lines:
            mark, name = line.split("\t")
            self._marks.setdefault(tuple(WORDS_AND_MARKS.findall(name)), set()).add(mark)

    @classmethod
    def load(cls, *paths: Path) -> Names:
        """Read packed files of lines."""
        packed = [gzip.decompress(path.read_bytes()).decode() for path in paths]
        return cls([line for text in packed for line in text.split("\n")])

    def look(self, text: str) -> dict[int, tuple[str, int]]:
        """Return for the start of each listed word its marks and its place in the name."""
        return {
            word.start(): ("".join(sorted(marks)), min(place, 1))
            for words, marks in self._runs(text)
            for place, word in enumerate(words)
        }

    def spans(self, text: str, mark: str) -> list[tuple[int, int]]:
        """Return where names with a mark stand."""
        return [
            (words[0].start(), words[-1].end())
            for words, marks in self._runs(text)
            if mark in marks
        ]

    def _runs(self, text: str) -> Iterator[tuple[list[re.Match[str]], set[str]]]:
        words = list(WORDS_AND_MARKS.finditer(text))
        i = 0
        while i < len(words):
            for width in range(min(LONGEST, len(words) - i), 0, -1):
                run = words[i : i + width]
                marks = self._marks.get(tuple(word[0].lower() for word in run))
                if marks:
                    yield run, marks
                    i += width - 1
                    break
            i += 1


def token_features(
    text: str, states: Array, offsets: Offsets, names: Names, lists: str = LISTS
) -> tuple[Array, Offsets, list[bool]]:
    """Return what the network reads of each token that stands for text."""
    inner = [i for i, (start, end) in enumerate(offsets) if end > start]
    places = [offsets[i] for i in inner]
    listed = names.look(text)
    # Capitals tell nothing in a text that is all lower case, or all upper.
    body = text[1:]
    cased = float(body != body.lower() and body != body.upper())
    shapes = np.zeros((len(inner), 6 + 2 * len(lists)), np.float32)
    for row, (start, end) in enumerate(places):
        piece = text[start:end]
        shapes[row, :6] = (
            piece[:1].isupper(),
            piece.isupper() and len(piece) > 1,
            piece.isdigit(),
            piece.isdigit() and len(piece) == 4,
            cased,
            start == 0,
        )
        marks, place = listed.get(start, ("", 0))
        for column, mark in enumerate(lists):
            if mark in marks:
                shapes[row, 6 + 2 * column + place] = 1
    read = np.concatenate([states[inner], shapes], axis=1, dtype=np.float32)
    return neighbourhood(read, REACH), places, word_starts(text, places)


class ContextTagger:
    """The tagger that ships."""

    def __init__(
        self,
        folder: Path,
        hidden: Callable[[Sequence[str]], Sequence[tuple[Array, Offsets]]],
        identity: str,
    ) -> None:
        self.identity = identity
        self._hidden = hidden
        self._network = Mlp.load(folder / "tagger.npz")
        self._names = Names.load(folder / "names.txt.gz", folder / "cities.txt.gz")
        outputs = 2 * len(LABELS) + 2
        if self._network.layers[-1][0].shape[1] != outputs:
            raise BundleError(f"{folder / 'tagger.npz'}: the network does not give {outputs}")

    def find(self, texts: Sequence[str]) -> list[Found]:
        """Return what is in each text."""
        return [
            Found(self._listed(text, merge_spans(text, list(tagged.entities))), tagged.nouns)
            for text, tagged in zip(texts, self.find_without_rules(texts), strict=True)
        ]

    def find_without_rules(self, texts: Sequence[str]) -> list[Found]:
        """Return what the network alone finds: no rule for dates, no list has put it right."""
        answers = self._hidden(texts)
        return [self._read(text, *answer) for text, answer in zip(texts, answers, strict=True)]

    def _read(self, text: str, states: Array, offsets: Offsets) -> Found:
        if not any(end > start for start, end in offsets):
            return Found((), ())
        features, places, starts = token_features(text, states, offsets, self._names, CITIES)
        heads = [i for i, start in enumerate(starts) if start]
        scores = self._network(features[heads])
        ends = [places[nxt - 1][1] for nxt in (*heads[1:], len(places))]
        words = [(places[i][0], end) for i, end in zip(heads, ends, strict=True)]
        entities = _whole(text, _entities(scores[:, :-1], words))
        nouns = tuple(
            TaggedSpan(start, end, "NOUN", float(1 / (1 + np.exp(-score))))
            for (start, end), score in zip(words, scores[:, -1], strict=True)
            if score > 0 and text[start].isalnum()
        )
        return Found(entities, nouns)

    def _listed(self, text: str, entities: tuple[TaggedSpan, ...]) -> tuple[TaggedSpan, ...]:
        """Put right the places of a text by the list of cities, states and countries.

        Two of them side by side are two places, one that is written as a name and is no part of
        another name is a place, and so is a name that is one of them where the network doubts.
        """
        cities = [span for span in self._names.spans(text, "C") if text[span[0]].isupper()]
        placed: list[TaggedSpan] = []
        for entity in entities:
            within = [s for s in cities if entity.start <= s[0] and s[1] <= entity.end]
            whole = (
                entity.label == "GPE" and len(within) == 2 and _side_by_side(text, entity, within)
            )
            around = [s for s in cities if s[0] <= entity.start and entity.end <= s[1]]
            if whole or (around and entity.label == "GPE"):
                placed += [entity._replace(start=s, end=e) for s, e in around or within]
            elif (
                entity.label == "NAME"
                and entity.confidence < SURE
                and (entity.start, entity.end) in cities
            ):
                placed.append(entity._replace(label="GPE"))
            else:
                placed.append(entity)
        for start, end in cities:
            if all(end <= entity.start or entity.end <= start for entity in placed):
                placed.append(TaggedSpan(start, end, "GPE", 0.5))
        return tuple(sorted(placed))


def _side_by_side(text: str, span: TaggedSpan, within: Sequence[tuple[int, int]]) -> bool:
    """Say whether two stretches fill a span but for a blank."""
    (start, middle), (behind, end) = within
    return (start, end) == (span.start, span.end) and text[middle:behind] == " "


def _entities(scores: Array, words: Offsets) -> tuple[TaggedSpan, ...]:
    """Return the entities of the best sequence of tags; inside may only follow its own kind."""
    count = len(LABELS)
    logs = np.log(softmax(scores) + 1e-9)
    allowed = np.zeros((2 * count + 1, 2 * count + 1), np.float32)
    for label in range(count):
        inside = 1 + count + label
        allowed[:, inside] = -1e4
        allowed[[1 + label, inside], inside] = 0
    first = np.where(np.arange(2 * count + 1) > count, -1e4, 0)
    weights = np.broadcast_to(allowed, (1, len(logs), *allowed.shape))
    (tags,) = best_paths(logs[None], first, weights, np.array([len(logs)]))
    entities: list[TaggedSpan] = []
    for (start, end), tag, row in zip(words, tags, logs, strict=True):
        sure = float(np.exp(row[tag]))
        if 0 < tag <= count:
            entities.append(TaggedSpan(start, end, LABELS[tag - 1], sure))
        elif tag > count:
            last = entities[-1]
            entities[-1] = last._replace(end=end, confidence=min(last.confidence, sure))
    return tuple(entities)


def _whole(text: str, entities: tuple[TaggedSpan, ...]) -> tuple[TaggedSpan, ...]:
    """Keep the periods of abbreviations (``U.S.``) and drop a possessive at the end."""
    trimmed = []
    for span in entities:
        start, end = span.start, span.end
        if text[end : end + 1] == "." and re.search(r"\b\w\.\w$", text[start:end]):
            end += 1
        cut = re.search(r"\s*['’]s?$", text[start:end])
        end = start + cut.start() if cut else end
        if end > start and any(c.isalnum() for c in text[start:end]):
            trimmed.append(span._replace(end=end))
    return tuple(trimmed)
