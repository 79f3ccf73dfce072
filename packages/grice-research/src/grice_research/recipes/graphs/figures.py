"""Figures of ``substance``: means, areas under the curve, and pairs of one row."""

from __future__ import annotations

import numpy as np

from grice_research.recipes.graphs.making import Pairs


def area(right: np.ndarray, wrong: np.ndarray) -> float:
    order = np.argsort(np.argsort(np.concatenate([right, wrong]))) + 1
    n = len(right)
    return float((order[:n].sum() - n * (n + 1) / 2) / (n * len(wrong)))


class Draws:
    """Draws beliefs again and again, so that intervals know that graphs on one belief are alike."""

    def __init__(self, graphs: dict[str, Pairs]) -> None:
        beliefs = sorted({instance.belief for pairs in graphs.values() for instance, _ in pairs})
        place = {belief: i for i, belief in enumerate(beliefs)}
        self._places = {kind: np.array([place[instance.belief] for instance, _ in pairs])
                        for kind, pairs in graphs.items()}  # fmt: skip
        draws = np.random.default_rng(0)
        self._samples = [
            np.bincount(draws.integers(len(beliefs), size=len(beliefs)), minlength=len(beliefs))
            for _ in range(300)
        ]

    def counts(self, kind: str) -> list[np.ndarray]:
        """Return for each draw how often each graph of the kind is in it."""
        return [sample[self._places[kind]] for sample in self._samples]


def siblings(values: dict[str, np.ndarray], graphs: dict[str, Pairs]) -> np.ndarray:
    """Return how the value of each refused version stands to that of the accepted one of its row.

    1 where the accepted one is higher, 0 where it is lower, NaN where there is none.
    """
    final = {
        instance.id: value
        for (instance, _), value in zip(graphs["accepted"], values["accepted"], strict=True)
    }
    return np.array([
        float(final[instance.id] > value) if instance.id in final else np.nan
        for (instance, _), value in zip(graphs["failed"], values["failed"], strict=True)
    ])  # fmt: skip


def figures_of(
    on: str, values: dict[str, np.ndarray], graphs: dict[str, Pairs], seed: int
) -> list[dict[str, object]]:
    """Return means, and the AUC of accepted graphs over each kind that people did not accept."""
    draws = Draws(graphs)
    figures: list[dict[str, object]] = []

    def add(measure: str, value: float, resampled: list[float], n: int) -> None:
        low, high = np.nanpercentile(resampled, [2.5, 97.5])
        figures.append({"on": on, "measure": f"{measure}, seed {seed}", "value": value,
                        "low": float(low), "high": float(high), "n": n})  # fmt: skip
        print(f"{measure}, seed {seed}: {value:.3f} [{low:.3f}, {high:.3f}], n {n}", flush=True)

    for kind, value in values.items():
        drawn = [float(np.average(value, weights=counts)) for counts in draws.counts(kind)]
        add(f"mean substance of {kind} graphs", float(value.mean()), drawn, len(value))
    for kind in values:
        if kind not in ("gold", "accepted"):
            both = zip(draws.counts("accepted"), draws.counts(kind), strict=True)
            drawn = [area(np.repeat(values["accepted"], counts), np.repeat(values[kind], other))
                     for counts, other in both]  # fmt: skip
            add(f"AUC of substance, accepted over {kind}", area(values["accepted"], values[kind]),
                drawn, len(values["accepted"]) + len(values[kind]))  # fmt: skip
    above = siblings(values, graphs)
    pick = np.isfinite(above)
    drawn = [float(np.average(above[pick], weights=counts[pick]))
             for counts in draws.counts("failed")]  # fmt: skip
    add("substance of accepted above refused version of one row", float(above[pick].mean()),
        drawn, int(pick.sum()))  # fmt: skip
    return figures
