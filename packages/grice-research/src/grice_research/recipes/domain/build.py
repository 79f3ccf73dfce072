"""Build the ``domain`` bundle: what the conversations that train look like to the encoder.

    pip install -e '.[stats]'
    python -m grice_research.recipes.domain.build --data DATA      # about 3 minutes on one core

Turns are drawn evenly from the corpora that train relevance, without any text of an evaluated
set. Those of its training conversations are summed up by spherical k-means; half of its held-out
conversations give the quantiles, the other half and sets that nothing was trained on the figures
of the card.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from grice.evaluation.domain import FILE, USUAL, nearest
from grice.evaluation.sample import hashed
from grice.models.bundle import open_bundle, write_card
from grice.models.embedded import EmbeddedEncoder
from grice.stats.proportions import proportion
from grice_research.places import MODELS
from grice_research.recipes.relevance.corpora import (
    SOURCES,
    evaluated_texts,
    normalise,
    read_dialogues,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from grice_research.surface import Encode

    Vectors = NDArray[np.float32]

OUT = MODELS / "domain"
COMMAND = "python -m grice_research.recipes.domain.build --data ../shared/data"
SEED = 0
CENTROIDS = 96
"""As many as 80 kB hold at half precision."""
ROUNDS = 50
TRAINING_TURNS = 1600
"""Most turns drawn from the training conversations of one corpus."""
HELD_OUT_TURNS = 1000
"""Most turns drawn from its held-out conversations, both halves together."""
SHARES = (0.01, USUAL, 0.10, 0.25, 0.50)
ELSEWHERE = {
    "DailyDialog, test (everyday talk of another source)": "dailydialog/test",
    "NASA transcripts (talk between astronauts and ground)": "nasa_transcripts/conversations",
    "ARC Challenge, test (questions of school science)": "arc/challenge_test",
}
MOST_ELSEWHERE = 1200


class Utterance(NamedTuple):
    """A turn and the conversation it stands in."""

    conversation: str
    text: str


class Drawn(NamedTuple):
    """Turns for each purpose, and how many distinct texts were kept out."""

    training: list[Utterance]
    limits: list[Utterance]
    check: list[Utterance]
    excluded: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of data sets")
    data = parser.parse_args().data
    encoder = EmbeddedEncoder(open_bundle("encoder"), mode="fast", threads=1)
    drawn = draw(data)
    vectors = np.stack(encoder.encode([utterance.text for utterance in drawn.training]))
    # Rounded before anything is measured: these are the ones that ship.
    centroids = cluster(vectors, np.random.default_rng(SEED)).astype(np.float16)
    kept = centroids.astype(np.float32)
    cosines = nearest([utterance.text for utterance in drawn.limits], encoder.encode, kept)
    limits = np.quantile(cosines, SHARES).astype(np.float32)
    OUT.mkdir(parents=True, exist_ok=True)
    np.savez(OUT / FILE, centroids=centroids, shares=np.array(SHARES), cosines=limits)
    limit = float(limits[SHARES.index(USUAL)])
    sets = {"held-out conversations that gave no quantile": drawn.check}
    sets |= {name: elsewhere(data / f"{file}.jsonl.gz") for name, file in ELSEWHERE.items()}
    sets["the first of these with the words of all turns shuffled"] = shuffled(drawn.check)
    figures = [
        figure(on, utterances, encoder.encode, kept, limit) for on, utterances in sets.items()
    ]
    describe(drawn, figures)


def draw(data: Path) -> Drawn:
    """Return turns of every corpus, evenly as far as it has them, in the order of a hash."""
    evaluated = evaluated_texts(data)
    pools: dict[tuple[str, bool], dict[str, Utterance]] = {}
    excluded = set()
    for dialogue in read_dialogues(data):
        pool = pools.setdefault((dialogue.source, dialogue.held_out), {})
        for text, by_person in zip(dialogue.turns, dialogue.by_person, strict=True):
            if not by_person:
                continue
            if (form := normalise(text)) in evaluated:
                excluded.add(form)
            else:
                pool.setdefault(text, Utterance(dialogue.id, text))
    training: list[Utterance] = []
    held_out: list[Utterance] = []
    for (_, is_held_out), pool in sorted(pools.items(), key=itemgetter(0)):
        ordered = sorted(
            pool.values(),
            key=lambda kept_utterance: (hashed(kept_utterance.text, SEED), kept_utterance),
        )
        if is_held_out:
            held_out += ordered[:HELD_OUT_TURNS]
        else:
            training += ordered[:TRAINING_TURNS]
    halves: tuple[list[Utterance], list[Utterance]] = ([], [])
    for utterance in held_out:
        halves[hashed(utterance.conversation, SEED) % 2].append(utterance)
    return Drawn(training, *halves, len(excluded - {""}))


def cluster(vectors: Vectors, rng: np.random.Generator) -> Vectors:
    """Return centroids of unit length (spherical k-means, Dhillon and Modha 2001)."""
    centroids = vectors[rng.choice(len(vectors), CENTROIDS, replace=False)]
    for _ in range(ROUNDS):
        cosines = vectors @ centroids.T
        nearest_one = cosines.argmax(axis=1)
        sums = np.zeros_like(centroids)
        np.add.at(sums, nearest_one, vectors)
        empty = np.bincount(nearest_one, minlength=CENTROIDS) == 0
        sums[empty] = vectors[cosines.max(axis=1).argsort()[: empty.sum()]]
        centroids = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    return centroids


def elsewhere(path: Path) -> list[Utterance]:
    """Return turns (or questions) of a set that nothing was trained on."""
    utterances = list(_utterances(path))
    return sorted(utterances, key=lambda utterance: (hashed(utterance.text, SEED), utterance))[
        :MOST_ELSEWHERE
    ]


def _utterances(path: Path) -> Iterator[Utterance]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            row: dict[str, Any] = json.loads(line)
            texts = [turn["text"] for turn in row["turns"]] if "turns" in row else [row["stem"]]
            yield from (
                Utterance(str(row.get("id", number)), text) for text in texts if text.strip()
            )


def shuffled(utterances: list[Utterance]) -> list[Utterance]:
    """Return turns as long as these, of words drawn from all of them."""
    words = [word for utterance in utterances for word in utterance.text.split()]
    random.Random(SEED).shuffle(words)
    rest = iter(words)
    return [
        Utterance(utterance.conversation, " ".join(next(rest) for _ in utterance.text.split()))
        for utterance in utterances
    ]


def figure(
    on: str, utterances: Iterable[Utterance], encode: Encode, centroids: Vectors, limit: float
) -> dict[str, Any]:
    """Return the share of turns outside as a figure of the card."""
    rows = sorted(utterances)
    outside = nearest([row.text for row in rows], encode, centroids) < limit
    groups = groupby(zip(rows, outside, strict=True), key=lambda pair: pair[0].conversation)
    hits = [[bool(hit) for _, hit in group] for _, group in groups]
    estimate = proportion([float(sum(group)) for group in hits], [len(group) for group in hits])
    assert estimate is not None
    return {
        "on": on,
        "measure": "share of turns outside",
        "value": round(estimate.value, 4),
        "low": round(estimate.low or 0.0, 4),
        "high": round(estimate.high or 0.0, 4),
        "n": estimate.n,
        "command": COMMAND,
        "note": f"turns of {len(hits):,} conversations" if len(hits) < estimate.n else "",
    }


def describe(drawn: Drawn, figures: list[dict[str, Any]]) -> None:
    """Write the card beside the file."""
    encoder = open_bundle("encoder")
    facts = {
        "name": "domain",
        "kind": "domain",
        "version": "1",
        "summary": "What training conversations look like, to tell a file that is unlike them.",
        "licence": "Apache-2.0",
        "encoder": encoder.card.name,
        "inputs": "the vector of a turn",
        "outputs": (
            f"cosine to the nearest of {CENTROIDS} centroids of training turns, and the cosines "
            f"below which {', '.join(f'{part:.0%}' for part in SHARES)} of held-out turns lie; a "
            "text not in Latin letters or without a word counts as -1. Sees what a text is about, "
            "not whether it makes sense: see the figure on shuffled words"
        ),
    }
    named = dict.fromkeys(f"{source.name} ({source.licence})" for source in SOURCES)
    training = {
        "data": [
            *named,
            f"{len(drawn.training):,} turns, at most {TRAINING_TURNS:,} of a corpus; quantiles of "
            f"{len(drawn.limits):,} turns of held-out conversations",
        ],
        "selection": ["64 and 96 centroids were looked at: 96, as many as the size allows"],
        "excluded": (
            f"{drawn.excluded:,} distinct texts of these corpora stand (letters and digits in "
            "lower case) in the evaluated sets (EVALUATED in the recipe relevance.corpora); none "
            "was drawn"
        ),
        "command": COMMAND,
        "seeds": [SEED],
    }
    settings = {"encoder_digest": encoder.digest}
    write_card(OUT, facts, training, settings, figures, files=[FILE])


if __name__ == "__main__":
    main()
