"""Measure the shipped event tagger and write its figures into ``work/quality.json``.

Against the teacher, on the test conversations: F1 of words in events, of events with exactly the
same words, and of events that share more than half of their words.

    python -m grice_research.recipes.events.evaluate
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np

from grice.models.bundle import Bundle, open_bundle
from grice.models.embedded import EmbeddedEncoder
from grice.models.loader import read_settings
from grice.models.spans import SpanHead, SpanSettings
from grice_research.recipes.events.states import WORK, Labelled, bare, read, split_of

COMMAND = "python -m grice_research.recipes.events.evaluate"


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--bundle", type=Path, help="a bundle folder; the shipped one by default")
    arguments = parser.parse_args()
    head = opened(arguments.bundle or "events")
    quality = [row | {"command": COMMAND} for row in against_teacher(head)]
    for row in quality:
        figure = "{value:.3f} [{low:.3f}, {high:.3f}] n={n}  {measure}: {on}"
        print(figure.format_map(row))
    (WORK / "quality.json").write_text(json.dumps(quality, indent=1) + "\n")


if __name__ == "__main__":
    main()
