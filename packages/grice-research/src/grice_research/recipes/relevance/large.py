"""Relevance and engagement by the heads of research and a published language model together.

    python -m grice_research.recipes.relevance.large NAME[+NAME] --data ../shared/data

`NAME` is what `measured.py likelihood` kept the likelihoods under; of two models
the likelihoods are averaged. Prints what the
parts and the whole reach on DECO's training part and on the fine-tuning pairs of the study, which
alone choose anything, and with `--scores` writes `work/scores/NAME.jsonl`: scores of the rated
replies as `grice score` writes them, for `grice bench dailydialog-relevance` and `engagement`.

What is done was written into the README before a rated set was looked at.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import minimize

from grice.evaluation.datasets import known_sets, load_rated
from grice.records import Score, to_json
from grice.stats import correlation
from grice_research.recipes.options import parser_of
from grice_research.recipes.relevance.measured import RATED, WORK, Kept, items_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from grice_research.recipes.relevance.measured import Items, Reply

    Floats = NDArray[np.float64]

__all__ = ["Scaled", "Whole", "learn", "parts_of", "regression"]

PARTS = ("fits, by the head of research", "likely in its place", "made likely by the history")
RIDGE = 1.0


class Scaled(NamedTuple):
    """A logistic regression on some columns.

    Attributes:
        weights: Of each column.
        shift: Added.
    """

    weights: Floats
    shift: float

    def __call__(self, columns: Floats) -> Floats:
        """Return the probability of each row, shape (n, columns)."""
        return 1 / (1 + np.exp(-(columns @ self.weights + self.shift)))


class Whole(NamedTuple):
    """All that is learned.

    Attributes:
        centre: Mean of each part over the true pairs that are learned from.
        spread: Its standard deviation there.
        fitting: From the mean of the scaled parts to the probability that a reply is the true one
            and no other's.
        engaging: From that mean and the log odds of the engagement head to the probability that
            a person calls the reply engaging.
    """

    centre: Floats
    spread: Floats
    fitting: Scaled
    engaging: Scaled

    def fit(self, parts: Floats) -> Floats:
        """Return the mean of the three parts, each in standard deviations, shape (n,)."""
        scaled = (parts - self.centre) / self.spread
        columns = [scaled[:, 0], scaled[:, 1::2].mean(1), scaled[:, 2::2].mean(1)]
        return np.mean(columns, axis=0)

    def scores(self, parts: Floats, length: Floats) -> dict[str, Floats]:
        """Return relevance, engagement and both by name.

        Args:
            parts: Of each reply, shape (n, 1 + 2 x models).
            length: Log odds of the engagement head, shape (n,).
        """
        fit = self.fit(parts)
        relevance = self.fitting(fit[:, None])
        engagement = self.engaging(np.stack([fit, length], 1))
        both = np.sqrt(relevance * engagement)
        return {"relevance": relevance, "engagement": engagement, "relevance+engagement": both}


def parts_of(replies: Sequence[Reply], name: str) -> tuple[Floats, Floats]:
    """Return the parts of each reply, and the log odds of the engagement head.

    Args:
        replies: With their histories.
        name: Of the language model, or of several with ``+`` between.
    """
    parts = [Kept("head").of(replies)[:, 0]]
    for model_name in name.split("+"):
        given, alone, pieces = Kept(model_name).of(replies).T
        parts += [given / pieces, (given - alone) / pieces]
    return np.stack(parts, 1), Kept("engagement").of(replies)[:, 0]


def learn(data: Path, name: str) -> Whole:
    """Return what the fine-tuning pairs, true and mismatched, teach."""
    pairs, others = (items_of(set_name, data) for set_name in ("fine_tuning", "mismatched"))
    true, length = parts_of(pairs.replies, name)
    false, _ = parts_of(others.replies, name)
    whole = Whole(true.mean(0), true.std(0), *[Scaled(np.ones(1), 0.0)] * 2)
    fit = whole.fit(np.concatenate([true, false]))
    fitting = regression(fit[:, None], np.arange(len(fit)) < len(true))
    columns = np.stack([fit[: len(true)], length], 1)
    return whole._replace(
        fitting=fitting, engaging=regression(columns, np.asarray(pairs.labels) > 0)
    )


def regression(columns: Floats, labels: NDArray[np.bool_]) -> Scaled:
    """Return the ridge solution with both classes weighed alike."""
    share = labels.mean()
    weights = np.where(labels, 0.5 / share, 0.5 / (1 - share))
    signs = np.where(labels, 1.0, -1.0)

    def loss(solution: Floats) -> float:
        odds = columns @ solution[:-1] + solution[-1]
        penalty = RIDGE / 2 * (solution[:-1] ** 2).sum()
        return float((weights * np.logaddexp(0, -signs * odds)).sum() + penalty)

    fitted = minimize(loss, np.zeros(columns.shape[1] + 1)).x
    return Scaled(fitted[:-1], float(fitted[-1]))


def seen(items: Items, name: str, whole: Whole) -> Iterator[dict[str, object]]:
    """Yield how the parts and the whole agree with labels of replies that may train."""
    parts, length = parts_of(items.replies, name)
    called = [
        PARTS[0],
        *(f"{part}, {model_name}" for model_name in name.split("+") for part in PARTS[1:]),
    ]
    columns = dict(zip(called, parts.T, strict=True))
    columns |= {"length": length, **whole.scores(parts, length)}
    for what, values in columns.items():
        estimate = correlation(values.tolist(), np.asarray(items.labels).tolist(), kind="spearman")
        low, high = (round(bound, 3) for bound in (estimate.low or 0, estimate.high or 0))
        row = {"on": items.name, "what": what, "spearman": round(estimate.value, 3)}
        yield {**row, "low": low, "high": high, "n": estimate.n}


def lines_of(name: str, whole: Whole, data: Path) -> Iterator[str]:
    """Yield the scores of every rated set that was measured whole."""
    for known in RATED:
        items = items_of(known, data)
        if _missing(name, items):
            print(f"{known}: not all replies are measured; left out")
            continue
        parts, length = parts_of(items.replies, name)
        rated = load_rated(known_sets()[known], data)
        for metric, values in whole.scores(parts, length).items():
            signature = f"{metric}|heads of research and {name}|recipes.relevance.large"
            for item, value in zip(rated.items, values.tolist(), strict=True):
                turn = len(item.conversation.turns) - 1
                id_ = item.conversation.id
                yield to_json(
                    Score(id_, turn, metric, round(value, 6), "ok", None, (), (), signature)
                )


def _missing(name: str, items: Items) -> bool:
    return any(Kept(model_name).missing(items.replies) for model_name in (*name.split("+"), "head"))


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("name")
    parser.add_argument("--scores", action="store_true", help="write them; they choose nothing")
    options = parser.parse_args()
    whole = learn(options.data, options.name)
    for known in ("deco_train", "fine_tuning"):
        items = items_of(known, options.data)
        if _missing(options.name, items):
            continue
        for row in seen(items, options.name, whole):
            print(json.dumps(row))
    print(whole)
    if options.scores:
        (WORK / "scores").mkdir(exist_ok=True)
        text = "".join(f"{line}\n" for line in lines_of(options.name, whole, options.data))
        (WORK / "scores" / f"{options.name}.jsonl").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
