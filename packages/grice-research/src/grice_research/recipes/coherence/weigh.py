"""How the numbers of a conversation are weighed: by broken twins, and by people's ratings."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from grice.metrics.coherence.dialogues import ORDER, POOLED, WHOLE, dialogue_features
from grice.metrics.coherence.features import NUMBERS
from grice_research.recipes.coherence.alone import without_length
from grice_research.recipes.coherence.fit import turns_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grice_research.recipes.coherence.arrays import Item, Prepared
    from grice_research.recipes.coherence.fit import ThreadNet

SHRUNK = 3e-5
"""Weight of the squared weights beside the loss on twins."""
COUNTED = {
    "irrelevancy": 5.0, "section-replacement": 2.0, "turn-insertion": 2.0, "half-swap": 2.0,
    "repeats-before": 0.3, "repeats-itself": 0.3, "pleads": 0.3,
}  # fmt: skip
"""How much those kinds of twins count that do not count as 1: more what is hard to tell. Words that
do not belong show in few of the numbers, and most other kinds of twins speak against those."""
FEW = 0.3
"""Share of the turns of a conversation that are broken where turns are told apart."""
LEAST = 0.02
"""Smallest spread by which a number is divided."""
BY_LENGTH = (28, 29)
"""Places of the features of a turn that only say how long a conversation is."""
_BY_LENGTH = [POOLED + part * (NUMBERS + ORDER) + i for part in (0, 1) for i in BY_LENGTH]
READ = np.setdiff1d(np.arange(WHOLE), [*range(3, POOLED), *_BY_LENGTH])
"""What is weighed: the first output, and all numbers but those that say how long it is."""


class Wholes(NamedTuple):
    """What conversations are judged by, and the items they are of."""

    rows: NDArray[np.float32]
    items: list[Item]


def wholes(net: ThreadNet, given: Prepared, items: list[Item]) -> Wholes:
    """Return what each conversation is judged by, shape ``(n, WHOLE)``."""
    rows = [dialogue_features(outputs, item.numbers.astype(np.float32), item.beside, item.alone,
                          item.speakers)
            for outputs, item in zip(turns_of(net, given, items), items, strict=True)]  # fmt: skip
    return Wholes(np.stack(rows), items)


def weighed(twins: Wholes, rated: Wholes, share: float) -> NDArray[np.float64]:
    """Return weights under which conversations stand above their twins, and as people rate them.

    One set of weights for both, so that ratings move those first that no twin needs. All kinds of
    twins count alike. The length of rated conversations is set aside: a long one is rated better,
    but a good one must not be called worse because it has only begun.
    """
    differences, shares = _differences(twins)
    read, people = _without_length(rated)
    # What hardly ever differs would otherwise be blown up.
    spread = np.maximum(twins.rows[:, READ].std(axis=0), LEAST)
    differences, read = differences / spread, read / spread

    def loss(given: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights, scale = given[:-1], given[-1]
        margins, values = differences @ weights, read @ weights
        left = people - scale * values
        value = shares @ np.logaddexp(0, -margins) + SHRUNK * weights @ weights
        value += share * np.mean(left**2)
        slope = -(shares * expit(-margins)) @ differences + 2 * SHRUNK * weights
        slope -= 2 * share * scale * (read.T @ left) / len(people)
        return float(value), np.append(slope, -2 * share * (left @ values) / len(people))

    start = np.append(np.full(len(READ), 1e-3), 0.2)
    fitted = minimize(loss, start, jac=True, method="L-BFGS-B").x
    weights = np.zeros(WHOLE)
    weights[READ] = fitted[:-1] / spread
    return weights


def _differences(twins: Wholes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how each intact conversation differs from a twin, and how much that one counts."""
    whole = {item.twin: row for row, item in zip(twins.rows, twins.items, strict=True)
             if not item.kind}  # fmt: skip
    pairs = [(whole[item.twin] - row, item.kind)
             for row, item in zip(twins.rows, twins.items, strict=True) if item.kind]  # fmt: skip
    kinds = [kind for _, kind in pairs]
    counts = Counter(kinds)
    shares = np.array([COUNTED.get(kind, 1.0) / counts[kind] for kind in kinds])
    differences = np.stack([row for row, _ in pairs])[:, READ].astype(np.float64)
    return differences, shares / shares.sum()


def _without_length(rated: Wholes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return numbers and ratings of conversations, what their length says of them taken out."""
    sizes = np.array([len(item.rows) for item in rated.items])
    left = without_length(np.array([item.quality for item in rated.items]), sizes)
    return without_length(rated.rows[:, READ].astype(np.float64), sizes), left / left.std()


def turn_weights(net: ThreadNet, given: Prepared, items: list[Item]) -> NDArray[np.float64]:
    """Return weights of a turn's first output and of what stands beside it, the bias last.

    They tell turns that were broken from those that were not, both as likely, where few were.
    """
    items = [item for item in items if item.broken and len(item.broken) <= FEW * len(item.rows)]
    outputs = turns_of(net, given, items)
    rows = np.concatenate([np.column_stack([output[:, 0], item.beside])
                           for item, output in zip(items, outputs, strict=True)])  # fmt: skip
    whole = np.concatenate([[i not in item.broken for i in range(len(item.rows))]
                            for item in items]).astype(np.float64)  # fmt: skip
    spread, middle = np.maximum(rows.std(axis=0), LEAST), rows.mean(axis=0)
    read = np.column_stack([(rows - middle) / spread, np.ones(len(rows))]).astype(np.float64)
    counts = np.where(whole == 1, 0.5 / whole.mean(), 0.5 / (1 - whole).mean()) / len(whole)

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        logits = read @ weights
        value = counts @ (np.logaddexp(0, logits) - whole * logits) + SHRUNK * weights @ weights
        slope = (counts * (expit(logits) - whole)) @ read + 2 * SHRUNK * weights
        return float(value), slope

    fitted = minimize(loss, np.zeros(read.shape[1]), jac=True, method="L-BFGS-B").x
    weights = fitted[:-1] / spread
    return np.append(weights, fitted[-1] - weights @ middle)


def liked(net: ThreadNet) -> NDArray[np.float64]:
    """Return the weights of the second output: would people call the turns good?

    They are not weighed with the others: the networks know the rated conversations too well.
    """
    weights = np.zeros(WHOLE)
    weights[3:POOLED] = net.quality.weight.detach().numpy()[0]
    return weights
