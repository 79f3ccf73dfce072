"""Fit the heads that read flaws from the states of a language model.

    grice models get medium-states
    python -m grice_research.recipes.sense.fit --base model:medium-states --chatbots

States are read once and kept in the recipe's work folder, so that a stopped run goes on. Three
networks of different seeds are averaged. Settings were chosen on the items kept back (every tenth).
With ``--chatbots`` they learn from votes on replies of chatbots too, as what ships has.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from grice import Conversation, Turn
from grice.data import Response
from grice.models.flaws import reply_states
from grice.models.loader import ModelLoader
from grice.models.mlp import Mlp
from grice.models.protocols import PromptEncoder
from grice.stats import mean as mean_of
from grice_research.places import MODELS, work_folder
from grice_research.recipes.common import Steps, figure_of, parser_of, update_card
from grice_research.recipes.sense.sources import FLAWS, Item, Reading, chatbot_items, written_items

Array = NDArray[np.float32]

HIDDEN = 64
SEEDS = (0, 1, 2)
STEPS, BATCH, RATE, DECAY = 1200, 512, 2e-3, 0.3
DROPOUT = (0.2, 0.3)
PORTION = 200  # replies that are read before their states are kept
LABEL_WEIGHT = 0.3
"""Of the absolute labels beside the comparisons: they set the scale and the zero of the odds."""


class Comparisons(NamedTuple):
    """Rows of the better and the worse state, the head, and the weight."""

    better: torch.Tensor
    worse: torch.Tensor
    head: torch.Tensor
    weight: torch.Tensor


def response_of(reading: Reading) -> Response:
    """Return a reading as a reply of one of two speakers."""
    count = len(reading.history)
    turns = tuple(Turn("ab"[(count - i) % 2], text) for i, text in enumerate(reading.history))
    talk = Conversation("-", turns)
    return Response("-", count, reading.reply, "a", talk.turns, tuple(range(count)))


def comparisons(items: Sequence[Item], *, validation: bool) -> Comparisons:
    """Return the comparisons of items; each item weighs the same."""
    rows, first = [], 0
    for item in items:
        if item.validation == validation:
            weight = 1 / len(item.comparisons)
            for (good, bad), flaw in product(item.comparisons, {FLAWS[0]: 0, item.flaw: 0}):
                rows.append((first + good, first + bad, FLAWS.index(flaw), weight))
        first += len(item.readings)
    better, worse, head, weight = zip(*rows, strict=True)
    return Comparisons(*map(torch.tensor, (better, worse, head)), torch.tensor(weight))


def fit(states: Array, learned: Comparisons, seed: int) -> nn.Sequential:
    """Return a network from standardized states to the log odds of each flaw."""
    torch.manual_seed(seed)
    net = nn.Sequential(
        nn.Dropout(DROPOUT[0]),
        nn.Linear(states.shape[1], HIDDEN),
        nn.ReLU(),
        nn.Dropout(DROPOUT[1]),
        nn.Linear(HIDDEN, len(FLAWS)),
    )
    read = torch.from_numpy(states)
    step = Steps(net.parameters(), RATE, DECAY, STEPS)
    for _ in range(STEPS):
        rows = torch.randint(len(learned.better), (BATCH,))
        head = learned.head[rows, None]
        good = net(read[learned.better[rows]]).gather(1, head)[:, 0]
        bad = net(read[learned.worse[rows]]).gather(1, head)[:, 0]
        ranked = functional.softplus(good - bad)
        labelled = functional.softplus(good) + functional.softplus(-bad)
        weight = learned.weight[rows]
        step((weight * (ranked + LABEL_WEIGHT * labelled)).sum() / weight.sum())
    return net.eval()


def nets_of(states: Array, items: Sequence[Item]) -> tuple[list[nn.Sequential], Array, Array]:
    """Return a network per seed that learned from items, and what standardises their states."""
    learned = comparisons(items, validation=False)
    rows = torch.unique(torch.cat([learned.better, learned.worse])).numpy()
    mean, scale = states[rows].mean(axis=0), states[rows].std(axis=0) + 1e-3
    standard = ((states - mean) / scale).astype(np.float32)
    return [fit(standard, learned, seed) for seed in SEEDS], mean, scale


def averaged(nets: Sequence[nn.Sequential], mean: Array, scale: Array) -> Mlp:
    """Return one network that gives the mean of several, on states as they come."""
    inner = np.concatenate([net[1].weight.detach().numpy() for net in nets]) / scale
    shift = np.concatenate([net[1].bias.detach().numpy() for net in nets]) - inner @ mean
    outer = np.concatenate([net[4].weight.detach().numpy() for net in nets], axis=1) / len(nets)
    bias = np.mean([net[4].bias.detach().numpy() for net in nets], axis=0)
    return Mlp([(inner.T, shift), (outer.T, bias)])


def right(odds: Array, items: Sequence[Item]) -> dict[str, list[float]]:
    """Return for each item kept back whether its comparisons within one history are right."""
    kinds: dict[str, list[float]] = {"all": []}
    first = 0
    for item in items:
        for good, bad in item.comparisons if item.validation else ():
            if item.readings[good].history == item.readings[bad].history:
                margin = odds[first + bad, 0] - odds[first + good, 0]
                value = float(margin > 0) + 0.5 * float(margin == 0)
                kinds["all"].append(value)
                kinds.setdefault(item.kind, []).append(value)
        first += len(item.readings)
    return kinds


def quality_of(kinds: dict[str, list[float]], command: str) -> list[dict[str, Any]]:
    on, measure = "written items kept back", "right of two replies to one history"
    shares = {kind: mean_of(values, bounds=(0, 1)) for kind, values in kinds.items()}
    return [figure_of(f"{on}: {kind}", measure, each, command) for kind, each in shares.items()]


def make(states: Array, items: Sequence[Item], base: str, out: Path, *, chatbots: bool) -> None:
    """Fit the heads on states of all readings, in order, and write the model."""
    nets, mean, scale = nets_of(states, items)
    for seed, net in zip(SEEDS, nets, strict=True):
        alone = right(averaged([net], mean, scale).forward_joint(states), items)
        print(json.dumps({"seed": seed, "right": round(float(np.mean(alone["all"])), 3)}))
    network = averaged(nets, mean, scale)
    kinds = right(network.forward_joint(states), items)
    out.mkdir(parents=True, exist_ok=True)
    network.save(out / "head.npz")
    command = f"python -m grice_research.recipes.sense.fit --base {base} --name {out.name}"
    command += " --chatbots" * chatbots
    quality = quality_of(kinds, command)
    for figure in quality:
        print(json.dumps(figure))
    settings = {"base": base, "flaws": list(FLAWS)}
    update_card(out, files=("head.npz",), settings=settings, quality=quality, command=command)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--base", default="model:medium-states")
    parser.add_argument("--name", default="sense-medium")
    parser.add_argument("--chatbots", action="store_true", help="learn from DBDC3 and ConvAI 2017")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    items = [*written_items(), *(chatbot_items(given.data) if given.chatbots else ())]
    models = ModelLoader(mode="fast", workers=given.threads, cache=work_folder("sensibleness"))
    reader = models.load(given.base, PromptEncoder)
    responses = [response_of(reading) for item in items for reading in item.readings]
    # The states of each portion are kept before the next is read.
    portions = range(0, len(responses), PORTION)
    states = np.concatenate([reply_states(reader, responses[i : i + PORTION]) for i in portions])
    models.close()
    out = MODELS / given.name
    make(states, items, given.base, out, chatbots=given.chatbots)


if __name__ == "__main__":
    main()
