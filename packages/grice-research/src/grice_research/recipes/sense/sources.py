"""Published sets as readings that are compared: what people wrote or judged, in conversations.

Sentences that contradict, follow or do not become turns of one speaker or of two; statements and
endings of which one makes sense become replies; replies of chatbots are compared within their
conversation, by what people voted. Only sets that may train what ships are read. A source names
each item it yields, as ``kind``.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise, product
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

import numpy as np

from grice_research.benches.breakdowns import FILE as BREAKDOWNS
from grice_research.benches.breakdowns import is_validation
from grice_research.benches.minimal_pairs import read_pairs
from grice_research.recipes.relevance.corpora import evaluated_texts, normalise, rows_of

FLAWS = ("any", "contradiction", "repetition", "unanswered", "nonsense", "dull")
"""Outputs of the heads; a flaw of a kind is learned by the first and by that of its kind."""

KINDS = {
    "partner_contradiction": "contradiction",
    "self_contradiction": "contradiction",
    "negation": "contradiction",
    "reference": "contradiction",
    "roles": "nonsense",
    "cause": "nonsense",
    "time": "nonsense",
    "social": "nonsense",
    "world": "nonsense",
    "nonsense": "nonsense",
    "incoherent": "nonsense",
    "ignored": "unanswered",
    "offtopic": "unanswered",
    "repetition": "repetition",
    "dull": "dull",
    "snli": "contradiction",
    "revised": "contradiction",
    "broken": "contradiction",
    "negated": "contradiction",
    "defeasible": "nonsense",
    "comve": "nonsense",
    "ecare": "nonsense",
    "codah": "nonsense",
    "breakdowns": "any",
    "messages": "any",
}
"""Of the items written, then of those of :mod:`grice_research.recipes.sense.sources`."""
PAIRS = Path(__file__).parent / "pairs"


class Reading(NamedTuple):
    """A history, oldest turn first, and a reply to it."""

    history: tuple[str, ...]
    reply: str


class Item(NamedTuple):
    """Readings that are compared."""

    kind: str
    readings: tuple[Reading, ...]
    comparisons: tuple[tuple[int, int], ...]
    validation: bool

    @property
    def flaw(self) -> str:
        """The head that learns it beside the first."""
        return KINDS[self.kind]


def written_items() -> Iterator[Item]:
    """Yield all items, file by file."""
    for path in sorted(PAIRS.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield from (_pair_item(json.loads(line)) for line in lines)


def _pair_item(row: dict[str, Any]) -> Item:
    first = tuple(row["h1"])
    validation = crc32("\n".join(first).encode()) % 10 == 0
    if "bad" in row:
        readings = (Reading(first, row["r1"]), Reading(first, row["bad"]))
        return Item(row["kind"], readings, ((0, 1),), validation)
    second = tuple(row["h2"])
    crossed = (
        Reading(first, row["r1"]),
        Reading(second, row["r2"]),
        Reading(first, row["r2"]),
        Reading(second, row["r1"]),
    )
    return Item(row["kind"], crossed, tuple((i, j) for i in (0, 1) for j in (2, 3)), validation)


FILLERS = (
    "Oh, I see.", "Right.", "Really?", "Tell me more.", "Okay, go on.", "And then?", "Interesting!",
    "Is that so?", "Sounds good.", "What else?", "Hm, nice.", "Sure.",
)  # fmt: skip
"""Turns of a partner between two turns of a speaker that belong together."""
WORDS = 40
"""Most words of a turn of a chatbot's conversation that is read."""
TURNS = 4
"""Turns of a chatbot's conversation before the first reply of a window."""


def nli(data: Path) -> Iterator[Item]:
    """Yield premises with what contradicts them and what does not; revised ones both ways."""
    yield from _by_premise("snli", snli_dev(data))
    rows = [row for row in rows_of(data / "nli_contradiction/cf_snli.jsonl.gz")
            if row["split"] != "test"]  # fmt: skip
    for _, group in groupby(rows, key=lambda row: row["group"]):
        yield from _revised(list(group))
    broken = rows_of(data / "nli_contradiction/breaking_nli.jsonl.gz")
    yield from _by_premise("broken", ((r["premise"], r["hypothesis"], r["label"]) for r in broken))
    negated = table_of(data / "negated_nli/negated_nli.tsv.gz")
    yield from _by_hypothesis((r["premise"], r["hypothesis"], r["label"]) for r in negated)


