"""Turn labelled turns into token states of the shared encoder, with a tag per token.

Writes ``work/states.npz``: the states of all tokens, their tags, and per turn
its length, split and form. Every turn stands there as it was written, half of them also as
hurried people type.
"""

from __future__ import annotations

import json
import random
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from grice.models.bundle import open_bundle
from grice.models.embedded import EmbeddedEncoder
from grice_research.places import work_folder

WORK = work_folder("events")
OUTSIDE, BEGIN, INSIDE = range(3)


class Labelled(NamedTuple):
    conversation: str
    text: str
    spans: list[tuple[int, int]]


def split_of(conversation: str) -> int:
    """Return 0, 1 or 2 for train, valid, test: 80, 10 and 10 % of the conversations."""
    return (0, 0, 0, 0, 0, 0, 0, 0, 1, 2)[zlib.crc32(conversation.encode()) % 10]


def bare(row: Labelled, rng: random.Random) -> Labelled:
    """Return a turn as hurried people type it: no punctuation, sometimes no apostrophes."""
    apostrophes = rng.random() < 0.5
    kept: list[tuple[str, int]] = []
    for i, c in enumerate(row.text):
        if c in "'’" and 0 < i < len(row.text) - 1 and row.text[i - 1].isalpha():
            if apostrophes:
                kept.append((c, i))
        elif c.isalnum() or c in "$%@":
            kept.append((c.lower(), i))
        elif kept and kept[-1][0] != " ":
            kept.append((" ", i))
    text = "".join(c for c, _ in kept)
    spans = []
    for start, end in row.spans:
        inside = [j for j, (c, i) in enumerate(kept) if start <= i < end and c != " "]
        if inside:
            spans.append((inside[0], inside[-1] + 1))
    return Labelled(row.conversation, text, spans)


def tags(offsets: list[tuple[int, int]], spans: list[tuple[int, int]]) -> list[int]:
    """Return the tag of each token by the span its first character lies in."""
    token_tags = [OUTSIDE] * len(offsets)
    for start, end in spans:
        inside = [i for i, (a, b) in enumerate(offsets) if b > a and start <= a < end]
        for i in inside:
            token_tags[i] = INSIDE
        if inside:
            token_tags[inside[0]] = BEGIN
    return token_tags


def read(path: Path) -> list[Labelled]:
    rows = (json.loads(line) for line in path.open(encoding="utf-8"))
    return [Labelled(r["conversation"], r["text"], [tuple(s) for s in r["spans"]]) for r in rows]


def main() -> None:
    written = read(WORK / "labels.jsonl")
    rng = random.Random(0)
    rows = [(row, 0) for row in written]
    rows += [(bare(row, rng), 1) for row in written if rng.random() < 0.5]
    encoder = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)
    states, tagged, meta = [], [], []
    for begin in range(0, len(rows), 512):
        block = rows[begin : begin + 512]
        hidden = encoder.hidden([row.text for row, _ in block])
        for (row, form), (hidden_states, _) in zip(block, hidden, strict=True):
            if not hidden_states.offsets:
                continue
            states.append(hidden_states.states[1:-1].astype(np.float16))
            tagged += tags(hidden_states.offsets, row.spans)[1:-1]
            meta.append((len(hidden_states.offsets) - 2, split_of(row.conversation), form))
    np.savez(
        WORK / "states.npz",
        states=np.concatenate(states),
        tags=np.array(tagged, np.int8),
        meta=np.array(meta, np.int32),
    )
    print(f"{len(meta)} turns, {len(tagged)} tokens")


if __name__ == "__main__":
    main()
