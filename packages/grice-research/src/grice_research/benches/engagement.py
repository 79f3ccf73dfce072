"""Engagement of replies: the rated sets, and the labels of conversations under both readings."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import numpy as np

from grice.errors import InputError
from grice.records import Conversation, Turn
from grice.stats import Estimate, correlation
from grice_research.accuracy import balanced_accuracy
from grice_research.convai import pairs_of, read_chats, split_of
from grice_research.cross_validation import (
    aggregated,
    by_conversation,
    by_features,
    by_head,
    transferred,
)
from grice_research.rated_replies import (
    SETS,
    baseline_rows,
    our_rows,
    printed_rows,
    test_row,
)
from grice_research.rows import Row
from grice_research.training.replies import Penalty, read_replies

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from grice_research.context import BenchContext
    from grice_research.convai import Chat, Labels

__all__ = ["PAPER", "TITLE", "measure"]

TITLE = "Engagement of replies, with the labels of the conversations as published and put right"
PAPER = "Ghazarian et al., Predictive Engagement, AAAI 2020"

SYSTEMS = ("MLP BERT(mean)", "MLP BERT(max)")
METRIC = ("engagement",)
READINGS: tuple[Labels, ...] = ("published", "corrected")
PENALTY = Penalty(scalars=1e-3, vectors=0.1)
"""On what is counted and on vectors, within one corpus."""

CONVERSATIONS = {0: 1690, 1: 21, 2: 81, 3: 47, 4: 147, 5: 63}
"""Table 3.1: conversations by engagement."""
PAIRS = {0: 10122, 1: 45, 2: 238, 3: 444, 4: 1492, 5: 783}
"""Table 3.1: pairs by engagement of their conversation."""
SPLIT = {"train": (6222, 1562), "valid": (2121, 575), "test": (2062, 582)}
"""Table 3.4: pairs of label 0 and 1."""
PRINTED = {"published": 0.76}
"""Figure 3.4, the best bar on the conversations: balanced accuracy on one split."""
STUDY = "predictive_engagement/convai_amt_297.jsonl.gz"
STUDIED = 0.64
"""Figure 3.4, the best bar on the 297 pairs that people labelled one by one."""


def measure(context: BenchContext) -> Iterator[Row]:
    """Yield table 3.5 beside ours, the transfer of labels, the study's pairs, and the counts."""
    yield from printed_rows(context, SYSTEMS, tuple(SETS))
    for label in SETS:
        yield from our_rows(context, "engagement", METRIC, label, beside="MLP BERT(mean)")
        yield from test_row(
            context,
            "engagement",
            METRIC,
            label,
            against="record:released.eng_mean",
            called="MLP BERT(mean)",
        )
        yield from baseline_rows(context, label)
    yield from _study(context)
    chats = read_chats(context.folder)
    yield from _counts(chats)
    for reading in READINGS:
        yield from _transfer(context, chats, reading)


def _counts(chats: list[Chat]) -> Iterator[Row]:
    for rating, printed in CONVERSATIONS.items():
        count = sum(chat.published == rating for chat in chats)
        yield _count(f"table 3.1: rated {rating}", "conversations", count, printed)
        rated = [chat for chat in chats if chat.published == rating]
        pairs = sum(len(pairs_of(chat, "published")) for chat in rated)
        yield _count(f"table 3.1: rated {rating}", "pairs", pairs, PAIRS[rating])
        right = sum(chat.corrected == rating for chat in chats)
        yield Row(
            row=f"corrected: rated {rating}",
            measure="conversations",
            estimate=_bare(right, len(chats)),
            kind="ours",
            why="a human-bot conversation gets the rating that the human gave, not the bot",
        )
    for part, counts in split_of(chats).items():
        for label, count in enumerate(counts):
            yield Row(
                row=f"table 3.4: {part}, label {label}",
                measure="pairs",
                estimate=None,
                kind="printed",
                published=float(SPLIT[part][label]),
                why=(
                    f"the split follows the order of a file that is lost; in the order at hand "
                    f"{count:,}"
                ),
            )


