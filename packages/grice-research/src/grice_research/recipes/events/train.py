"""Fit the event tagger on the token states of labelled turns (``label.py`` comes first).

    python -m grice_research.recipes.events.train --reach 2 --hidden 256 --epochs 6

Three seeds; the one with the best span F1 on the valid conversations is kept. The test
conversations are left to ``evaluate.py``.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import zlib
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from grice.models.mlp import Mlp
from grice_research.places import work_folder
from grice_research.recipes.common import (
    Steps,
    exact_encoder,
    layers_of,
    parser_of,
    rows_of,
    state_of,
)

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


def read_labels() -> list[Labelled]:
    rows = rows_of(WORK / "labels.jsonl")
    return [Labelled(r["conversation"], r["text"], [tuple(s) for s in r["spans"]]) for r in rows]


def write_states() -> None:
    """Write the states of all tokens, their tags, and per turn its length, split and form.

    Every turn stands there as it was written, half of them also as hurried people type.
    """
    written = read_labels()
    rng = random.Random(0)
    rows = [(row, 0) for row in written]
    rows += [(bare(row, rng), 1) for row in written if rng.random() < 0.5]
    encoder = exact_encoder()
    states, tagged, meta = [], [], []
    for begin in range(0, len(rows), 512):
        block = rows[begin : begin + 512]
        hidden = encoder.hidden_states([row.text for row, _ in block])
        for (row, form), hidden_states in zip(block, hidden, strict=True):
            if not hidden_states.offsets:
                continue
            states.append(hidden_states.states[1:-1].astype(np.float16))
            tagged += tags(hidden_states.offsets, row.spans)[1:-1]
            meta.append((len(hidden_states.offsets) - 2, split_of(row.conversation), form))
    arrays = {"tags": np.array(tagged, np.int8), "meta": np.array(meta, np.int32)}
    np.savez(WORK / "states.npz", allow_pickle=False, states=np.concatenate(states), **arrays)
    print(f"{len(meta)} turns, {len(tagged)} tokens")


TAGS = 3
IMPOSSIBLE = -1e4


class Turns(NamedTuple):
    """Turns of one split: token states with a border of zeros between turns."""

    states: torch.Tensor  # (all tokens and borders, dimensions), float16
    first: NDArray[np.int64]  # row of each turn's first token
    lengths: NDArray[np.int64]
    tags: torch.Tensor  # per row


class Tagger(torch.nn.Module):
    def __init__(self, inputs: int, hidden: int, reach: int) -> None:
        super().__init__()
        self.reach = reach
        self.first = torch.nn.Linear(inputs * (2 * reach + 1), hidden)
        self.last = torch.nn.Linear(hidden, TAGS)
        self.start = torch.nn.Parameter(torch.zeros(TAGS))
        self.transitions = torch.nn.Parameter(torch.zeros(TAGS, TAGS))
        self.drop_in = torch.nn.Dropout(0.15)
        self.drop = torch.nn.Dropout(0.35)

    def emissions(self, windows: torch.Tensor) -> torch.Tensor:
        return self.last(self.drop(torch.relu(self.first(self.drop_in(windows)))))

    def chain(self) -> tuple[torch.Tensor, torch.Tensor]:
        forbidden = torch.zeros(TAGS, TAGS)
        forbidden[0, 2] = IMPOSSIBLE
        first = torch.tensor([0.0, 0.0, IMPOSSIBLE])
        return self.start + first, self.transitions + forbidden

    def loss(self, emissions: torch.Tensor, tags: torch.Tensor) -> torch.Tensor:
        """Return the mean negative log likelihood per token of turns of one length."""
        start, transitions = self.chain()
        total = start + emissions[:, 0]
        gold = total.gather(1, tags[:, :1])[:, 0]
        for i in range(1, tags.shape[1]):
            total = torch.logsumexp(total[:, :, None] + transitions, dim=1) + emissions[:, i]
            gold = gold + transitions[tags[:, i - 1], tags[:, i]]
            gold = gold + emissions[:, i].gather(1, tags[:, i : i + 1])[:, 0]
        return (torch.logsumexp(total, dim=1) - gold).sum() / tags.numel()


def load(split: int, reach: int) -> Turns:
    with np.load(WORK / "states.npz") as arrays:
        states, tags, meta = arrays["states"], arrays["tags"], arrays["meta"]
    ends = meta[:, 0].cumsum()
    chosen = np.flatnonzero(meta[:, 1] == split)
    lengths = meta[chosen, 0].astype(np.int64)
    first = reach + np.concatenate([[0], (lengths[:-1] + reach).cumsum()])
    rows = int(first[-1] + lengths[-1] + reach)
    kept = np.zeros((rows, states.shape[1]), np.float16)
    kept_tags = np.zeros(rows, np.int64)
    for turn, at, length in zip(chosen, first, lengths, strict=True):
        source = slice(ends[turn] - length, ends[turn])
        kept[at : at + length] = states[source]
        kept_tags[at : at + length] = tags[source]
    return Turns(torch.from_numpy(kept), first, lengths, torch.from_numpy(kept_tags))


def batches(turns: Turns, tokens: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """Return turns of equal length, about ``tokens`` tokens together, in random order."""
    grouped = []
    for length in np.unique(turns.lengths):
        members = rng.permutation(np.flatnonzero(turns.lengths == length))
        size = max(1, tokens // int(length))
        grouped += [members[i : i + size] for i in range(0, len(members), size)]
    rng.shuffle(grouped)  # type: ignore[arg-type]
    return grouped


def gather(
    turns: Turns, members: NDArray[np.int64], reach: int
) -> tuple[torch.Tensor, torch.Tensor]:
    length = int(turns.lengths[members[0]])
    rows = torch.from_numpy(turns.first[members][:, None] + np.arange(length))
    near = torch.arange(-reach, reach + 1)
    windows = turns.states[(rows[:, :, None] + near).reshape(-1)].float()
    return windows.reshape(len(members), length, -1), turns.tags[rows]


def best_path(model: Tagger, emissions: torch.Tensor) -> torch.Tensor:
    start, transitions = model.chain()
    score = start + emissions[:, 0]
    back = []
    for i in range(1, emissions.shape[1]):
        into = score[:, :, None] + transitions
        score, pointers = into.max(dim=1)
        score = score + emissions[:, i]
        back.append(pointers)
    path = [score.argmax(dim=1)]
    for pointers in reversed(back):
        path.append(pointers.gather(1, path[-1][:, None])[:, 0])
    return torch.stack(path[::-1], dim=1)


def spans(tags: NDArray[np.int64]) -> set[tuple[int, int]]:
    return {run.span() for run in re.finditer("12*", "".join(map(str, tags)))}


@torch.no_grad()
def span_f1(model: Tagger, turns: Turns, reach: int) -> float:
    model.eval()
    hit = given = true = 0
    for members in batches(turns, 4000, np.random.default_rng(0)):
        windows, tags = gather(turns, members, reach)
        paths = best_path(model, model.emissions(windows)).numpy()
        for path, gold in zip(paths, tags.numpy(), strict=True):
            a, b = spans(path), spans(gold)
            hit, given, true = hit + len(a & b), given + len(a), true + len(b)
    return 2 * hit / max(1, given + true)


def fit(
    seed: int, reach: int, hidden: int, epochs: int, data: tuple[Turns, Turns]
) -> tuple[float, Tagger]:
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    train, valid = data
    model = Tagger(train.states.shape[1], hidden, reach)
    steps = epochs * len(batches(train, 1000, rng))
    step = Steps(model.parameters(), 1.5e-3, 0.01, steps + epochs * 99)
    best, kept = -1.0, None
    for epoch in range(epochs):
        model.train()
        losses = []
        for members in batches(train, 1000, rng):
            windows, tags = gather(train, members, reach)
            losses.append(step(model.loss(model.emissions(windows), tags)))
        f1 = span_f1(model, valid, reach)
        shown = f"loss {np.mean(losses):.4f} valid span F1 {f1:.4f}"
        print(f"seed {seed} epoch {epoch} {shown}", flush=True)
        if f1 > best:
            best, kept = f1, state_of(model)
    assert kept is not None
    model.load_state_dict(kept)
    return best, model


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--reach", type=int, default=2)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=8)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if not (WORK / "states.npz").exists():
        write_states()
    data = load(0, arguments.reach), load(1, arguments.reach)
    runs: list[tuple[float, int, Tagger]] = []
    for seed in (0, 1, 2):
        f1, model = fit(seed, arguments.reach, arguments.hidden, arguments.epochs, data)
        runs.append((f1, seed, model))
        write(runs, arguments)  # a run that is stopped keeps what it has


def write(runs: list[tuple[float, int, Tagger]], arguments: argparse.Namespace) -> None:
    f1, seed, model = max(runs, key=lambda run: run[:2])
    Mlp(layers_of(model)).save(WORK / "head.npz")
    settings = {
        "label": "event",
        "reach": arguments.reach,
        "start": [round(v, 4) for v in model.start.detach().tolist()],
        "transitions": [round(v, 4) for v in model.transitions.detach().flatten().tolist()],
        "seeds": {str(s): round(f, 4) for f, s, _ in runs},
        "kept_seed": seed,
        "command": "python -m grice_research.recipes.events.train "
        f"--reach {arguments.reach} --hidden {arguments.hidden} --epochs {arguments.epochs}",
    }
    (WORK / "settings.json").write_text(json.dumps(settings, indent=1) + "\n")
    print(f"kept seed {seed}, valid span F1 {f1:.4f}", flush=True)


if __name__ == "__main__":
    main()
