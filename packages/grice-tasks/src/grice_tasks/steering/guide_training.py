"""Training of a guide: replies are drawn and labelled, then the label is learned at each token.

The value of a prefix is also the expectation of the values of its continuations under the base
model, which NADO's regulariser asks for. Here it is a part of the target: with the weight
``consistency`` the expectation at the next position (without gradient), else the label.
"""

from __future__ import annotations

import math
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec
import numpy as np
from msgspec.structs import replace

from grice.data import Conversation
from grice.errors import InputError, RecordError
from grice.evaluation.rerank import FIELD, rerank
from grice.files import make_folder
from grice.models.folder import check_folder, write_card
from grice.models.mlp import Mlp, quantized, single_threaded
from grice.numeric import sigmoid
from grice.progress import track
from grice.stats.estimate import scipy_module
from grice_tasks.steering.dialogue import END, chat_prompt
from grice_tasks.steering.guide import KIND, Guide, GuideSettings, TokenSpace, vocabulary_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from grice.models.folder import CardValue
    from grice.scoring.api import Scorer
    from grice_tasks.steering.decoding import SteerableLM

    Array: TypeAlias = NDArray[np.float32]

MOST_TURNS = 4  # turns of a context, as in the thesis
WINDOW = 8  # contexts after whose samples a run that is stopped goes on
SPACE_REPLIES = 64  # replies whose logits give the components: two thousand positions or so
LIKELY = 32  # tokens over which the expectation of the next position is taken, renormalised
BATCH = 256
TINY = 1e-8
PARTS = {"first third": 0.0, "second third": 1 / 3, "last third": 2 / 3}


class Sampling(msgspec.Struct, frozen=True):
    """How replies are drawn and labelled."""

    replies: int = 4  # of each context
    temperature: float = 0.7
    max_tokens: int = 40
    threshold: float = 0.5  # a score from here on satisfies a metric
    seed: int = 0

    def __post_init__(self) -> None:
        if not math.isfinite(self.threshold):
            raise InputError(f"a threshold is a finite number, found {self.threshold}")


class Fitting(msgspec.Struct, frozen=True):
    """How a guide is fitted."""

    components: int = 32  # length of states and vectors of tokens
    hidden: int = 64
    epochs: int = 30  # at most; the one of the least loss on contexts left out is kept
    rate: float = 2e-4
    decay: float = 0.3
    consistency: float = 0.0  # weight of the regulariser, 0 to 1
    left_out: float = 0.2  # part of the contexts that choose the epoch
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.consistency <= 1:
            raise InputError(f"consistency is a weight of 0 to 1, found {self.consistency}")


class Labelled(NamedTuple):
    """A drawn reply with its labels."""

    context: int  # number of its context
    prompt: str
    text: str  # the end mark stands behind it, unless it was cut
    labels: dict[str, bool]  # whether it satisfies each metric


def draw_contexts(
    records: Iterable[Conversation | RecordError], *, seed: int
) -> Iterator[Conversation | RecordError]:
    """Yield one context of each conversation: consecutive turns at a random position."""
    random = np.random.default_rng(seed)
    for record in records:
        if isinstance(record, RecordError):
            yield record
        elif not record.turns:
            yield RecordError("there is no turn to answer", file=record.id, field="turns")
        else:
            start = int(random.integers(max(1, len(record.turns) - MOST_TURNS)))
            yield Conversation(record.id, record.turns[start : start + MOST_TURNS])


