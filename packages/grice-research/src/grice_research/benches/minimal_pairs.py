"""Pairs of replies that differ in a few words, one of which a person would call flawed.

A metric is right about a pair if the good reply scores higher; ties count half, so that 0.5 is
chance. Of a metric of whole conversations the two conversations are compared. The pairs were
written for this project, 30 for each of twelve kinds of flaw, and serve its development: a figure
on them is no evidence on replies of chatbots, and no metric may be called better by it alone.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from importlib import resources

import msgspec

from grice.data import Conversation, Turn
from grice.stats import mean
from grice_research.benches._turns import (
    FETCHED,
    digest_of,
    missing_model,
    own_turn_cosines,
    shipped_metrics,
    values_of,
)
from grice_research.context import BenchContext
from grice_research.figures import Figure, figure, gap_to

TITLE = "Minimal pairs of replies, written for the development of this project"
PAPER = "Our own: good and bad replies of nearly the same words and length, 30 for each kind"

FILE = "minimal_pairs.jsonl.gz"
COSINE, LENGTH, OWN_TURNS = "cosine_last_turn", "log_length", "cosine_own_turns"
AT_LEAST_AS_LONG = "bad at least as long"
"""The rule that takes the shorter reply for the good one, in characters, and a tie for right."""
TRIVIAL = (COSINE, LENGTH, OWN_TURNS, AT_LEAST_AS_LONG)
ALL = "all kinds"
RIGHT = "share right"


class MinimalPair(msgspec.Struct, frozen=True):
    """A history, oldest turn first, and two replies to it."""

    kind: str
    history: tuple[str, ...]
    good: str
    bad: str


def read_pairs() -> list[MinimalPair]:
    """Return the pairs, kind by kind."""
    content = (resources.files("grice_research") / "data" / FILE).read_bytes()
    decoder = msgspec.json.Decoder(MinimalPair)
    return [decoder.decode(line) for line in gzip.decompress(content).splitlines()]


def measure(context: BenchContext) -> Iterator[Figure]:
    """Yield how often each metric and baseline is right, over all pairs and by kind."""
    yield from measure_pairs(context, "minimal_pairs", read_pairs(), shipped_metrics(), FETCHED)


def measure_pairs(
    context: BenchContext,
    data: str,
    pairs: Sequence[MinimalPair],
    metrics: list[str],
    fetched: Sequence[str],
) -> Iterator[Figure]:
    """Yield the rows of metrics, of those that were fetched, and of baselines, on pairs."""
    for name in fetched:
        if why := missing_model(context, name):
            yield figure(name, RIGHT, None, "ours", on=ALL, why=why)
        else:
            metrics.append(name)
    right, signatures = _columns(context, data, pairs, metrics)
    kinds = [pair.kind for pair in pairs]
    for on in (ALL, *dict.fromkeys(kinds)):
        rows = [i for i, kind in enumerate(kinds) if on in (ALL, kind)]
        chosen = {name: [values[i] for i in rows] for name, values in right.items()}
        for name, values in chosen.items():
            ours = name in metrics
            gaps = (
                (base, [a - b for a, b in zip(values, chosen[base], strict=True)])
                for base in (TRIVIAL if ours else ())
            )
            yield figure(
                name,
                RIGHT,
                mean(values, bounds=(0, 1)),
                "ours" if ours else "baseline",
                on=on,
                signature=signatures.get(name, ""),
                gaps=tuple(gap_to(base, mean(each, bounds=(-1, 1))) for base, each in gaps),
            )


def _columns(
    context: BenchContext, of: str, pairs: Sequence[MinimalPair], metrics: Sequence[str]
) -> tuple[dict[str, list[float]], dict[str, str]]:
    talks = [talk for number, pair in enumerate(pairs) for talk in _conversations(number, pair)]
    right, signatures, data = {}, {}, digest_of(of, talks)
    for name in (*metrics, COSINE, LENGTH):
        grader, _ = context.grader(name)
        scores = values_of(name, grader.score(talks))
        right[name] = _right([scores[talk.id] for talk in talks])
        signatures[name] = f"{context.grader(name)[1][name]}|on:{data}"
    # A reply that is like an own earlier turn is taken to be the worse one.
    right[OWN_TURNS] = _right([-cosine for cosine in own_turn_cosines(context, talks)])
    right[AT_LEAST_AS_LONG] = [float(len(pair.bad) >= len(pair.good)) for pair in pairs]
    return right, signatures


def _conversations(number: int, pair: MinimalPair) -> Iterator[Conversation]:
    """Yield the conversation that ends in the good reply, and the one that ends in the bad one."""
    for name, reply in (("good", pair.good), ("bad", pair.bad)):
        texts = (*pair.history, reply)
        turns = tuple(Turn("AB"[place % 2], text) for place, text in enumerate(texts))
        yield Conversation(f"{number}-{name}", turns, targets=(len(turns) - 1,))


def _right(values: Sequence[float]) -> list[float]:
    goods, bads = values[::2], values[1::2]
    return [
        0.5 if good == bad else float(good > bad) for good, bad in zip(goods, bads, strict=True)
    ]
