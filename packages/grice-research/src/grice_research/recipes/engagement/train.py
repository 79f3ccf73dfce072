"""Make the engagement model.

python -m grice_research.recipes.engagement.train bundle --data ../shared/data
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from grice.models.protocols import Pair
from grice.text.language import unreadable
from grice_research.places import MODELS, work_folder
from grice_research.recipes.common import (
    StoredEncoder,
    VectorStore,
    parser_of,
    rows_of,
    update_card,
)
from grice_research.recipes.relevance.corpora import (
    EVALUATED,
    evaluated_texts,
    normalise,
    redial_windows,
)
from grice_research.training.replies import Penalty, fit_head, read_replies
from grice_research.training_texts import record_texts

GOOD = ("Good", "Excellent")  # of Topical-Chat's Poor, Not Good, Passable, Good and Excellent

INTERESTING = 2  # mean of 1 to 3 from which a reply of AB-ReDial counts as interesting: the middle

ENGAGING = 3
"""Conversation ratings of 1 to 5 from which a conversation counts as engaging, as published."""


class LabelledReply(NamedTuple):
    source: str
    pair: Pair
    label: int
    group: str


def without_evaluated(labels: list[LabelledReply], data: Path) -> tuple[list[LabelledReply], str]:
    """Return the labels whose texts no evaluated set holds, and in words what was left out."""
    evaluated = evaluated_texts(data)
    kept = [
        label
        for label in labels
        if not any(normalise(text) in evaluated for text in (*label.pair.left, label.pair.right))
    ]
    return kept, (
        f"{len(labels) - len(kept):,} of {len(labels):,} labelled replies, where the reply or the "
        f"turn before it occurs (letters and digits in lower case) among the {len(evaluated):,} "
        f"strings of the evaluated sets ({', '.join(EVALUATED)}) or is one of the 50 conversations "
        f"of the published study, are left out"
    )


def _topical_chat(data: Path) -> Iterator[LabelledReply]:
    for name in ("valid_freq", "valid_rare"):
        for row in rows_of(data / f"topical_chat/{name}.jsonl.gz"):
            texts = [" ".join(turn["text"].split()) for turn in row["turns"]]
            ratings = row["meta"]["turn_rating"]
            for before, text, rating in zip(texts, texts[1:], ratings[1:], strict=False):
                if rating and before and text:
                    pair, label = Pair((before,), text), int(rating in GOOD)
                    yield LabelledReply("topical_chat ratings of replies", pair, label, row["id"])


def _convai2017(data: Path) -> Iterator[LabelledReply]:
    for row in rows_of(data / "convai2017/convai2017.jsonl.gz"):
        if row["meta"]["amt50"]:
            continue
        turns = joined(row)
        engaging = int(engagement(row) >= ENGAGING) if len(turns) > 1 else 0
        users = row["meta"]["users"]
        for (_, before, _), (speaker, text, ratings) in pairwise(turns):
            pair = Pair((before,), text)
            yield LabelledReply("convai2017 ratings of conversations", pair, engaging, row["id"])
            if ratings:
                good = int(sum(ratings) / len(ratings) > 1.5)  # 1 bad, 2 good
                author = "bots'" if users.get(speaker) == "Bot" else "people's"
                source = f"convai2017 ratings of {author} messages"
                yield LabelledReply(source, pair, good, row["id"])


def engagement(row: dict[str, Any], *, corrected: bool = True) -> float:
    """Return the rating of the conversation by a person, 1 to 5.

    An entry stands under the id of who was rated. A bot rates nobody: its entry about the human
    is 0, and the human's rating is the one under the bot's id. Published labels took the 0.
    """
    given = row["meta"]["eval"]
    bots = [name for name, kind in row["meta"]["users"].items() if kind == "Bot"]
    people = [name for name in given if name not in bots]
    rated = [given[name]["engagement"] for name in (bots if corrected and bots else people)]
    return float(round(sum(rated) / len(rated)))


def joined(row: dict[str, Any]) -> list[tuple[str, str, list[int]]]:
    """Return speaker, text and ratings of each turn; messages in a row are one turn."""
    turns: list[tuple[str, str, list[int]]] = []
    ratings = row["meta"].get("utt_eval") or [0] * len(row["turns"])
    for turn, rating in zip(row["turns"], ratings, strict=False):
        text = " ".join(turn["text"].split())
        given = [rating] if rating else []
        if not text:
            continue
        if turns and turns[-1][0] == turn["speaker"]:
            speaker, before, earlier = turns[-1]
            turns[-1] = (speaker, f"{before} {text}", earlier + given)
        else:
            turns.append((turn["speaker"], text, given))
    return turns


def _ab_redial(data: Path) -> Iterator[LabelledReply]:
    for talk, (*_, before, reply), window in redial_windows(data):
        votes = window["interestingness"]
        if before and reply and votes:
            label = int(sum(votes) / len(votes) > INTERESTING)
            pair = Pair((before,), reply)
            yield LabelledReply("ab_redial interest of replies", pair, label, talk)


MOST = 2500  # labels of a source that are drawn
WORK = work_folder("engagement")
RELEVANCE = work_folder("relevance") / "vectors"
WAY, PENALTY = "and vectors, 0.1", Penalty(vectors=0.1)
"""Of six penalties, tried on two sets of sources, the one that carried over best: by the rank
correlation given length with ratings of single replies in corpora that were left out."""
SOURCES = (
    "topical_chat ratings of replies",
    "convai2017 ratings of people's messages",
    "convai2017 ratings of bots' messages",
    "ab_redial interest of replies",
)
"""Ratings of single replies, that learn; those of conversations carried over worse."""


def drawn(labels: list[LabelledReply]) -> list[LabelledReply]:
    """Return at most :data:`MOST` labels of each source, in their order."""
    random = np.random.default_rng(0)
    rows: list[int] = []
    for name in dict.fromkeys(label.source for label in labels):
        own = np.array([i for i, reply in enumerate(labels) if reply.source == name])
        rows += random.permutation(own)[:MOST].tolist()
    return [labels[i] for i in sorted(rows)]


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("step", choices=["bundle"])
    data = parser.parse_args().data
    replies = [
        reply
        for reply in (*_topical_chat(data), *_convai2017(data), *_ab_redial(data))
        if not unreadable(reply.pair.right) and not unreadable(reply.pair.left[0])
    ]
    labels, excluded = without_evaluated(replies, data)
    print(excluded, flush=True)
    labels = drawn(labels)
    # Those of conversations only chose the sources, and count as learned texts too.
    texts = {text for label in labels for text in (*label.pair.left, label.pair.right)}
    labels = [label for label in labels if label.source in SOURCES]
    WORK.mkdir(parents=True, exist_ok=True)
    encoder = StoredEncoder(texts, VectorStore(RELEVANCE), VectorStore(WORK / "vectors"))
    head = fit_head(
        read_replies([label.pair for label in labels], encoder),
        np.array([label.label for label in labels], np.float64),
        PENALTY,
        sources=np.array([SOURCES.index(label.source) for label in labels]),
    )
    folder = MODELS / "engagement"
    settings = {"reads": WAY, **head.save(folder)}
    update_card(folder, files=["head.npz"], settings=settings, excluded=excluded)
    record_texts(folder, texts)


if __name__ == "__main__":
    main()
