"""Entities and nouns of sentences.

The tagger is a small network on token states of the shared encoder, on the spelling, and on lists
of places, events and times from WordNet 3.0 and of cities from GeoNames.
"""

from __future__ import annotations

import gzip
import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from grice.errors import ModelFolderError
from grice.models.mlp import Mlp
from grice.models.protocols import TaggedSpan
from grice.models.spans import best_paths, neighbourhood, word_starts
from grice.numeric import softmax
from grice_tasks.situatedgen.records import Entity, Marked, Statement, context_of
from grice_tasks.tokens import WORDS_AND_MARKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float32]
    Offsets: TypeAlias = list[tuple[int, int]]
    Hidden: TypeAlias = Callable[[Sequence[str]], Sequence[tuple[Array, Offsets]]]


ALONE = re.compile(
    r"(?:the|an?|about|early|late|past|next|last|of|in|every|each|this|around|over|only|days?|"
    r"seasons?|months?|years?|times?|weeks?|decades?|past|daily|weekly|annual(?:ly)?|yearly|"
    r"(?:a|an|one|each|every|the) (?:year|week|month|season)|(?:a |an )?(?:hot|cold|new|warm|sunny)"
    r"(?: day| month)?|(?:his|her|our|both|each|many|"
    r"(?:a |the )?(?:holy|present|current)|the (?:end|start) of)"
    r"(?: day)?|is|at|the calendar|the ages?|\d+(?:gb|mb|kb))",
    re.IGNORECASE,
)
SEASON = re.compile(r"(?:the )?(?:winter|summer|autumn)", re.IGNORECASE)
"""Beside a month, a season is a predicate and no date."""
ARTICLE = re.compile(r"^the ", re.IGNORECASE)
EDGE = re.compile(
    r"^(?:after|during|on|in|at|by|until|over(?= (?:many|millions|billions|several)))\s"
)
TAIL = re.compile(r"\s(?:and|of|in|at|on|or|to|than|after|before|is|the|a|every|each)$")


@cache
def _patterns() -> tuple[re.Pattern[str], list[tuple[str, re.Pattern[str]]]]:
    """Return the months, and labels with the patterns of ``dates.toml``, parts put in."""
    text = (files("grice_tasks.situatedgen") / "dates.toml").read_text("utf-8")
    stated = tomllib.loads(text)
    parts: dict[str, str] = {}

    def whole(form: str | list[str]) -> str:
        return re.sub(r"%([A-Z]+)%", lambda name: parts[name[1]], "".join(form))

    for name, part in stated["parts"].items():
        parts[name] = whole(part)
    forms = [
        (each["label"], re.compile(rf"(?<![\w$-])(?:{whole(each['form'])})(?!\w)", re.IGNORECASE))
        for each in stated["forms"]
    ]
    return re.compile(parts["MONTH"], re.IGNORECASE), forms


def spelt_spans(text: str) -> list[TaggedSpan]:
    """Return the stretches that are dates, times or events by their words, without overlap."""
    matches = [
        TaggedSpan(match.start(), match.end(), label, 1.0)
        for label, form in _patterns()[1]
        for match in form.finditer(text)
    ]
    matches.sort(key=lambda span: (span.start - span.end, span.start))
    spans: list[TaggedSpan] = []
    for span in matches:
        if not any(span.start < other.end and other.start < span.end for other in spans):
            spans.append(span)
    return sorted(spans)


def merge_spans(text: str, tagged: list[TaggedSpan]) -> tuple[TaggedSpan, ...]:
    """Return a tagger's entities with those that are spelt out put right.

    A longer entity of the tagger that holds the spelt one stays, but for a country and for two
    dates in one; lone articles and bare words such as "day" are dropped.
    """
    spans = [_trimmed(text, span) for span in tagged]
    spans = [span for span in spans if not ALONE.fullmatch(text[span.start : span.end].strip())]
    spelt = spelt_spans(text)
    month = _patterns()[0]
    if any(date.label == "DATE" and month.search(text, date.start, date.end) for date in spelt):
        spans, spelt = (
            [entity for entity in side if not SEASON.fullmatch(text, entity.start, entity.end)]
            for side in (spans, spelt)
        )
    for span in list(spans):
        within = [date for date in spelt if span.start <= date.start and date.end <= span.end]
        if len(within) > 1 and {date.label for date in within} == {span.label}:
            spans.remove(span)
    for date in spelt:
        over = [span for span in spans if span.start < date.end and date.start < span.end]
        if not any(_better(text, span, date) for span in over):
            spans = [*(span for span in spans if span not in over), date]
    return tuple(sorted(spans))


def _better(text: str, tagged: TaggedSpan, spelt: TaggedSpan) -> bool:
    """Say whether the tagger's entity is to stay and the one that is spelt out is not."""
    if tagged.label == spelt.label == "GPE":  # the article is as the tagger has it
        return ARTICLE.sub("", text[slice(*tagged[:2])]) == ARTICLE.sub("", text[slice(*spelt[:2])])
    if not (tagged.start <= spelt.start and spelt.end <= tagged.end):
        return False
    longer = tagged.end - tagged.start > spelt.end - spelt.start
    return longer or tagged.label == spelt.label


