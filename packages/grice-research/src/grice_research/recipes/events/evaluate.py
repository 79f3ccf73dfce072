"""Put the trained head into the package and measure it against the teacher.

    python -m grice_research.recipes.events.evaluate

Measured on the test conversations: F1 of words in events, of events with exactly the same words,
and of events that share more than half of their words.
"""

from __future__ import annotations

import json
import random
import re
import shutil
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from grice.models.loader import ModelLoader
from grice.models.spans import SpanHead
from grice.stats.resample import estimate, resample
from grice_research.places import MODELS
from grice_research.recipes.common import figure_of, parser_of, update_card
from grice_research.recipes.events.train import WORK, Labelled, bare, read_labels, split_of
from grice_research.training_texts import record_texts

COMMAND = "python -m grice_research.recipes.events.evaluate"
Spans = list[tuple[int, int]]


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


def against_teacher(head: SpanHead) -> list[dict[str, Any]]:
    rng = random.Random(0)
    rows = {"as written": read_labels()}
    rows["without punctuation"] = [bare(row, rng) for row in rows["as written"]]
    quality = []
    for form, labelled in rows.items():
        test: list[Labelled] = [r for r in labelled if split_of(r.conversation) == 2]
        counts: dict[str, dict[str, np.ndarray]] = defaultdict(
            lambda: defaultdict(lambda: np.zeros(3))
        )
        for row, spans in zip(test, head.tag([r.text for r in test]), strict=True):
            found = [(span.start, span.end) for span in spans]
            for measure, count in agreement(row.text, found, row.spans).items():
                counts[measure][row.conversation] += count
        on = f"parser's events in held-out conversations, {form}"
        for measure, by_conversation in counts.items():
            table = np.array(list(by_conversation.values()))

            def f1(weights: np.ndarray, table: np.ndarray = table) -> np.ndarray:
                hit, given, true = (weights @ table).T
                return (2 * hit / np.maximum(1, given + true))[:, None]

            share = estimate(resample(f1, len(table), kind="percentile"), what=measure)
            quality.append(figure_of(on, measure, share, COMMAND, len(test)))
    return quality


def pack(quality: Sequence[dict[str, Any]]) -> None:
    folder = MODELS / "events"
    shutil.copyfile(WORK / "head.npz", folder / "head.npz")
    settings = json.loads((WORK / "settings.json").read_text())
    counts = json.loads((WORK / "labels.counts.json").read_text())
    dropped = counts["dropped: stands in an evaluation set"]
    update_card(
        folder,
        files=["head.npz"],
        settings={name: settings[name] for name in ("label", "reach", "start", "transitions")},
        quality=quality,
        excluded=f"{dropped} turns that occur (letters and digits, lower case) in DECO, the "
        f"ConTurE subset or the rated sets, among {counts['evaluated texts']} such texts; "
        f"{counts['turns']} turns were labelled",
        command=settings["command"],
        seeds=sorted(int(seed) for seed in settings["seeds"]),
    )
    # The turns that trained it or chose epoch and seed.
    learned = (row.text for row in read_labels() if split_of(row.conversation) < 2)
    record_texts(folder, learned)


def main() -> None:
    parser_of(__doc__).parse_args()
    pack(())
    quality = against_teacher(ModelLoader().load("builtin:events", SpanHead))
    for row in quality:
        figure = "{value:.3f} [{low:.3f}, {high:.3f}] n={n}  {measure}: {on}"
        print(figure.format_map(row))
    pack(quality)


if __name__ == "__main__":
    main()
