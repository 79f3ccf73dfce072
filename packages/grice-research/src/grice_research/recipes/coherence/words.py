"""A network on token states that says which words of a turn do not belong there.

    python -m grice_research.recipes.coherence.words states     # of the turns it learns from
    python -m grice_research.recipes.coherence.words fit        # three seeds, joined
    python -m grice_research.recipes.coherence.words judge      # all turns of weighed conversations

It learns from turns in which words were exchanged (``exchanged.py``): which tokens were, and that
the turn as it was said is less odd than what became of it. Conversations that weigh the numbers
are not shown to it.
"""

from __future__ import annotations

import argparse
import json
import pickle
import re
import time
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from random import Random
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy
from torch.nn.functional import softplus

from grice.metrics.turn_features import ReplacedTokenDetector
from grice.models.embedded import HiddenStates
from grice.models.mlp import Mlp
from grice.models.spans import neighbourhood
from grice.perturb.deam import base, exchanged, placeholder
from grice.perturb.wording import agreeing, replace, words
from grice_research.places import work_folder
from grice_research.recipes.coherence.arrays import weighing
from grice_research.recipes.coherence.data import Sample, only_weighs, said_again
from grice_research.recipes.common import Steps, exact_encoder

Spans = tuple[tuple[int, int], ...]

TURNS = 4  # turns of a conversation that are used
LONGEST_TURN, SHORTEST = 500, 4  # Characters, and words, of such a turn
POOL = 1500  # conversations whose words are put into other ones
FEW, HALF = 0.2, 0.5  # shares of a turn's words that are exchanged
ANY, LOST = 0.15, 0.12  # shares of words that are exchanged for any other, and that are left out
OTHERS = ("stranger", "stranger", "any", "drop", "swap", "irrelevancy")

_TOKEN = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")
_LETTERS = re.compile(r"[^\W\d_]+")
_WITH_BLANKS = re.compile(r"\S+\s*")


class Exchanged(NamedTuple):
    """A turn as it was said and with other words."""

    kind: str
    original: str
    text: str
    spans: Spans


class _Pool(NamedTuple):
    """Words of other conversations, by what they can take the place of, and all of them."""

    by_slot: dict[tuple[str, str], list[str]]
    all: list[str]


def exchanges(samples: Sequence[Sample], seed: int) -> list[list[Exchanged]]:
    """Return for each conversation some of its turns with other words, each turn in two ways."""
    pool = _pool(samples[:POOL])
    return [_of(sample, Random(f"{seed}:{i}"), pool) for i, sample in enumerate(samples)]


def as_perturbed(intact: Sample, broken: Sample) -> list[Exchanged]:
    """Return the turns that a perturbation of wording has changed."""
    if len(intact.turns) != len(broken.turns):
        return []
    return [_marked(broken.kind, intact.turns[i], broken.turns[i])
            for i in sorted(broken.broken) if intact.turns[i] != broken.turns[i]]  # fmt: skip


def _of(sample: Sample, draw: Random, pool: _Pool) -> list[Exchanged]:
    read = [words(text) for text in sample.turns]
    places = [i for i, text in enumerate(sample.turns)
              if len(text.split()) >= SHORTEST and len(text) < LONGEST_TURN]  # fmt: skip
    draw.shuffle(places)
    drawn: list[Exchanged] = []
    used = 0
    for place in places:
        if used == TURNS:
            break
        original = sample.turns[place]
        made = []
        for kind in ("irrelevancy", draw.choice(OTHERS)):
            if kind == "irrelevancy":
                change = exchanged(sample.turns, read, place, draw)
                text = change.after if change else None
            else:
                text = _WAYS[kind](original, draw, pool)
            if text and text != original:
                made.append(_marked(kind, original, text))
        drawn += made
        used += bool(made)
    return drawn


def _pool(samples: Sequence[Sample]) -> _Pool:
    by_slot: dict[tuple[str, str], list[str]] = {}
    every = []
    for text in (text for sample in samples for text in sample.turns):
        for word in words(text):
            if word.kind:
                by_slot.setdefault(placeholder(word), []).append(base(word))
            if word.text.isalpha():
                every.append(word.lower)
    return _Pool(by_slot, every)


def _strangers(original: str, draw: Random, pool: _Pool) -> str | None:
    """Put words of the same kind from other conversations into a turn."""
    read = words(original)
    able = [i for i, word in enumerate(read) if word.kind and placeholder(word) in pool.by_slot]
    if not able:
        return None
    own = {base(word) for word in read if word.kind}
    edits = {}
    for i in draw.sample(able, max(1, int(draw.choice((FEW, HALF)) * len(able)))):
        new = draw.choice(pool.by_slot[placeholder(read[i])])
        if new not in own:
            edits[read[i].start, read[i].end] = agreeing(new, read, i)
    return replace(original, edits) if edits else None