def defeasible(data: Path) -> Iterator[Item]:
    """Yield what makes a conclusion likelier, and what less, before the same conclusion."""
    rows = [
        ((row["premise"], row["hypothesis"]), row)
        for row in table_of(data / "defeasible_nli/snli.tsv.gz")
        if row["update"]
    ]
    for (premise, hypothesis), group in groupby(rows, key=lambda row: row[0]):
        updates = [(row["type"], row["update"]) for _, row in group]
        goods = [text for kind, text in updates if kind == "S"]
        bads = [text for kind, text in updates if kind == "W"]
        for good, bad in zip(goods, bads, strict=False):
            histories = [_before(f"{premise} {update}", premise) for update in (good, bad)]
            readings = tuple(Reading(history, hypothesis) for history in histories)
            yield _item("defeasible", readings, ((0, 1),))


def comve(data: Path) -> Iterator[Item]:
    """Yield statements that make sense beside those that do not."""
    for row in table_of(data / "comve/comve.tsv.gz"):
        if row["split"] in ("train", "trial"):
            history = (_chosen(FILLERS, row["sensible"]),)
            readings = (Reading(history, row["sensible"]), Reading(history, row["nonsensical"]))
            yield _item("comve", readings, ((0, 1),))


def ecare(data: Path) -> Iterator[Item]:
    """Yield an event with its cause or effect and another that is none."""
    ask = {"cause": ("Why?", "How come?"), "effect": ("And then?", "So what happened?")}
    for row in table_of(data / "ecare/ecare.tsv.gz"):
        if row["split"] == "train":
            history = (row["premise"], _chosen(ask[row["asks_for"]], row["premise"]))
            right = int(row["label"])
            ends = (row[f"alt{right}"], row[f"alt{1 - right}"])
            yield _item("ecare", tuple(Reading(history, end) for end in ends), ((0, 1),))


def codah(data: Path) -> Iterator[Item]:
    """Yield a beginning with its right ending and three that people wrote to be wrong."""
    for row in table_of(data / "codah/codah.tsv.gz"):
        right = int(row["label"])
        places = [right, *(i for i in range(4) if i != right)]
        whole = re.match(r"(.*[.!?])\s+(\S.*)", row["prompt"])
        before, begun = whole.groups() if whole else ("", row["prompt"])
        history = (before, _chosen(FILLERS, before)) if before else (_chosen(FILLERS, begun),)
        readings = tuple(Reading(history, f"{begun} {row[f'end{i}']}") for i in places)
        yield _item("codah", readings, ((0, 1), (0, 2), (0, 3)))


def breakdowns(data: Path) -> Iterator[Item]:
    """Yield replies of chatbots that few call a breakdown beside those that many do."""
    for talk in rows_of(data / "dbdc3/dbdc3_dev.jsonl.gz"):
        if is_validation(talk["id"]):
            continue
        votes = {
            label["turn"]: (label["X"] + label["T"] / 2) / sum(label[vote] for vote in "OTX")
            for label in talk["labels"]
        }
        yield from _windows("breakdowns", talk["turns"], votes, apart=0.3)


def messages(data: Path) -> Iterator[Item]:
    """Yield messages of chatbots that their partner called good beside those called bad."""
    both = {_plain(talk["turns"]) for talk in rows_of(data / "dbdc3/dbdc3_dev.jsonl.gz")}
    for talk in rows_of(data / "convai2017/convai2017.jsonl.gz"):
        if talk["meta"]["amt50"] or _stands_in(_plain(talk["turns"]), both):
            continue
        votes = {
            place: 2.0 - value
            for place, value in enumerate(talk["meta"]["utt_eval"])
            if value and talk["meta"]["users"].get(talk["turns"][place]["speaker"]) == "Bot"
        }
        yield from _windows("messages", talk["turns"], votes, apart=0.5)


