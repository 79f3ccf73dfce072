"""Coherence: FED's conversations, and FED's conversations against themselves damaged."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

from grice.errors import InputError
from grice.metrics.coherence.language_model import LanguageModelDialogues
from grice.metrics.coherence.protocol import Dialogue, DialogueClassifier
from grice.stats import compare_correlations, correlation, mean
from grice_research.language_models.samples import SHIPS, Place, sampled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from grice.metrics.coherence.language_model import LikelyTurns
    from grice_research.context import BenchContext
    from grice_research.language_models.samples import Candidate, Size
    from grice_research.rows import Row

__all__ = ["rows"]

DIALOGUES, SHIPPED = "dialogues", "bundle:coherence"
RATED: dict[Size, int] = {"medium": 50, "large": 16}
DAMAGED: dict[Size, int] = {"medium": 30, "large": 10}
MOST_WORDS = 150
"""Longer conversations are left out of the sample: each is read three times."""
ON, PAIRS = "coherence, FED conversations, sample", "coherence, intact or damaged, sample"
PARTS: dict[str, Callable[[LikelyTurns], float]] = {
    "mean turn": lambda likely: likely.mean,
    "worst turn": lambda likely: likely.worst,
    "permutation gain": lambda likely: likely.gain,
}


def rows(context: BenchContext, candidate: Candidate) -> Iterator[Row]:
    """Yield correlations with ratings, and how often the intact one of two scores higher."""
    yield from _rated(context, candidate)
    yield from _damaged(context, candidate)


def _columns(
    context: BenchContext, candidate: Candidate, dialogues: Sequence[Dialogue]
) -> dict[str, list[float]]:
    models = context.models()
    model = models.open(candidate.bundle(DIALOGUES), LanguageModelDialogues)
    shipped = models.open(SHIPPED, DialogueClassifier)
    likely = model.likely(dialogues)
    return {
        candidate.row: [value for value, _ in model.read(dialogues)],
        SHIPS: [value for value, _ in shipped.read(dialogues)],
        **{f"{candidate.row}, {part}": list(map(value, likely)) for part, value in PARTS.items()},
        "fewest turns": [-float(len(dialogue.texts)) for dialogue in dialogues],
        "words a turn": [_words(dialogue.texts) / len(dialogue.texts) for dialogue in dialogues],
    }


def _rated(context: BenchContext, candidate: Candidate) -> Iterator[Row]:
    rated = context.rated("fed_dialogue")
    items = [
        item
        for item in rated.items
        if _words([turn.text for turn in item.conversation.turns]) <= MOST_WORDS
    ]
    chosen = sampled(items, RATED[candidate.size], lambda item: item.conversation.id)
    turns = [item.conversation.turns for item in chosen]
    dialogues = [
        Dialogue(tuple(turn.speaker for turn in each), tuple(turn.text for turn in each))
        for each in turns
    ]
    columns = _columns(context, candidate, dialogues)
    place = _place(context, candidate, candidate.on(ON))
    for aspect in ("coherent", "overall"):
        human = [item.human(aspect) for item in chosen]
        compared = compare_correlations(
            {name: columns[name] for name in (candidate.row, SHIPS)},
            human,
            kind="spearman",
            baseline=SHIPS,
        )
        estimates = {
            name: correlation(values, human, kind="spearman", interval="bca")
            for name, values in columns.items()
        }
        yield from place.rows(f"spearman, {aspect}", estimates, compared.comparisons[0].difference)


def _place(context: BenchContext, candidate: Candidate, on: str) -> Place:
    why = f"conversations of at most {MOST_WORDS} words"
    return Place(on, context.models(), candidate, candidate.bundle(DIALOGUES), why)


def _damaged(context: BenchContext, candidate: Candidate) -> Iterator[Row]:
    pairs = sampled(list(read_pairs(context.folder)), DAMAGED[candidate.size], repr)
    columns = _columns(context, candidate, [dialogue for pair in pairs for dialogue in pair])
    right = {
        name: [
            0.5 if good == bad else float(good > bad)
            for good, bad in zip(values[::2], values[1::2], strict=True)
        ]
        for name, values in columns.items()
    }
    # An intact conversation is damaged several times.
    groups = [repr(good) for good, _ in pairs]
    gaps = [a - b for a, b in zip(right[candidate.row], right[SHIPS], strict=True)]
    shares = {
        name: mean(values, groups=groups, interval="percentile", bounds=(0, 1))
        for name, values in right.items()
    }
    gap = mean(gaps, groups=groups, interval="percentile", bounds=(-1, 1))
    place = _place(context, candidate, candidate.on(PAIRS))
    yield from place.rows("intact one higher", shares, gap)


def read_pairs(folder: Path) -> Iterator[tuple[Dialogue, Dialogue]]:
    """Yield conversations with themselves damaged; short ones alone.

    Raises:
        InputError: If the file is not there.
    """
    path = folder / "rated" / "robust_dialogues.jsonl.gz"
    if not path.is_file():
        raise InputError("rated/robust_dialogues.jsonl.gz is not in the data folder")
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    originals = {line["origin"]: line for line in lines if line["kind"] == "original"}
    for line in lines:
        original = originals.get(line["origin"])
        if line["kind"] == "original" or original is None:
            continue
        pair = (_dialogue(original), _dialogue(line))
        if max(_words(dialogue.texts) for dialogue in pair) <= MOST_WORDS:
            yield pair


def _dialogue(line: Mapping[str, object]) -> Dialogue:
    texts = tuple(turn["text"] for turn in line["turns"])  # type: ignore[attr-defined]
    return Dialogue(tuple("AB"[i % 2] for i in range(len(texts))), texts)


def _words(texts: Sequence[str]) -> int:
    return sum(len(text.split()) for text in texts)