def labelled_samples(
    contexts: Sequence[Conversation], model: SteerableLM, scorer: Scorer, sampling: Sampling
) -> list[Labelled]:
    """Return drawn replies with the labels of all metrics; those without a score are left out."""
    if not contexts:
        raise InputError("no context to learn from: each needs a turn to answer")
    numbered = iter(enumerate(contexts))
    windows = iter(lambda: list(islice(numbered, WINDOW)), [])
    count = -(-len(contexts) // WINDOW)
    labelled: list[Labelled] = []
    for window in track(windows, "parts of the contexts", count):
        prompts = [chat_prompt(context.turns) for _, context in window]
        drawn = model.sample(
            prompts,
            count=sampling.replies,
            seed=sampling.seed,
            temperature=sampling.temperature,
            stop=END,
            max_tokens=sampling.max_tokens,
        )
        records = [
            replace(context, meta={FIELD: [reply.text for reply in replies]})
            for (_, context), replies in zip(window, drawn, strict=True)
        ]
        ranked = rerank(records, scorer)
        for (number, _), prompt, replies, item in zip(window, prompts, drawn, ranked, strict=True):
            if isinstance(item, RecordError):
                continue
            for candidate in sorted(item.candidates, key=lambda candidate: candidate.index):
                scores = candidate.scores
                if scores and all(score.status == "ok" for score in scores):
                    labels = {s.metric: (s.value or 0.0) >= sampling.threshold for s in scores}
                    text = candidate.text + END * replies[candidate.index].ended
                    labelled.append(Labelled(number, prompt, text, labels))
    if not labelled:
        raise InputError("no reply that was drawn could be judged by all metrics")
    return labelled


class Positions(NamedTuple):
    """Training rows: one of each token of a reply."""

    features: Array  # input of the network before the token
    tokens: NDArray[np.int64]
    labels: Array  # of the reply, 0 or 1
    contexts: NDArray[np.int64]
    written: Array  # part of the reply that stands before the token, 0 to 1
    last: NDArray[np.bool_]  # whether it is the last one of its reply
    likely: NDArray[np.int64]  # tokens that the base finds likeliest in its place, ``(n, LIKELY)``
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
        return TokenSpace(vectors, states.mean(axis=0), states.std(axis=0) + np.float32(TINY))


def read_positions(
    model: SteerableLM,
    samples: Sequence[Labelled],
    satisfied: Array,
    space: TokenSpace,
    temperature: float,
) -> Positions:
    """Return the training rows of replies, given whether each satisfies all metrics."""

    def columns(
        logits: Array, ids: list[int]
    ) -> tuple[Array, NDArray[np.int64], NDArray[np.int64], Array] | None:
        if not ids:
            return None
        sums = np.hstack([space.vectors[ids], np.ones((len(ids), 1), np.float32)]).cumsum(axis=0)
        before = np.vstack([np.zeros_like(sums[:1]), sums[:-1]])
        count = min(LIKELY, logits.shape[1])
        # A copy: a view would keep the whole vocabulary of every position.
        likely = np.argpartition(-logits, count - 1, axis=1)[:, :count].copy()
        odds = np.take_along_axis(logits, likely, axis=1) / np.float32(temperature)
        weights = np.exp(odds - odds.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        return space.features(logits, before), np.array(ids, np.int64), likely, weights

    read = model.read_logits(
        [sample.prompt for sample in samples], [sample.text for sample in samples], columns
    )
    parts = []
    for sample, label, part in zip(samples, satisfied, read, strict=True):
        if part is not None:
            features, ids, likely, weights = part
            size = len(ids)
            place = np.arange(size)
            of_reply = np.full(size, label), np.full(size, sample.context)
            written = place.astype(np.float32) / size
            parts.append((features, ids, *of_reply, written, place == size - 1, likely, weights))
    return Positions(*(np.concatenate(column) for column in zip(*parts, strict=True)))


class GuideReport(msgspec.Struct, frozen=True):
    """Result of the training of a guide."""

    contexts: int
    replies: int  # drawn replies that were labelled
    positions: int  # their tokens
    satisfied: dict[str, float]  # share of the replies that satisfies each metric, and ``all``
    training_loss: tuple[float, ...]  # mean cross entropy of each epoch, nats
    validation_loss: tuple[float, ...]  # the same on contexts that were left out
    prior_loss: float  # on these, of the share of satisfied positions alone
    epoch: int  # the one that was kept, from 1; 0 is the share alone
    auc: dict[str, float]  # on contexts left out, by how much of the reply is written


def train_guide(
    samples: Sequence[Labelled],
    model: SteerableLM,
    metrics: Sequence[str],
    sampling: Sampling,
    fitting: Fitting = Fitting(),  # noqa: B008 - a frozen record
) -> tuple[Guide, GuideReport]:
    """Return a guide that was fitted to labelled replies, and its report."""
    labels = [all(sample.labels[name] for name in metrics) for sample in samples]
    if len(set(labels)) < 2:
        raise InputError(
            f"{'every' if any(labels) else 'no'} reply that was drawn satisfies "
            f"{' and '.join(metrics)} at the threshold {sampling.threshold:g}: there is nothing to "
            "learn; take another threshold, or more contexts"
        )
    contexts = {sample.context for sample in samples}
    if len(contexts) < 2:
        raise InputError("one context alone was judged: two at least are needed, one is left out")
    satisfied = np.array(labels, np.float32)
    space = token_space(model, samples, fitting.components)
    positions = read_positions(model, samples, satisfied, space, sampling.temperature)
    order = np.random.default_rng(fitting.seed).permutation(np.unique(positions.contexts))
    chosen = order[: max(1, round(fitting.left_out * len(order)))]
    out = np.isin(positions.contexts, chosen)
    fitted = _fit(positions.at(~out), positions.at(out), space, fitting)
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
        len(contexts),
        len(samples),
        len(positions.tokens),
        {**shares, "all": float(satisfied.mean(dtype=float))},
        settings.training_loss,
        settings.validation_loss,
        round(fitted.prior, 4),
        fitted.epoch,
        _auc(fitted.network, positions.at(out), space),
    )
    return Guide(settings, space, fitted.network), report


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

    def __call__(self, features: Array) -> tuple[Array, Array]:
        """Return the hidden units and the outputs."""
        hidden = np.maximum(features @ self.hidden + self.hidden_bias, 0)
        return hidden, hidden @ self.output + self.output_bias


def _fit(training: Positions, left_out: Positions, space: TokenSpace, fitting: Fitting) -> _Fitted:
    """Fit by Adam, and keep the epoch of the least loss on the contexts left out."""
    random = np.random.default_rng(fitting.seed)
    inputs, components = training.features.shape[1], space.vectors.shape[1]
    share = float(np.clip(training.labels.mean(), TINY, 1 - TINY))
    odds = np.log(share / (1 - share))
    weights = _Weights(
        (random.normal(size=(inputs, fitting.hidden)) / np.sqrt(inputs)).astype(np.float32),
        np.zeros(fitting.hidden, np.float32),
        (random.normal(size=(fitting.hidden, components + 1)) * 0.01).astype(np.float32),
        np.append(np.zeros(components), odds).astype(np.float32),
    )
    steps = _Adam(weights, fitting)
    best = prior = _cross_entropy(np.full(len(left_out.labels), odds), left_out)
    # Nothing learned: the same share everywhere, which guides nowhere.
    constant = weights._replace(output=np.zeros_like(weights.output))
    fitted = _Fitted(constant.network(), [], [], prior, 0)
    with single_threaded():
        for epoch in track(range(fitting.epochs), "epochs", fitting.epochs):
            targets = _targets(weights, training, space, fitting.consistency)
            batches = max(1, len(targets) // BATCH)
            for rows in np.array_split(random.permutation(len(targets)), batches):
                steps.take(_gradient(weights, training.at(rows), targets[rows], space))
            for losses, part in ((fitted.training, training), (fitted.validation, left_out)):
                output = weights(part.features)[1]
                losses.append(_cross_entropy(_log_odds(output, part, space), part))
            if fitted.validation[-1] < best:
                best = fitted.validation[-1]
                fitted = fitted._replace(network=weights.network(), epoch=epoch + 1)
    return fitted


def _targets(
    weights: _Weights, positions: Positions, space: TokenSpace, consistency: float
) -> Array:
    """Return the label of each position, drawn to the expectation at the next one."""
    if not consistency:
        return positions.labels
    output = weights(positions.features)[1]
    odds = np.einsum("nk,nlk->nl", output[:, :-1], space.vectors[positions.likely]) + output[:, -1:]
    expected = (sigmoid(odds) * positions.weights).sum(axis=1)
    following = np.append(expected[1:], np.float32(0))
    following = np.where(positions.last, positions.labels, following)
    return np.asarray((1 - consistency) * positions.labels + consistency * following, np.float32)


def _log_odds(output: Array, positions: Positions, space: TokenSpace) -> Array:
    """Return the log odds of the token at each position."""
    chosen = space.vectors[positions.tokens]
    return np.asarray((output[:, :-1] * chosen).sum(axis=1) + output[:, -1], np.float32)


def _gradient(weights: _Weights, batch: Positions, targets: Array, space: TokenSpace) -> _Weights:
    """Return the slope of the mean cross entropy."""
    hidden, output = weights(batch.features)
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


def _auc(network: Mlp, positions: Positions, space: TokenSpace) -> dict[str, float]:
    """Return the area under the ROC curve by how much is written; a part of one label has none."""
    odds = _log_odds(network.forward_joint(positions.features), positions, space)
    areas = {}
    for name, start in PARTS.items():
        rows = (positions.written >= start) & (positions.written < start + 1 / 3)
        labels = positions.labels[rows] > 0.5
        positive, negative = labels.sum(), (~labels).sum()
        if positive and negative:
            wins = scipy_module("stats").mannwhitneyu(odds[rows][labels], odds[rows][~labels])
            areas[name] = round(float(wins.statistic / (positive * negative)), 4)
    return areas


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
