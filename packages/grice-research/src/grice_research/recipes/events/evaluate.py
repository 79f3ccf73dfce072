"""Measure the shipped event tagger and write its figures into ``work/quality.json``.

Against the teacher, on the test conversations: F1 of words in events, of events with exactly the
same words, and of events that share more than half of their words. Against people, on the
training part of DECO (never trained on): how well the best found event covers the head and the
tail of each human tuple, as token F1 over lemmas, beside whole sentences and whole turns.

    python -m grice_research.recipes.events.evaluate --data ../shared/data
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import lemminflect
import numpy as np

from grice.models.bundle import Bundle, open_bundle
from grice.models.embedded import EmbeddedEncoder
from grice.models.registry import read_settings
from grice.models.spans import SpanHead, SpanSettings
from grice.text.events import Event, read_events, triple_texts
from grice_research.recipes.events.states import WORK, Labelled, bare, read, split_of

COMMAND = "python -m grice_research.recipes.events.evaluate --data ../shared/data"
PERSON = re.compile(r"per?sonx|personx?y|persony", re.IGNORECASE)
IGNORED = frozenset({"be", "the", "a", "an", "to", "not", "do", "that", "of"})
Spans = list[tuple[int, int]]


def opened(head: Path | str) -> SpanHead:
    bundle: Bundle = open_bundle(head)
    encoder = EmbeddedEncoder(open_bundle(bundle.card.encoder), mode="exact", threads=1)
    return SpanHead(
        read_settings(bundle, SpanSettings),
        bundle.folder,
        lambda texts: [hidden for hidden, _ in encoder.hidden(texts)],
        bundle.identity,
    )


def interval(
    counts: list[np.ndarray], statistic: Callable[[np.ndarray], float]
) -> tuple[float, float, float]:
    """Return the statistic of summed counts and its 95 % bootstrap interval over the clusters."""
    table = np.array(counts, dtype=float)
    rng = np.random.default_rng(0)
    draws = [statistic(table[rng.integers(0, len(table), len(table))].sum(0)) for _ in range(1000)]
    low, high = np.quantile(draws, [0.025, 0.975])
    return statistic(table.sum(0)), float(low), float(high)


def f1(counts: np.ndarray) -> float:
    hit, given, true = counts
    return float(2 * hit / max(1, given + true))


def words_of(text: str, spans: Spans) -> list[frozenset[int]]:
    words = [m.start() for m in re.finditer(r"[\w']+", text)]
    return [frozenset(w for w in words if start <= w < end) for start, end in spans]


def agreement(text: str, spans: Spans, gold: Spans) -> dict[str, np.ndarray]:
    a, b = words_of(text, spans), words_of(text, gold)
    inside, expected = frozenset().union(*a), frozenset().union(*b)
    near = [
        sum(any(2 * len(x & y) > len(x | y) for y in others) for x in ours)
        for ours, others in ((a, b), (b, a))
    ]
    return {
        "F1 of words in events": np.array([len(inside & expected), len(inside), len(expected)]),
        "F1 of events, same words": np.array([len(set(a) & set(b)), len(a), len(b)]),
        "F1 of events, most words shared": np.array([sum(near) / 2, len(a), len(b)]),
    }


def against_teacher(head: SpanHead) -> list[dict[str, object]]:
    rng = random.Random(0)
    rows = {"as written": read(WORK / "labels.jsonl")}
    rows["without punctuation"] = [bare(row, rng) for row in rows["as written"]]
    quality = []
    for form, labelled in rows.items():
        test: list[Labelled] = [r for r in labelled if split_of(r.conversation) == 2]
        counts: dict[str, dict[str, np.ndarray]] = defaultdict(
            lambda: defaultdict(lambda: np.zeros(3))
        )
        for row, spans in zip(test, head.tag([r.text for r in test]), strict=True):
            for measure, count in agreement(
                row.text, [(s.start, s.end) for s in spans], row.spans
            ).items():
                counts[measure][row.conversation] += count
        for measure, by_conversation in counts.items():
            value, low, high = interval(list(by_conversation.values()), f1)
            quality.append(
                {
                    "on": f"parser's events in held-out conversations, {form}",
                    "measure": measure,
                    "value": value,
                    "low": low,
                    "high": high,
                    "n": len(test),
                }
            )
    return quality


def lemmas(text: str) -> Counter[str]:
    text = PERSON.sub("", text.lower().replace("'s", " ").replace("’", "'"))
    text = re.sub(r"n't\b", " not", text)
    counts = Counter()
    for word in re.findall(r"[a-z]+", text):
        by_class = lemminflect.getAllLemmas(word)
        lemma = next((by_class[c][0] for c in ("VERB", "NOUN", "ADJ") if c in by_class), word)
        if lemma not in IGNORED and word not in {
            "i",
            "you",
            "my",
            "your",
            "me",
            "he",
            "she",
            "they",
            "his",
            "her",
        }:
            counts[lemma] += 1
    return counts


def overlap(event: str, human: str) -> float:
    a, b = lemmas(event), lemmas(human)
    return 2 * sum((a & b).values()) / max(1, sum(a.values()) + sum(b.values()))


def sentences(text: str) -> Spans:
    return [m.span() for m in re.finditer(r"[^.!?]*[^.!?\s][^.!?]*", text)]


def deco_rows(data: Path) -> list[dict[str, object]]:
    rows = [
        json.loads(line) for line in (data / "accent_deco/deco_train.jsonl").open(encoding="utf-8")
    ]
    return [row | {"before": row["history"].split("</UTT>")[-2].strip()} for row in rows]


def against_people(head: SpanHead, data: Path) -> list[dict[str, object]]:
    rows = deco_rows(data)
    texts = [str(row[side]) for row in rows for side in ("response", "before")]
    tagged = {
        text: [(s.start, s.end) for s in spans]
        for text, spans in zip(texts, head.tag(texts), strict=True)
    }
    taught = json.loads((WORK / "teacher.json").read_text())
    ways: dict[str, Callable[[str], list[str]]] = {
        "found events": lambda text: [text[a:b] for a, b in tagged[text]],
        "found events in ATOMIC form": lambda text: [
            event.text("responder")
            for event in read_events(text, tagged[text], said_by="responder")
        ],
        "the parser's events": lambda text: [text[a:b] for a, b in taught[text]],
        "whole sentences": lambda text: [text[a:b] for a, b in sentences(text)],
        "whole turns": lambda text: [text],
    }
    quality = []
    for way, events in ways.items():
        best: dict[str, list[np.ndarray]] = {"single": [], "pair": []}
        for row in rows:
            for setting in best:
                sides = ["response"] if setting == "single" else ["response", "before"]
                candidates = [event for side in sides for event in events(str(row[side]))]
                scores = [
                    max((overlap(c, argument) for c in candidates), default=0.0)
                    for human in row[f"tuples_{setting}"]
                    for argument in (human[0], human[2])
                ]
                if scores:
                    best[setting].append(
                        np.array([sum(scores), sum(s >= 0.5 for s in scores), len(scores)])
                    )
        for setting, counts in best.items():
            for column, measure in (
                (0, "mean token F1 of the best event"),
                (1, "share with token F1 of at least 0.5"),
            ):
                value, low, high = interval(
                    counts, lambda c, column=column: float(c[column] / c[2])
                )
                quality.append(
                    {
                        "on": f"heads and tails of human '{setting}' tuples, DECO train: {way}",
                        "measure": measure,
                        "value": value,
                        "low": low,
                        "high": high,
                        "n": int(sum(c[2] for c in counts)),
                    }
                )
    for side in ("response", "before"):
        counts = [np.array([len(tagged[str(row[side])]), 1]) for row in rows]
        value, low, high = interval(counts, lambda c: float(c[0] / c[1]))
        quality.append(
            {
                "on": f"DECO train, {'responses' if side == 'response' else 'previous turns'}",
                "measure": "events per turn",
                "value": value,
                "low": low,
                "high": high,
                "n": len(rows),
            }
        )
    return quality


def persons(head: SpanHead, data: Path) -> list[dict[str, object]]:
    """Compare who the subject of the tail is with the people's choice, where both events match."""
    counts = []
    for row in deco_rows(data):
        events: list[tuple[str, Event]] = []
        for side, by in (("response", "responder"), ("before", "previous")):
            text = str(row[side])
            spans = [(s.start, s.end) for s in head.tag([text])[0]]
            read = read_events(text, spans, said_by=by)
            events += [(text[a:b], event) for (a, b), event in zip(spans, read, strict=True)]
        count = np.zeros(3)
        for first, relation, second in (*row["tuples_single"], *row["tuples_pair"]):
            near = [
                max(events, key=lambda e, h=h: overlap(e[0], h), default=None)
                for h in (first, second)
            ]
            if None in near or any(
                overlap(e[0], h) < 0.5 for e, h in zip(near, (first, second), strict=True)
            ):
                continue
            written = triple_texts(near[0][1], near[1][1])
            names = [[m[0] for m in (re.match("Person[XY]", t),) if m] for t in written]
            human = [re.match("Person[XY]", h) for h in (first, second)]
            if not all(names) or not all(human):
                continue
            expected = [h[0] for h in human]
            rule = ["PersonX", "PersonY" if relation.startswith("o") else "PersonX"]
            count += [[n[0] for n in names] == expected, rule == expected, 1]
        if count[2]:
            counts.append(count)
    quality = []
    for column, way in ((0, "triple_texts"), (1, "by the relation alone (x: PersonX, o: PersonY)")):
        value, low, high = interval(counts, lambda c, column=column: float(c[column] / c[2]))
        quality.append(
            {
                "on": f"human tuples of DECO train whose two events were found: {way}",
                "measure": "share with the people's two subjects",
                "value": value,
                "low": low,
                "high": high,
                "n": int(sum(c[2] for c in counts)),
            }
        )
    return quality


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--bundle", type=Path, help="a bundle folder; the shipped one by default")
    arguments = parser.parse_args()
    head = opened(arguments.bundle or "events")
    quality = [
        row | {"command": COMMAND}
        for row in (
            *against_teacher(head),
            *against_people(head, arguments.data),
            *persons(head, arguments.data),
        )
    ]
    for row in quality:
        figure = "{value:.3f} [{low:.3f}, {high:.3f}] n={n}  {measure}: {on}"
        print(figure.format_map(row))
    (WORK / "quality.json").write_text(json.dumps(quality, indent=1) + "\n")


if __name__ == "__main__":
    main()
