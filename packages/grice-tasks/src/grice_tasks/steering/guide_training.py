"""Training of a guide: cross entropy of the label of the whole reply at each of its positions.

What a prefix is worth is also the expectation of what its continuations are worth under the base
model. NADO holds the estimates to that by a regulariser. Here it is a part of the target: with
weight ``consistency``, a position is trained towards the expectation at the next one, taken as it
is (no gradient goes through it), and with the rest of the weight towards the label. That is the
divergence between Bernoulli distributions of Meng et al. up to a constant, and what is learned from
differences in time (TD) elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec
import numpy as np

from grice.errors import InputError
from grice.files import make_folder
from grice.models.folder import check_folder, write_card
from grice.models.mlp import Mlp, quantized
from grice.models.products import single_threaded
from grice.numeric import sigmoid
from grice.progress import track
from grice_tasks.steering.guide import KIND, Guide, GuideSettings, TokenSpace, vocabulary_digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice.models.protocols import SteerableLM
    from grice_tasks.steering.dialogue import Labelled, Sampling
    from grice_tasks.steering.guide import TokenSpace

    Array: TypeAlias = NDArray[np.float32]
    from pathlib import Path

    from grice.models.folder import CardValue
    from grice_tasks.steering.guide import Guide

SPACE_REPLIES = 64
"""Replies whose logits the components are taken from: two thousand positions or so."""
LIKELY = 32  # Tokens over which the expectation of the next position is taken, renormalised


class Positions(NamedTuple):
    """Training rows: one of each token of a reply."""

    features: Array  # what the network reads before the token
    tokens: NDArray[np.int64]  # ids of the tokens
    labels: Array  # of the reply, 0 or 1; all are 0 until they are put there
    replies: NDArray[np.int64]  # number of the reply
    contexts: NDArray[np.int64]  # number of the context
    written: Array  # part of the reply that stands before the token, 0 to 1
    last: NDArray[np.bool_]  # whether it is the last one of its reply
    likely: NDArray[np.int64]  # ids of the tokens that the base finds likeliest in its place
    weights: Array  # their probabilities, which sum to 1

    def at(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> Positions:
        """Return some of the rows."""
        return Positions(*(column[rows] for column in self))  # type: ignore[arg-type] # each its own


def token_space(model: SteerableLM, samples: Sequence[Labelled], components: int) -> TokenSpace:
    """Return the principal components of the logits before the tokens of some replies."""
    read = samples[:: max(1, len(samples) // SPACE_REPLIES)][:SPACE_REPLIES]
    logits = np.concatenate(
        model.read_logits(
            [sample.prompt for sample in read],
            [sample.text for sample in read],
            lambda logits, _: logits - logits.mean(axis=1, keepdims=True),
        )
    )
    # Not around their mean: how usual a token is is the first thing to know of it.
    with single_threaded():
        values, directions = np.linalg.eigh((logits @ logits.T).astype(np.float64))
        kept = np.flatnonzero(values > TINY * values[-1])[::-1][:components]
        loadings = logits.T @ (directions[:, kept] / np.sqrt(values[kept])).astype(np.float32)
        # Unit variance over the vocabulary, and as they are kept in a file.
        whole, steps = quantized(loadings * np.float32(np.sqrt(len(loadings))))
        vectors = whole.astype(np.float32) * steps
        states = logits @ vectors
        scale = states.std(axis=0) + np.float32(TINY)
        return TokenSpace(vectors, states.mean(axis=0), scale)


def read_positions(
    model: SteerableLM,
    samples: Sequence[Labelled],
    space: TokenSpace,
    temperature: float,
) -> Positions:
    """Return what is learned from, a row of each token of each reply."""

    def features(logits: Array, ids: list[int]) -> tuple[Array, NDArray[np.int64], Array]:
        vectors = space.vectors[ids]
        sums = np.hstack([vectors, np.ones((len(ids), 1), np.float32)]).cumsum(axis=0)
        before = np.vstack([np.zeros_like(sums[:1]), sums[:-1]])
        count = min(LIKELY, logits.shape[1])
        # A copy: a view would keep the whole vocabulary of every position.
        likely = np.argpartition(-logits, count - 1, axis=1)[:, :count].copy()
        odds = np.take_along_axis(logits, likely, axis=1) / np.float32(temperature)
        weights = np.exp(odds - odds.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        return space.features(space.states(logits), before), likely, weights

    read = model.read_logits(
        [sample.prompt for sample in samples],
        [sample.text for sample in samples],
        lambda logits, ids: (np.array(ids, np.int64), *features(logits, ids)) if ids else None,
    )
    parts = []
    for number, (sample, part) in enumerate(zip(samples, read, strict=True)):
        if part is not None:
            ids, inputs, likely, weights = part
            size = len(ids)
            written = np.arange(size, dtype=np.float32) / size
            alike = np.zeros(size, np.float32), np.full(size, number), np.full(size, sample.context)
            last = np.arange(size) == size - 1
            parts.append((inputs, ids, *alike, written, last, likely, weights))
    return Positions(*(np.concatenate(column) for column in zip(*parts, strict=True)))


BATCH = 256
TINY = 1e-8


class Fitting(NamedTuple):
    """How a guide is fitted."""

    components: int = 32  # length of states and vectors of tokens
    hidden: int = 64  # units of the hidden layer
    epochs: int = 30  # most passes; the one of the least loss on contexts left out is kept
    rate: float = 2e-4  # step size of Adam
    decay: float = 0.3  # penalty on the weights
    consistency: float = 0.0  # weight of the regulariser, 0 to 1
    left_out: float = 0.2  # part of the contexts that choose the epoch
    seed: int = 0  # of the first weights, the order and the contexts left out

    def check(self) -> None:
        """Raise InputError for a weight that means nothing."""
        if not 0 <= self.consistency <= 1:
            raise InputError(f"consistency is a weight of 0 to 1, found {self.consistency}")


class GuideReport(msgspec.Struct, frozen=True):
    """Result of the training of a guide."""

    contexts: int  # how many
    replies: int  # drawn replies that were labelled
    positions: int  # their tokens
    satisfied: dict[str, float]  # share of the replies that satisfies each metric, and ``all``
    training_loss: tuple[float, ...]  # mean cross entropy of each epoch, nats
    validation_loss: tuple[float, ...]  # the same on contexts that were left out
    prior_loss: float  # on these, of the share of satisfied positions alone
    epoch: int  # the one that was kept, from 1; 0 is the share alone
    auc: dict[str, float]  # on contexts left out


def train_guide(
    samples: Sequence[Labelled],
    model: SteerableLM,
    metrics: Sequence[str],
    sampling: Sampling,
    fitting: Fitting = Fitting(),  # noqa: B008 - a frozen record
) -> tuple[Guide, GuideReport]:
    """Return a guide that was fitted to labelled replies, and what that gave."""
    _check(samples, metrics, sampling)
    space = token_space(model, samples, fitting.components)
    positions = read_positions(model, samples, space, sampling.temperature)
    chosen = np.random.default_rng(fitting.seed).permutation(np.unique(positions.contexts))
    left_out = np.isin(positions.contexts, chosen[: max(1, round(fitting.left_out * len(chosen)))])
    satisfied = np.array([sample.satisfies(metrics) for sample in samples], np.float32)
    labelled = positions._replace(labels=satisfied[positions.replies])
    fitted = _fit(labelled.at(~left_out), labelled.at(left_out), space, fitting)
    settings = GuideSettings(
        base=model.identity.partition("/")[0],
        vocabulary=vocabulary_digest(model.vocabulary),
        metrics=tuple(metrics),
        threshold=sampling.threshold,
        temperature=sampling.temperature,
        consistency=fitting.consistency,
        training_loss=tuple(round(loss, 4) for loss in fitted.training),
        validation_loss=tuple(round(loss, 4) for loss in fitted.validation),
    )
    shares = {name: float(np.mean([each.labels[name] for each in samples])) for name in metrics}
    report = GuideReport(
        len({sample.context for sample in samples}),
        len(samples),
        len(positions.tokens),
        {**shares, "all": float(satisfied.mean(dtype=float))},
        settings.training_loss,
        settings.validation_loss,
        round(fitted.prior, 4),
        fitted.epoch,
        _auc(fitted.network, labelled.at(left_out), space),
    )
    return Guide(settings, space, fitted.network), report


def _check(samples: Sequence[Labelled], metrics: Sequence[str], sampling: Sampling) -> None:
    """Raise InputError where there is nothing to learn."""
    satisfied = {sample.satisfies(metrics) for sample in samples}
    if len(satisfied) < 2:
        which = "every" if True in satisfied else "no"
        raise InputError(
            f"{which} reply that was drawn satisfies {' and '.join(metrics)} at the threshold "
            f"{sampling.threshold:g}: there is nothing to learn; take another threshold, or more "
            "contexts"
        )
    if len({sample.context for sample in samples}) < 2:
        raise InputError("one context alone was judged: two at least are needed, one is left out")


class _Fitted(NamedTuple):
    """The network of the best epoch and the losses on the way."""

    network: Mlp
    training: list[float]
    validation: list[float]
    prior: float
    epoch: int


class _Weights(NamedTuple):
    """The weights of a network with one hidden layer, or their gradients."""

    hidden: Array
    hidden_bias: Array
    output: Array
    output_bias: Array

    def network(self) -> Mlp:
        """Return the network."""
        copies = [column.copy() for column in self]
        return Mlp([(copies[0], copies[1]), (copies[2], copies[3])])


def _fit(training: Positions, left_out: Positions, space: TokenSpace, fitting: Fitting) -> _Fitted:
    """Fit by Adam, and keep the epoch of the least loss on what is left out."""
    random = np.random.default_rng(fitting.seed)
    inputs, components = training.features.shape[1], space.vectors.shape[1]
    share = float(np.clip(training.labels.mean(), TINY, 1 - TINY))
    weights = _Weights(
        (random.normal(size=(inputs, fitting.hidden)) / np.sqrt(inputs)).astype(np.float32),
        np.zeros(fitting.hidden, np.float32),
        (random.normal(size=(fitting.hidden, components + 1)) * 0.01).astype(np.float32),
        np.append(np.zeros(components), np.log(share / (1 - share))).astype(np.float32),
    )
    steps = _Adam(weights, fitting)
    prior = _cross_entropy(np.full(len(left_out.labels), np.log(share / (1 - share))), left_out)
    # Nothing learned: the same share everywhere, which guides nowhere.
    constant = weights._replace(output=np.zeros_like(weights.output))
    fitted = _Fitted(constant.network(), [], [], prior, 0)
    best = prior
    with single_threaded():
        for epoch in track(range(fitting.epochs), "epochs", fitting.epochs):
            targets = _targets(weights, training, space, fitting.consistency)
            for rows in np.array_split(
                random.permutation(len(targets)), max(1, len(targets) // BATCH)
            ):
                steps.take(_gradient(weights, training.at(rows), targets[rows], space))
            losses = [
                _cross_entropy(_log_odds(weights, part, space), part)
                for part in (training, left_out)
            ]
            fitted.training.append(losses[0])
            fitted.validation.append(losses[1])
            if losses[1] < best:
                best = losses[1]
                fitted = fitted._replace(network=weights.network(), epoch=epoch + 1)
    return fitted


def _targets(
    weights: _Weights, positions: Positions, space: TokenSpace, consistency: float
) -> Array:
    """Return the label of each position, drawn to the expectation at the next one."""
    if not consistency:
        return positions.labels
    output = _outputs(weights, positions.features)[1]
    odds = np.einsum("nk,nlk->nl", output[:, :-1], space.vectors[positions.likely]) + output[:, -1:]
    expected = (sigmoid(odds) * positions.weights).sum(axis=1)
    following = np.append(expected[1:], np.float32(0))
    following = np.where(positions.last, positions.labels, following)
    return np.asarray((1 - consistency) * positions.labels + consistency * following, np.float32)


def _outputs(weights: _Weights, features: Array) -> tuple[Array, Array]:
    hidden = np.maximum(features @ weights.hidden + weights.hidden_bias, 0)
    return hidden, hidden @ weights.output + weights.output_bias


def _log_odds(weights: _Weights, positions: Positions, space: TokenSpace) -> Array:
    output = _outputs(weights, positions.features)[1]
    chosen = space.vectors[positions.tokens]
    return np.asarray((output[:, :-1] * chosen).sum(axis=1) + output[:, -1], np.float32)


def _gradient(weights: _Weights, batch: Positions, targets: Array, space: TokenSpace) -> _Weights:
    """Return the slope of the mean cross entropy."""
    hidden, output = _outputs(weights, batch.features)
    vectors = np.hstack([space.vectors[batch.tokens], np.ones((len(targets), 1), np.float32)])
    excess = (sigmoid((output * vectors).sum(axis=1)) - targets) / len(targets)
    of_output = excess[:, None] * vectors
    of_hidden = (of_output @ weights.output.T) * (hidden > 0)
    slopes = (
        batch.features.T @ of_hidden,
        of_hidden.sum(axis=0),
        hidden.T @ of_output,
        of_output.sum(axis=0),
    )
    return _Weights(*(slope.astype(np.float32) for slope in slopes))


def _cross_entropy(odds: NDArray[np.floating], positions: Positions) -> float:
    return float((np.logaddexp(0, odds) - positions.labels * odds).mean())


class _Adam:
    """Adam with decoupled weight decay (Loshchilov and Hutter, ICLR 2019); biases do not decay."""

    def __init__(self, weights: _Weights, fitting: Fitting) -> None:
        self._weights, self._fitting = weights, fitting
        self._means = [np.zeros_like(part) for part in weights]
        self._squares = [np.zeros_like(part) for part in weights]
        self._steps = 0

    def take(self, gradient: _Weights) -> None:
        """Move the weights, in their place."""
        self._steps += 1
        rate, decay = self._fitting.rate, self._fitting.decay
        for part, slope, mean, square in zip(
            self._weights, gradient, self._means, self._squares, strict=True
        ):
            mean += 0.1 * (slope - mean)
            square += 0.001 * (slope * slope - square)
            size = np.sqrt(square / (1 - 0.999**self._steps)) + TINY
            part -= rate * (mean / (1 - 0.9**self._steps) / size + decay * part * (part.ndim > 1))


PARTS = {"first third": 0.0, "second third": 1 / 3, "last third": 2 / 3}


def _auc(network: Mlp, positions: Positions, space: TokenSpace) -> dict[str, float]:
    """Return the area under the ROC curve by how much is written; a part of one label has none."""
    output = network.together(positions.features)
    odds = (output[:, :-1] * space.vectors[positions.tokens]).sum(axis=1) + output[:, -1]
    areas = {}
    for name, start in PARTS.items():
        rows = (positions.written >= start) & (positions.written < start + 1 / 3)
        labels, values = positions.labels[rows] > 0.5, odds[rows]
        if 0 < labels.sum() < len(labels):
            areas[name] = round(_roc_area(labels, values), 4)
    return areas


def _roc_area(labels: NDArray[np.bool_], values: Array) -> float:
    """Return how often a true one has the higher value than a false one; ties count half."""
    others = np.sort(values[~labels])
    below = np.searchsorted(others, values[labels], side="left")
    up_to = np.searchsorted(others, values[labels], side="right")
    return float((below + up_to).mean() / (2 * len(others)))


def save_guide(
    folder: Path, guide: Guide, report: GuideReport, data: Sequence[str], *, seed: int
) -> None:
    """Write a guide, which :func:`grice_tasks.steering.guide.load_guide` reads."""
    check_folder(folder)
    make_folder(folder)
    metrics = " and ".join(guide.settings.metrics)
    facts: dict[str, CardValue] = {
        "name": folder.resolve().name,
        "kind": KIND,
        "version": "1",
        "summary": f"guides {guide.settings.base} to {metrics}: {report.replies} drawn replies",
        "licence": "yours, as far as your data allow",
        "inputs": "next-token logits of the base model, and the tokens of the reply so far",
        "outputs": "for every next token the probability, 0 to 1, that the finished reply "
        f"satisfies {metrics} at {guide.settings.threshold:g}",
    }
    training: dict[str, CardValue] = {
        "data": list(data),
        "selection": ["epoch: cross entropy on contexts left out"],
        "command": "grice train guide",
        "seeds": [seed],
    }
    settings: dict[str, CardValue] = msgspec.to_builtins(guide.settings)
    write_card(folder, facts, training, settings, files=guide.save(folder))