SOURCES: dict[str, Callable[[Path], Iterator[Item]]] = {
    "nli": nli,
    "defeasible": defeasible,
    "comve": comve,
    "ecare": ecare,
    "codah": codah,
    "breakdowns": breakdowns,
    "messages": messages,
}
"""By name; each yields items from the folder of data sets."""


def snli_dev(data: Path) -> Iterator[tuple[str, str, str]]:
    """Yield premise, hypothesis and label of the development part of SNLI."""
    for row in table_of(data / "snli_devtest/snli_devtest.tsv.gz"):
        if row["split"] == "dev":
            texts = (re.sub(r" (?=[.,!?'])", "", row[name]) for name in ("premise", "hypothesis"))
            yield (*texts, row["label"])


def _by_premise(kind: str, rows: Iterable[tuple[str, str, str]]) -> Iterator[Item]:
    """Yield for each premise what contradicts it beside what does not, at most two of each."""
    for premise, group in groupby(sorted(set(rows)), key=lambda row: row[0]):
        history = _before(premise, premise)
        labelled = [(Reading(history, hypothesis), label) for _, hypothesis, label in group]
        yield from _contradicting(kind, labelled)


def _by_hypothesis(rows: Iterable[tuple[str, str, str]]) -> Iterator[Item]:
    """Yield for each sentence premises that it contradicts beside premises that it does not."""
    ordered = sorted({(hypothesis, premise, label) for premise, hypothesis, label in rows})
    for hypothesis, group in groupby(ordered, key=lambda row: row[0]):
        labelled = [
            (Reading(_before(premise, hypothesis), hypothesis), label)
            for _, premise, label in group
        ]
        yield from _contradicting("negated", labelled)


def _contradicting(kind: str, labelled: Sequence[tuple[Reading, str]]) -> Iterator[Item]:
    bads = [reading for reading, label in labelled if label == "contradiction"][:2]
    goods = [reading for reading, label in labelled if _is_good(reading, label)][:2]
    pairs = tuple(product(range(len(goods)), range(len(goods), len(goods) + len(bads))))
    if pairs:
        yield _item(kind, (*goods, *bads), pairs)


def _is_good(reading: Reading, label: str) -> bool:
    """Return whether a sentence may follow: what a speaker's own turn entails repeats it."""
    return label == "neutral" or (label == "entailment" and len(reading.history) == 1)


def _revised(group: Sequence[dict[str, Any]]) -> Iterator[Item]:
    """Yield the readings of one original and its revisions that share a premise or a sentence."""
    choose = group[0]["premise"]
    readings = tuple(Reading(_before(row["premise"], choose), row["hypothesis"]) for row in group)
    labels = [row["label"] for row in group]
    pairs = tuple(
        (i, j)
        for i, j in product(range(len(group)), repeat=2)
        if _is_good(readings[i], labels[i])
        and labels[j] == "contradiction"
        and (readings[i].history == readings[j].history or readings[i].reply == readings[j].reply)
    )
    if pairs:
        yield _item("revised", readings, pairs)


def _before(premise: str, choose: str) -> tuple[str, ...]:
    """Return a history that says the premise: the speaker's own turn, or the partner's."""
    if crc32(choose.encode()) % 2:
        return (premise,)
    return (premise, _chosen(FILLERS, choose))


def shortened(text: str) -> str:
    """Return the first words of what was said, as they are learned from."""
    return " ".join(text.split()[:WORDS])


