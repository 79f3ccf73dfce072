"""The bundle: three networks joined to one, how its turns are weighed, what it reaches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from data import HELD_OUT_KINDS, TRAINED
from fit import ThreadNet, accuracies, pooled_of, quality_rank
from scipy.optimize import minimize
from scipy.stats import spearmanr

from grice.evaluation.trained import record_texts
from grice.runtime.bundle import file_sha256
from grice.runtime.heads import Mlp

if TYPE_CHECKING:
    from fit import Material

__all__ = ["make_bundle"]

OUT = Path(__file__).parents[2] / "src" / "grice" / "data" / "bundles" / "coherence"
SHARES = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
"""What is tried as the weight of people's ratings beside that of broken conversations."""
POINTED = ("turn-replacement", "contradiction", "coreference", "irrelevancy")
GIVEN_UP = 0.03
"""How much of the held-out accuracy people's ratings may cost."""


def make_bundle(given: Material, nets: list[Path]) -> None:
    """Join the networks, choose the weights on held-out conversations, write the bundle."""
    states = [torch.load(path)["net"] for path in nets]
    joined = _joined(states)
    pools = _Pools(given, states)
    tried = [(share, *pools.reached(share)) for share in SHARES]
    floor = tried[0][1] - GIVEN_UP
    share = max((one for one in tried if one[1] >= floor), key=lambda one: one[2])[0]
    weights, bias = pools.calibrated(share)
    OUT.mkdir(parents=True, exist_ok=True)
    joined.save(OUT / "head.npz")
    quality = [_figure("accuracy, intact above broken, held out", kind, *found)
               for kind, found in pools.accuracies(weights).items()]  # fmt: skip
    quality.append(pools.rank(weights))
    quality += _pointing(given, pools.net)
    seeds = [_alone(given, state) for state in states]
    _write(weights, bias, share, tried, quality, seeds, given)
    texts = {text for name in ("train", "held", "broken", "rated")
             for one in given.made[name] for text in one.turns}  # fmt: skip
    record_texts(OUT, texts)


def _joined(states: list[dict[str, torch.Tensor]]) -> Mlp:
    first = np.concatenate([one["first.weight"].numpy().T for one in states], axis=1)
    first_bias = np.concatenate([one["first.bias"].numpy() for one in states])
    count = len(states)
    last = np.concatenate([one["last.weight"].numpy().T for one in states]) / count
    last_bias = np.mean([one["last.bias"].numpy() for one in states], axis=0)
    return Mlp([(first, first_bias), (last, last_bias)])


class _Pools:
    """Pooled outputs of the joined network on the held-out conversations."""

    def __init__(self, given: Material, states: list[dict[str, torch.Tensor]]) -> None:
        self.net = net = _Mean(states)
        self.held, self.broken = given.made["held"], given.made["held_broken"]
        self.people = [one for one in given.made["rated"] if one.held_out]
        self.intact = pooled_of(net, given, self.held)
        self.twins = pooled_of(net, given, self.broken)
        self.rated = pooled_of(net, given, self.people)
        self.place = {(one.source, one.id): i for i, one in enumerate(self.held)}
        self.whole = np.mean([one["whole.weight"].numpy()[0] for one in states], axis=0)
        self.quality = np.mean([one["quality.weight"].numpy()[0] for one in states], axis=0)

    def weights(self, share: float) -> np.ndarray:
        """Return weights of the four pooled values, both parts brought to the same spread."""
        whole = np.array([self.whole[0], 0, self.whole[1], 0])
        quality = np.array([0, self.quality[0], 0, self.quality[1]])
        whole /= np.std(self.rated @ whole)
        quality /= np.std(self.rated @ quality)
        return whole + share * quality

    def accuracies(self, weights: np.ndarray) -> dict[str, tuple[float, int]]:
        found = {}
        intact, twins = self.intact @ weights, self.twins @ weights
        for kind in HELD_OUT_KINDS:
            rows = [i for i, one in enumerate(self.broken) if one.kind == kind]
            wins = [intact[self.place[self.broken[i].source, self.broken[i].id]] > twins[i]
                    for i in rows]  # fmt: skip
            found[kind] = (float(np.mean(wins)), len(wins))
        return found

    def reached(self, share: float) -> tuple[float, float]:
        weights = self.weights(share)
        mean = float(np.mean([value for value, _ in self.accuracies(weights).values()]))
        people = [one.quality for one in self.people]
        return mean, float(spearmanr(self.rated @ weights, people).statistic)

    def calibrated(self, share: float) -> tuple[np.ndarray, float]:
        """Return weights and bias: 0.5 where intact and broken are equally likely, held out."""
        weights = self.weights(share)
        rows = [i for i, one in enumerate(self.broken) if one.kind == "deam"]
        raw = np.concatenate([self.intact @ weights, self.twins[rows] @ weights])
        labels = np.concatenate([np.ones(len(self.intact)), np.zeros(len(rows))])
        counts = np.where(labels == 1, 0.5 / labels.mean(), 0.5 / (1 - labels).mean())

        def loss(given: np.ndarray) -> float:
            logits = np.exp(given[0]) * raw + given[1]
            return float(np.sum(counts * (np.logaddexp(0, logits) - labels * logits)))

        scale, bias = minimize(loss, np.zeros(2), method="Nelder-Mead").x
        return weights * np.exp(scale), float(bias)

    def rank(self, weights: np.ndarray) -> dict[str, Any]:
        people = np.array([one.quality for one in self.people])
        values = self.rated @ weights
        draw = np.random.default_rng(0)
        spread = [spearmanr(values[rows], people[rows]).statistic
                  for rows in draw.integers(len(people), size=(1000, len(people)))]  # fmt: skip
        return {
            "on": "convai2017, held-out conversations: quality",
            "measure": "spearman",
            "value": round(float(spearmanr(values, people).statistic), 4),
            "low": round(float(np.quantile(spread, 0.025)), 4),
            "high": round(float(np.quantile(spread, 0.975)), 4),
            "n": len(people),
            "command": "python recipes/coherence/train.py bundle",
        }