def _count(row: str, measure: str, count: int, printed: int) -> Row:
    return Row(
        row=row,
        measure=measure,
        estimate=_bare(count, count),
        kind="printed",
        published=float(printed),
        rounding=0.0,
    )


def _bare(value: float, n: int) -> Estimate:
    return Estimate(float(value), None, None, 0.95, n, "a count has no interval")


def _transfer(context: BenchContext, chats: list[Chat], reading: Labels) -> Iterator[Row]:
    """Yield how well the label of a conversation is told from a pair of it, and from all."""
    data = transferred(chats, reading)
    encoder = context.models().open("bundle:encoder")
    readings = read_replies(data.pairs, encoder)  # type: ignore[arg-type]
    head = by_head(data, readings, PENALTY)
    around = by_conversation(data, chats, readings, PENALTY)
    fingerprint = "head on vectors and features, folds by conversation"
    fingerprint = f"{fingerprint}|{context.models().fingerprint(ENCODER)}"
    alone = "from one pair, fitted without its conversation, five folds"
    for name, values, kind, why in (
        (
            f"engagement {reading}",
            around,
            "ours",
            "from a pair and the conversation around it: "
            "its place, length, words and manner of both; fitted without it, five folds",
        ),
        (f"engagement {reading}, one pair", head, "ours", alone),
        (f"n-grams, length, distinct words {reading}", by_features(data), "baseline", alone),
    ):
        yield Row(
            row=name,
            measure="balanced_accuracy",
            estimate=balanced_accuracy(values, data.labels, groups=data.chats),
            kind=kind,  # type: ignore[arg-type]
            published=PRINTED.get(reading) if kind == "ours" else None,
            beside="MLP BERT (mean), one split" if reading in PRINTED and kind == "ours" else "",
            why=why,
            signature=fingerprint,
        )
    for how, reduce in (("mean", np.mean), ("max", np.max), ("min", np.min)):
        values, places = aggregated(head, data, reduce)
        ratings = [float(chats[place].rating(reading)) for place in places]
        yield Row(
            row=f"engagement {reading}, {how} of a conversation's pairs",
            measure="spearman",
            estimate=correlation(values, ratings, kind="spearman"),
            kind="ours",
            why="against the rating of the conversation; fitted without it",
            signature=fingerprint,
        )


ENCODER = "bundle:encoder"


def _study(context: BenchContext) -> Iterator[Row]:
    """Yield the metric on the pairs that people labelled one by one."""
    talks, labels, groups = _pairs_of_study(context.folder / STUDY)
    grader, signatures = context.grader("engagement")
    values = [score.value for score in grader.score(talks)]
    lengths = [float(len(talk.turns[-1].text)) for talk in talks]
    middle = float(np.median(lengths))
    yield Row(
        row="engagement study pairs",
        measure="balanced_accuracy",
        estimate=balanced_accuracy(values, labels, groups=groups),
        kind="ours",
        published=STUDIED,
        beside="MLP BERT (mean), trained on the published labels",
        why="297 pairs of the 50 conversations that no model here was trained on",
        signature=signatures["engagement"],
    )
    yield Row(
        row="longer than the median study pairs",
        measure="balanced_accuracy",
        estimate=balanced_accuracy(lengths, labels, threshold=middle, groups=groups),
        kind="baseline",
    )


def _pairs_of_study(path: Path) -> tuple[list[Conversation], list[float], list[str]]:
    import msgspec

    if not path.is_file():
        raise InputError(f"{path} is not there; the pairs are of PlusLabNLP/PredictiveEngagement")
    talks, labels, groups = [], [], []
    for line in gzip.decompress(path.read_bytes()).splitlines():
        row = msgspec.json.decode(line)
        turns = (Turn("A", row["query"]), Turn("B", row["reply"]))
        talks.append(Conversation(str(row["id"]), turns, targets=(1,)))
        labels.append(float(row["label"]))
        groups.append(str(row["places"][0][0]))
    return talks, labels, groups