def _windows(
    kind: str, turns: Sequence[dict[str, str]], votes: dict[int, float], apart: float
) -> Iterator[Item]:
    """Yield comparisons of replies of a conversation in alternation that were voted on."""
    texts = [shortened(turn["text"]) for turn in turns]
    start = 0
    while start < len(turns):
        window = range(max(0, start - TURNS), min(len(turns), start + 2 * TURNS))
        judged = [
            place
            for place in window
            if place >= start and place in votes and _alternates(turns, window[0], place)
        ]
        readings = tuple(Reading(tuple(texts[window[0] : i]), texts[i]) for i in judged)
        pairs = tuple(
            (i, j)
            for i, j in product(range(len(judged)), repeat=2)
            if votes[judged[j]] - votes[judged[i]] >= apart
        )
        if pairs:
            yield _item(kind, readings, pairs)
        start += 2 * TURNS


def _alternates(turns: Sequence[dict[str, str]], first: int, last: int) -> bool:
    speakers = [turn["speaker"] for turn in turns[first : last + 1]]
    return all(a != b for a, b in pairwise(speakers))


def _plain(turns: Sequence[dict[str, str]]) -> frozenset[str]:
    texts = (re.sub(r"[^a-z0-9]", "", turn["text"].lower()) for turn in turns)
    return frozenset(text for text in texts if len(text) >= 20)


def _stands_in(texts: frozenset[str], others: Iterable[frozenset[str]]) -> bool:
    """Return whether half of the longer texts of a conversation stand in another."""
    return bool(texts) and any(len(texts & other) * 2 >= len(texts) for other in others)


def _item(kind: str, readings: tuple[Reading, ...], pairs: tuple[tuple[int, int], ...]) -> Item:
    first = "\n".join((*readings[0].history, ""))
    return Item(kind, readings, pairs, crc32(first.encode()) % 10 == 0)


def _chosen(texts: Sequence[str], by: str) -> str:
    return texts[crc32(by.encode()[::-1]) % len(texts)]


def table_of(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a table parted by tabs, packed by gzip."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)


WRITTEN = "written"
CHATBOTS = ("breakdowns", "messages")
"""The sources of votes on replies of chatbots."""
SHARES = {"nli": 0.2, "comve": 0.08, "ecare": 0.06, "codah": 0.04, "defeasible": 0.04}
"""Items of a source in an epoch for each written one; of the others all are read."""

SHORT = 20
"""Letters of an everyday phrase, which any two sets share."""

T = TypeVar("T")


def training_items(data: Path, sources: Sequence[str] = tuple(SOURCES)) -> dict[str, list[Item]]:
    """Return the items that are not kept back, by source, without replies of evaluated sets."""
    items = {WRITTEN: list(written_items())}
    items |= {name: list(SOURCES[name](data)) for name in sources}
    stated = evaluated(data)
    return {
        name: [
            item
            for item in some
            if not item.validation
            and not any(is_stated(reading.reply, stated) for reading in item.readings)
        ]
        for name, some in items.items()
    }


def evaluated(data: Path) -> set[str]:
    """Return the normalised texts of the sets that are reported."""
    return {normalise(text) for text in _evaluated(data)}


def _evaluated(data: Path) -> Iterator[str]:
    """Yield the texts of the sets that the heads are measured on."""
    yield from evaluated_texts(data)
    for path in (data / "abc_eval").glob("*.jsonl.gz"):
        for talk in rows_of(path):
            yield from (turn["text"] for turn in talk["turns"])
    for talk in rows_of(data / BREAKDOWNS):
        if is_validation(talk["id"]):
            yield from (turn["text"] for turn in talk["turns"])
    for pair in read_pairs():
        yield from (*pair.history, pair.good, pair.bad)


def is_stated(reply: str, stated: set[str]) -> bool:
    """Return whether a reply that is no everyday phrase stands in an evaluated set."""
    return len(reply) >= SHORT and normalise(reply) in stated


def epoch(groups: Mapping[str, Sequence[T]], draw: np.random.Generator) -> list[T]:
    """Return what is learned in one epoch, in a random order."""
    chosen: list[T] = []
    for name, group in groups.items():
        most = int(SHARES.get(name, 1) * len(groups[WRITTEN]))
        chosen += [group[i] for i in draw.permutation(len(group))[:most]]
    return [chosen[i] for i in draw.permutation(len(chosen))]