class _Mean(ThreadNet):
    """The mean of several networks, to be pooled as one."""

    def __init__(self, states: list[dict[str, torch.Tensor]]) -> None:
        super().__init__()
        self.parts = torch.nn.ModuleList()
        for state in states:
            net = ThreadNet()
            net.load_state_dict(state)
            self.parts.append(net.eval())
        self.eval()

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return torch.stack([net(features) for net in self.parts]).mean(0)


@torch.no_grad()
def _pointing(given: Material, net: ThreadNet) -> list[dict[str, Any]]:
    """Return how often the turn that carries on worst is one that was broken."""
    found = []
    for kind in POINTED:
        hits, chance = [], []
        for one in given.made["held_broken"]:
            if one.kind == kind and len(one.turns) > 1:
                turns = net(given.features(one))[1:, 0].numpy()
                hits.append(int(turns.argmin()) + 1 in one.broken)
                chance.append(len(one.broken - {0}) / len(turns))
        on = f"{kind}; a turn at random is one in {np.mean(chance):.3f}"
        found.append(_figure("worst turn is a broken one, held out", on, np.mean(hits), len(hits)))
    return found


def _alone(given: Material, state: dict[str, torch.Tensor]) -> str:
    net = ThreadNet()
    net.load_state_dict(state)
    net.eval()
    return json.dumps({"accuracy": accuracies(net, given), "quality": quality_rank(net, given)})


def _figure(measure: str, on: str, value: float, n: int) -> dict[str, Any]:
    # Wilson's interval.
    z = 1.96
    centre = (value + z * z / (2 * n)) / (1 + z * z / n)
    half = z * np.sqrt(value * (1 - value) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return {
        "on": on, "measure": measure, "value": round(float(value), 4),
        "low": round(float(centre - half), 4), "high": round(float(centre + half), 4), "n": n,
        "command": "python recipes/coherence/train.py bundle",
    }  # fmt: skip


def _write(
    weights: np.ndarray,
    bias: float,
    share: float,
    tried: list[tuple[float, float, float]],
    quality: list[dict[str, Any]],
    seeds: list[str],
    given: Material,
) -> None:
    sources = sorted({one.source for one in given.made["train"]})
    shares = "; ".join(f"{one}: {mean:.3f}, {rank:.3f}" for one, mean, rank in tried)
    facts = {
        "name": "coherence",
        "kind": "thread-head",
        "version": "1",
        "summary": "Does a conversation hang together? A small network on frozen turn vectors.",
        "licence": "CC-BY-SA-4.0",
        "encoder": "encoder",
        "inputs": "a conversation: who says what, any number of turns",
        "outputs": (
            "0 to 1 for the conversation, 0.5 where on held-out conversations intact ones and "
            "ones broken by the mixture deam are equally likely; and for each turn the "
            "probability that it was not broken"
        ),
    }
    training = {
        "data": [*sources, "convai2017: ratings of conversations and messages, without amt50"],
        "broken": list(TRAINED),
        "selection": [
            "6 % of the conversations of each corpus, held out, and 30 % of the rated ones",
            f"weight of people's ratings {share}: the best rank of rated conversations that costs "
            f"at most {GIVEN_UP} of the mean accuracy (weight: accuracy, rank: {shares})",
        ],
        "seeds": [0, 1, 2],
        "seeds_alone": seeds,
        "excluded": "conversations that hold a text of an evaluated set (more than three words)",
        "command": "python recipes/coherence/train.py STEP --data ../shared/data",
    }
    settings = {"weights": [round(float(one), 6) for one in weights], "bias": round(bias, 6)}
    tables = [_pairs(facts), "[training]\n" + _pairs(training), "[settings]\n" + _pairs(settings)]
    tables += ["[[quality]]\n" + _pairs(figure) for figure in quality]
    tables.append("[files]\n" + _pairs({'"head.npz"': file_sha256(OUT / "head.npz")}))
    (OUT / "card.toml").write_text("\n".join(tables), "utf-8")


def _pairs(table: dict[str, Any]) -> str:
    # JSON's strings, numbers and flat lists are TOML's.
    return "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n"
                   for key, value in table.items())  # fmt: skip
