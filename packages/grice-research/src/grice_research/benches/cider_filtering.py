"""Adversarial filtering of the options of CIDER's task 3, with a discriminator that is at hand.

Questions start with the released options from before filtering; the pool of each are the other
options and marked spans of its dialogue, but for valid tails. In each round a discriminator learns
from two thirds of the questions (of the first round, a half), and takes the least likely option of
each other one out, for a new one of the pool, until its loss on them converges. It sees the
relation and the vector of an option in its dialogue, never the head: a logistic regression in
place of RoBERTa.

Fresh discriminators, learned on four of the released folds and tested on the fifth, stand beside
trivial choices. After filtering they should be at chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from grice.models.embedded import EmbeddedEncoder
from grice.numeric import softmax
from grice.stats import mean
from grice.stats.estimate import scipy_module
from grice.stats.inputs import Floats
from grice_research.context import BenchContext, data_digest
from grice_research.figures import Figure, figure, gap_to
from grice_research.published import printed
from grice_research.triplets.cider import Cider, Question, load_cider
from grice_tasks.cider.files import cider_schema
from grice_tasks.cider.reading import locate, read_texts

TITLE = "Adversarial filtering of CIDER's options"
PAPER = "Ghosal et al., CIDER, SIGDIAL 2021, appendix C"

ROW, RANDOM, LONGEST, NEAREST = "fresh discriminator", "random", "longest", "nearest to the head"
FIRST, FILTERED, RELEASED = "released, before filtering", "filtered here", "released, filtered"
ROUNDS, WINDOW, LEVEL = 100, 5, 0.01
"""Most rounds; the loss has converged when its mean over a window has moved by a hundredth."""
ITERATIONS = 50  # of the fit of a discriminator

Integers = NDArray[np.int64]


class Spans(NamedTuple):
    """Spans of all dialogues: their vectors, lengths and first characters, -1 for one nowhere."""

    vectors: NDArray[np.float32]
    lengths: Integers
    places: Integers


class Asked(NamedTuple):
    """A question by the numbers of its spans; the right option is the first."""

    relation: int
    head: int
    options: list[int]
    pool: list[int]  # what else could be a wrong option
    dialogue: str
    fold: int


def measure(context: BenchContext) -> Iterator[Figure]:
    """Yield how often fresh discriminators and trivial choices are right, before and after."""
    cider = load_cider(context.folder / "cider")
    encoder = cast("EmbeddedEncoder", context.models().load("builtin:encoder"))
    draw = np.random.default_rng(0)
    spans, asked, released = read_questions(cider, encoder, draw)
    filtered, losses = filter_options(spans, asked, draw)
    pool = np.mean([len(each.pool) for each in asked])
    moved = f"loss {losses[0]:.2f} to {losses[-1]:.2f}"
    told = {FILTERED: f"{len(losses)} rounds, {moved}; pools of {pool:.0f} further spans"}
    encoded = context.models().fingerprint("builtin:encoder")
    signature = f"{encoded}|on:{data_digest(context.folder, 'cider')}"
    stated = printed("cider-filtering", "appendix C")["RoBERTa"]
    for on, each in {FIRST: asked, FILTERED: filtered, RELEASED: released}.items():
        groups = [question.dialogue for question in each]
        right = {ROW: _fresh(spans, each), **_trivial(spans, each, draw)}
        for row, hits in right.items():
            ours = row == ROW
            gaps = {name: hits - other for name, other in right.items() if ours and name != row}
            yield figure(
                row,
                "accuracy",
                mean(hits.tolist(), groups=groups, bounds=(0, 1)),
                "ours" if ours else "baseline",
                on=on,
                published=stated.get((on, "accuracy")) if ours else None,
                beside="RoBERTa" * ((on, "accuracy") in stated and ours),
                why=told.get(on, "") * ours,
                signature=signature * ours,
                gaps=tuple(
                    gap_to(name, mean(gap.tolist(), groups=groups, bounds=(-1, 1)))
                    for name, gap in gaps.items()
                ),
            )


def read_questions(
    cider: Cider, encoder: EmbeddedEncoder, draw: np.random.Generator
) -> tuple[Spans, list[Asked], list[Asked]]:
    """Return the spans, and the questions with the released options before and after filtering."""
    relations = list(cider_schema().relations)
    asked_of: dict[str, list[Question]] = {}
    marked: dict[str, dict[str, None]] = {}
    for question in cider.questions():
        item = question.item
        if item.options and item.first_options and item.label is not None:
            asked_of.setdefault(item.dialogue, []).append(question)
            listed = (item.head.strip(), *item.first_options, *item.options)
            marked.setdefault(item.dialogue, {}).update(dict.fromkeys(listed))
    vectors: list[NDArray[np.float32]] = []
    lengths: list[int] = []
    places: list[int] = []
    before, after = [], []
    for name, questions in asked_of.items():
        text = cider.text(name)
        (reading,) = read_texts([text], encoder.hidden_states)
        number = {span: len(places) + i for i, span in enumerate(marked[name])}
        for span in number:
            place = locate(text, span)
            vectors.append(reading.vector(place or (0, 0)))
            lengths.append(len(span))
            places.append(-1 if place is None else place[0])
        for item, *_, valid in questions:
            used = {item.head.strip(), *valid, *(item.first_options or ())}
            pool = draw.permutation([other for span, other in number.items() if span not in used])
            sides = []
            for options in (item.first_options or (), item.options or ()):
                given = [number[option] for option in options]
                sides.append([given.pop(item.label or 0), *given])
            relation, head = relations.index(item.relation), number[item.head.strip()]
            made = Asked(relation, head, sides[0], pool.tolist(), name, cider.folds[name])
            before.append(made)
            after.append(made._replace(options=sides[1]))
    return Spans(np.array(vectors), np.array(lengths), np.array(places)), before, after


def filter_options(
    spans: Spans, asked: Sequence[Asked], draw: np.random.Generator
) -> tuple[list[Asked], list[float]]:
    """Return the questions with options that are hard to tell, and the loss of each round."""
    now = [each._replace(options=[*each.options], pool=[*each.pool]) for each in asked]
    losses: list[float] = []
    while len(losses) < ROUNDS and not _converged(losses):
        order = draw.permutation(len(now)).tolist()
        cut = 2 * len(order) // 3 if losses else len(order) // 2
        learned, rest = ([now[i] for i in part] for part in (order[:cut], order[cut:]))
        chances = _chances(spans, rest, _weights(spans, learned))
        losses.append(float(-np.log(chances[:, 0]).mean()))
        for each, worst in zip(rest, chances.argmin(axis=1).tolist(), strict=True):
            if worst and each.pool:
                each.options[worst] = each.pool.pop()
    return now, losses


def _converged(losses: Sequence[float]) -> bool:
    if len(losses) < 2 * WINDOW:
        return False
    before, last = np.mean(losses[-2 * WINDOW : -WINDOW]), np.mean(losses[-WINDOW:])
    return bool(abs(last - before) < LEVEL * before)


def _weights(spans: Spans, asked: Sequence[Asked]) -> Floats:
    """Return the weights of each relation: those of all, and its own, with a ridge on both."""
    ridge, x = 1e-3, spans.vectors[[each.options for each in asked]]
    count = len(cider_schema().relations)
    kinds = np.eye(count, dtype=np.float32)[[each.relation for each in asked]]

    def loss(flat: Floats) -> tuple[float, Floats]:
        shared, own = np.split(flat.reshape(count + 1, -1), [1])
        odds = np.einsum("nkd,nd->nk", x, (shared + kinds @ own).astype(np.float32))
        chances = softmax(odds)
        value = -np.log(chances[:, 0]).mean() + ridge * (flat @ flat) / 2
        chances[:, 0] -= 1
        slope = np.einsum("nk,nkd->nd", chances / len(x), x)
        both = np.vstack([slope.sum(axis=0), kinds.T @ slope])
        return float(value), both.ravel().astype(np.float64) + ridge * flat

    start, options = np.zeros((count + 1) * x.shape[2]), {"maxiter": ITERATIONS}
    minimize = scipy_module("optimize").minimize
    fitted = minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x
    shared, own = np.split(fitted.reshape(count + 1, -1), [1])
    return np.asarray(shared + own)


def _chances(spans: Spans, asked: Sequence[Asked], weights: Floats) -> Floats:
    """Return the probability of each option."""
    x = spans.vectors[[each.options for each in asked]]
    odds = np.einsum("nkd,nd->nk", x, weights[[each.relation for each in asked]])
    return np.asarray(softmax(odds), np.float64)


def _fresh(spans: Spans, asked: Sequence[Asked]) -> Floats:
    """Return of each question whether a discriminator of the other folds takes its tail."""
    hits = np.zeros(len(asked))
    folds = np.array([each.fold for each in asked])
    for fold in np.unique(folds):
        learned, held = ([asked[i] for i in np.flatnonzero(part).tolist()]
                         for part in (folds != fold, folds == fold))  # fmt: skip
        hits[folds == fold] = _hits(_chances(spans, held, _weights(spans, learned)))
    return hits


def _trivial(spans: Spans, asked: Sequence[Asked], draw: np.random.Generator) -> dict[str, Floats]:
    options, heads = np.array([each.options for each in asked]), [[each.head] for each in asked]
    option, head = spans.places[options], spans.places[heads]
    far = np.where((option < 0) | (head < 0), np.inf, np.abs(option - head))
    values = {
        RANDOM: draw.random(options.shape),
        LONGEST: spans.lengths[options].astype(np.float64),
        NEAREST: -far,
    }
    return {name: _hits(each) for name, each in values.items()}


def _hits(values: Floats) -> Floats:
    """Return the share of the right option, the first, among those of the largest value."""
    best = values == values.max(axis=1, keepdims=True)
    return np.asarray(best[:, 0] / best.sum(axis=1), np.float64)