def _trimmed(text: str, span: TaggedSpan) -> TaggedSpan:
    """Return a date or time without the small words that no date starts or ends with."""
    if span.label not in ("DATE", "TIME"):
        return span
    start, end = span.start, span.end
    while (lead := EDGE.search(text[start:end])) is not None:
        start += lead.end()
    while (tail := TAIL.search(text[start:end])) is not None:
        end = start + tail.start()
    return span._replace(start=start, end=end)


MASK = "[UNK]"


def mark_statements(
    statements: Iterable[Statement], tagger: ContextTagger
) -> tuple[list[Marked], list[Statement]]:
    """Return the statements that have context, with keywords and mask, and those that have none."""
    given = [Statement(statement.id, statement.statement.strip()) for statement in statements]
    marked, left = [], []
    for statement, tagged in zip(
        given, tagger.find([statement.statement for statement in given]), strict=True
    ):
        entities = tuple(
            Entity(statement.statement[span.start : span.end], span.label)
            for span in tagged.entities
        )
        if not context_of(entities):
            left.append(statement)
            continue
        free = [
            noun
            for noun in tagged.nouns
            if not any(e.start < noun.end and noun.start < e.end for e in tagged.entities)
        ]
        spelt = (statement.statement[each.start : each.end] for each in (*tagged.entities, *free))
        keywords = tuple(dict.fromkeys(spelt))
        masked = mask(statement.statement, keywords)
        marked.append(Marked(statement.id, statement.statement, entities, keywords, masked))
    return marked, left


def mask(text: str, keywords: Sequence[str]) -> str:
    """Return a sentence with a mark for every keyword, as whole words, wherever it stands."""
    for keyword in keywords:
        text = re.sub(rf"(?<![\w\[]){re.escape(keyword)}(?!\w)", MASK, text)
    return text


LABELS = ("GPE", "DATE", "TIME", "EVENT", "NAME", "NUMBER")
"""``NAME`` stands for every other name (people, groups, regions, works), ``NUMBER`` for numbers,
amounts and ranks."""
REACH = 1
LONGEST = 6  # Most words in a listed name
LISTS = "PET"  # Marks of the lists that every reader of tokens has a place for
CITIES = "PETC"  # Those of the tagger
SURE = 0.8  # From here on a name stays what the network takes it for, whatever lists say


class TaggedText(NamedTuple):
    """Entities of a sentence: named ones and single nouns, each in order of start."""

    entities: tuple[TaggedSpan, ...]
    nouns: tuple[TaggedSpan, ...]


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


class TokenReader:
    """A network on the token states of the shared encoder, with lists of names."""

    def __init__(self, network: Path, names: Names, hidden: Hidden, identity: str) -> None:
        self.identity = identity
        self._hidden, self._names = hidden, names
        self._network = Mlp.load(network)


class ContextTagger(TokenReader):
    """Finds entities, labelled by :data:`LABELS`, and nouns."""

    def __init__(self, folder: Path, hidden: Hidden, identity: str) -> None:
        names = Names.load(folder / "names.txt.gz", folder / "cities.txt.gz")
        super().__init__(folder / "tagger.npz", names, hidden, identity)
        outputs = 2 * len(LABELS) + 2
        if self._network.layers[-1][0].shape[1] != outputs:
            raise ModelFolderError(f"{folder / 'tagger.npz'}: the network does not give {outputs}")

    def find(self, texts: Sequence[str]) -> list[TaggedText]:
        """Return the entities and nouns of each text."""
        found = []
        for text, answer in zip(texts, self._hidden(texts), strict=True):
            entities, nouns = self._read(text, *answer)
            found.append(TaggedText(self._listed(text, merge_spans(text, list(entities))), nouns))
        return found

    def _read(self, text: str, states: Array, offsets: Offsets) -> TaggedText:
        if not any(end > start for start, end in offsets):
            return TaggedText((), ())
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
        return TaggedText(entities, nouns)

    def _listed(self, text: str, entities: tuple[TaggedSpan, ...]) -> tuple[TaggedSpan, ...]:
        """Put right the places of a text by the list of cities, states and countries.

        Two of them side by side are two places, one that is written as a name and is no part of
        another name is a place, and so is a name that is one of them where the network doubts.
        """
        cities = [span for span in self._names.spans(text, "C") if text[span[0]].isupper()]
        placed: list[TaggedSpan] = []
        for entity in entities:
            within = [s for s in cities if entity.start <= s[0] and s[1] <= entity.end]
            ends = [end for span in within for end in span]
            filled = ends[:1] == [entity.start] and ends[-1:] == [entity.end]
            two = len(within) == 2 and filled and text[ends[1] : ends[2]] == " "
            whole = entity.label == "GPE" and two
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