def _any(original: str, draw: Random, pool: _Pool) -> str | None:
    places = [match.span() for match in _LETTERS.finditer(original)]
    if len(places) < SHORTEST:
        return None
    chosen = draw.sample(places, max(1, int(ANY * len(places))))
    edits = {place: draw.choice(pool.all) for place in chosen}
    for (start, end), word in sorted(edits.items(), reverse=True):
        original = original[:start] + word + original[end:]
    return original


def _dropped(original: str, draw: Random, _: _Pool) -> str | None:
    parts = _WITH_BLANKS.findall(original)
    if len(parts) <= SHORTEST:
        return None
    left_out = set(draw.sample(range(len(parts) - 1), max(1, int(LOST * len(parts)))))
    return "".join(part for i, part in enumerate(parts) if i not in left_out)


def _swapped(original: str, draw: Random, _: _Pool) -> str | None:
    parts = original.split()
    if len(parts) <= SHORTEST:
        return None
    for _ in range(max(1, len(parts) // 12)):
        i = draw.randrange(len(parts) - 1)
        parts[i], parts[i + 1] = parts[i + 1], parts[i]
    return " ".join(parts)


_WAYS = {"stranger": _strangers, "any": _any, "drop": _dropped, "swap": _swapped}


def _marked(kind: str, original: str, text: str) -> Exchanged:
    """Mark what stands in a text and not in the turn as it was said."""
    before = _TOKEN.findall(original)
    after = [(match[0], match.span()) for match in _TOKEN.finditer(text)]
    matcher = SequenceMatcher(None, before, [word for word, _ in after], autojunk=False)
    spans: list[tuple[int, int]] = []
    for what, _, _, start, end in matcher.get_opcodes():
        if what == "delete":
            start, end = max(0, start - 1), min(len(after), start + 1)
        if what != "equal":
            spans += [span for _, span in after[start:end]]
    return Exchanged(kind, original, text, tuple(spans))


WORK = work_folder("coherence")
SEEDS = (0, 1, 2)
REACH = 1  # neighbours on each side of a token that are read
HIDDEN, DROPPED = 64, 0.1
RATE, DECAYED, EPOCHS, BATCH = 2e-3, 0.02, 4, 24
RARE = 2.0  # weight of a token that was exchanged, beside one that was not
LONGEST = 600  # characters of a turn that is learned from
SHARD, AT_ONCE = 4096, 256


class Twin(NamedTuple):
    """A turn as it was said and as it became, as the network reads them."""

    kind: str
    held_out: bool
    original: NDArray[np.float16]
    states: NDArray[np.float16]
    labels: NDArray[np.float32]


class TokenNet(nn.Module):
    """One number a token, from its neighbourhood and the mean of all states."""

    def __init__(self, dimensions: int) -> None:
        super().__init__()
        self.first = nn.Linear((2 * REACH + 2) * dimensions, HIDDEN)
        self.last = nn.Linear(HIDDEN, 1)
        self.drop = nn.Dropout(DROPPED)
        self.sharpness = nn.Parameter(torch.zeros(()))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return self.last(self.drop(torch.relu(self.first(rows))))[:, 0]

    def turns(self, odds: torch.Tensor, sizes: list[int]) -> torch.Tensor:
        """Return how odd whole turns are, the soft maximum of their tokens' log odds."""
        sharp = self.sharpness.exp()
        parts = torch.split(odds, sizes)
        return torch.stack([torch.logsumexp(part * sharp, 0) / sharp for part in parts])


def states() -> None:
    """Keep the states of all turns that are learned from, shard by shard."""
    made = pickle.loads((WORK / "samples.pickle").read_bytes())
    drawn = [(exchange, held) for held in (False, True) for exchange in _exchanged(made, held=held)]
    Random(0).shuffle(drawn)
    (WORK / "states").mkdir(exist_ok=True)
    encoder = exact_encoder()
    began = time.monotonic()
    for start in range(0, len(drawn), SHARD):
        path = WORK / "states" / f"{start // SHARD:03d}.pickle"
        if not path.exists():
            part = drawn[start : start + SHARD]
            before_states, became = (
                encoder.hidden_states([getattr(way, name) for way, _ in part])
                for name in ("original", "text")
            )
            path.write_bytes(pickle.dumps([
                Twin(exchange.kind, held, before.states.astype(np.float16),
                     after.states.astype(np.float16), _labels(exchange, after))
                for (exchange, held), before, after in zip(part, before_states, became, strict=True)
            ]))  # fmt: skip
            print(f"{start + len(part):,} of {len(drawn):,}, {time.monotonic() - began:.0f} s",
                  flush=True)  # fmt: skip


def _exchanged(made: dict[str, list[Any]], *, held: bool) -> Iterator[Exchanged]:
    """Yield turns with exchanged words: of what trains, or of what is held out."""
    whole = made["held" if held else "train"]
    number = {(sample.source, sample.id): i for i, sample in enumerate(whole)}
    for i, ways in enumerate(exchanges(whole, 2 if held else 1)):
        if held or not only_weighs(i):
            yield from (way for way in ways if len(way.text) < LONGEST)
    kinds = {"coreference", "contradiction", *(["irrelevancy"] if held else [])}
    for twin in made["held_broken" if held else "broken"]:
        i = number[twin.source, twin.id]
        if twin.kind in kinds and (held or not only_weighs(i)):
            yield from (exchange for exchange in as_perturbed(whole[i], twin)
                        if max(len(exchange.text), len(exchange.original)) < LONGEST)  # fmt: skip


def _labels(exchange: Exchanged, hidden: HiddenStates) -> NDArray[np.float32]:
    return np.array(
        [
            end > start and any(start < last and end > first for first, last in exchange.spans)
            for start, end in hidden.offsets
        ],
        np.float32,
    )


def _read(states: NDArray[np.float16]) -> NDArray[np.float32]:
    """Return what the network reads of the tokens of a turn, without the first and the last."""
    given = states.astype(np.float32)
    mean = np.broadcast_to(given.mean(axis=0), given.shape)
    return np.concatenate([neighbourhood(given, REACH), mean], axis=1)[1:-1]


def fit() -> None:
    """Fit a network for each seed, and join them to one."""
    twins = [twin for path in sorted((WORK / "states").glob("*.pickle"))
             for twin in pickle.loads(path.read_bytes())
             if min(len(twin.original), len(twin.states)) > 2]  # fmt: skip
    twins = [twin for twin in twins if not twin.held_out]
    for seed in SEEDS:
        path = WORK / f"words{seed}.pt"
        if not path.exists():
            net = _trained(twins, seed)
            torch.save(net.state_dict(), path)
    _join([torch.load(WORK / f"words{seed}.pt") for seed in SEEDS])


def _trained(twins: list[Twin], seed: int) -> TokenNet:
    torch.manual_seed(seed)
    draw = Random(seed)
    net = TokenNet(twins[0].original.shape[1])
    batches = -(-len(twins) // BATCH)
    step = Steps(net.parameters(), RATE, DECAYED, EPOCHS * batches)
    for epoch in range(EPOCHS):
        order = list(range(len(twins)))
        draw.shuffle(order)
        total = 0.0
        for start in range(0, len(order), BATCH):
            total += step(_loss(net, [twins[i] for i in order[start : start + BATCH]]))
        print(f"seed {seed}, epoch {epoch + 1}: loss {total / batches:.4f}", flush=True)
    return net.eval()


def _loss(net: TokenNet, twins: list[Twin]) -> torch.Tensor:
    read = [_read(twin.original) for twin in twins] + [_read(twin.states) for twin in twins]
    odds = net(torch.from_numpy(np.concatenate(read)))
    labels = [np.zeros(len(part), np.float32) for part in read[: len(twins)]]
    labels += [twin.labels[1:-1] for twin in twins]
    by_token = cross_entropy(odds, torch.from_numpy(np.concatenate(labels)),
                             pos_weight=torch.tensor(RARE))  # fmt: skip
    whole = net.turns(odds, [len(part) for part in read])
    return by_token + softplus(whole[: len(twins)] - whole[len(twins) :]).mean()


def _join(states: Sequence[dict[str, torch.Tensor]]) -> None:
    """Write one network whose output is the mean of several."""
    first = np.concatenate([state["first.weight"].numpy() for state in states]).T
    bias = np.concatenate([state["first.bias"].numpy() for state in states])
    last = np.concatenate([state["last.weight"].numpy() for state in states], axis=1).T
    last = last / len(states)
    shift = np.mean([state["last.bias"].numpy() for state in states], axis=0)
    Mlp([(first, bias), (last, shift)]).save(WORK / "misfits.npz", int8=True)
    sharpness = float(np.mean([state["sharpness"].exp().item() for state in states]))
    (WORK / "misfits.json").write_text(json.dumps({"sharpness": round(sharpness, 4)}), "utf-8")


def judge() -> None:
    """Judge the words of every turn of the conversations whose numbers are weighed."""
    made = pickle.loads((WORK / "samples.pickle").read_bytes())
    chosen = [*weighing(made), *made["held"], *made["held_broken"], *said_again(made["held"]),
              *made["rated"]]  # fmt: skip
    texts = sorted({text for sample in chosen for text in sample.turns})
    stated = json.loads((WORK / "misfits.json").read_text("utf-8"))
    head = ReplacedTokenDetector(Mlp.load(WORK / "misfits.npz"), REACH, stated["sharpness"], "")
    encoder = exact_encoder()
    judged = {}
    for start in range(0, len(texts), AT_ONCE):
        part = texts[start : start + AT_ONCE]
        for text, hidden in zip(part, encoder.hidden_states(part), strict=True):
            judged[text] = head.judge(text, hidden)
    (WORK / "misfits.pickle").write_bytes(pickle.dumps(judged))
    print(f"{len(judged):,} turns")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=["states", "fit", "judge"])
    torch.set_num_threads(1)
    {"states": states, "fit": fit, "judge": judge}[parser.parse_args().step]()


if __name__ == "__main__":
    main()
