"""Baselines of predictive engagement, trained again on ConvAI 2017.

A linear SVM on n-grams, length and distinct words of the reply, and two recurrent networks, whose
largest states one layer judges; their word vectors are learned, for word2vec's are not at hand.
Published labels are those of the paper, which took every conversation with a bot for dull;
corrected ones are what the person said. The conversations of each label are split in the order of
the file: six tenths train, two tenths are the test, two tenths choose the epoch of a network.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from grice.stats.estimate import scipy_module
from grice.stats.inputs import Floats
from grice_research.benches._recurrent import (
    Pair,
    Pairs,
    read_pair,
    recurrent_sides,
    torch_module,
)
from grice_research.benches._turns import marked_lines
from grice_research.context import BenchContext, data_digest
from grice_research.figures import Figure, figure, gap_to
from grice_research.published import printed
from grice_research.recipes.common import Steps
from grice_research.recipes.engagement.train import ENGAGING, engagement, joined
from grice_research.roc import roc_areas
from grice_research.training.logistic import balanced

if TYPE_CHECKING:
    import torch

TITLE = "Baselines of predictive engagement, trained again"
PAPER = "Ghazarian et al., Predictive Engagement, AAAI 2020, figure 3.4"

CONVAI, AMT = "convai2017/convai2017.jsonl.gz", "predictive_engagement/convai_amt_297.jsonl.gz"
PUBLISHED, CORRECTED = (
    f"convai2017, {labels} labels:test" for labels in ("published", "corrected")
)
SVM, NETWORKS, LENGTH = "SVM", "two recurrent networks", "length of the reply"
BESIDE = {SVM: "SVM", NETWORKS: "MLP word2vec"}
MEASURE = "balanced accuracy"
COST, SEEDS = 0.1, (0, 1, 2)  # of the SVM, as printed; of the networks
WIDTH, STATES, LONGEST = 48, 16, 16  # of word vectors and states; words that are read
EPOCHS, BATCH, DECAY, DROPPED = 4, 128, 0.01, 0.3


Classifier: TypeAlias = Callable[[Pairs], list[Floats]]
"""Gives numbers above 0 for engaging replies, once for each seed."""


def measure(context: BenchContext) -> Iterator[Figure]:
    """Yield the classifiers beside the length of the reply."""
    train, valid, test = read_split(context.folder, corrected=False)
    learned, _, told = read_split(context.folder, corrected=True)
    rows = marked_lines(context.folder, AMT)
    amt = [read_pair(r["query"], r["reply"], r["label"], str(r["places"][0][0])) for r in rows]
    yield from _rows(context, SVM, fit_svm(learned), learned, told, CORRECTED)
    fits: dict[str, Callable[[], Classifier]] = {
        SVM: lambda: fit_svm(train),
        NETWORKS: lambda: fit_networks(train, valid),
    }
    for row, fit in fits.items():
        classify = fit()
        for pairs, on in ((test, PUBLISHED), (amt, "convai_amt_297:engagement")):
            yield from _rows(context, row, classify, train, pairs, on)


def read_split(folder: Path, *, corrected: bool) -> tuple[list[Pair], list[Pair], list[Pair]]:
    """Return the pairs of ConvAI 2017 that train, choose the epoch, and test."""
    by_label: dict[bool, list[list[Pair]]] = {False: [], True: []}
    for row in marked_lines(folder, CONVAI):
        texts = [text for _, text, _ in joined(row)]
        if row["meta"]["amt50"] or len(texts) < 2:
            continue
        label = engagement(row, corrected=corrected) >= ENGAGING
        # As released: all neighbours of an engaging conversation, of others each turn once.
        pairs = list(pairwise(texts))[:: 1 if label else 2]
        by_label[label].append([read_pair(*pair, label, row["id"]) for pair in pairs])
    train, valid, test = [], [], []
    for talks in by_label.values():
        first, second = int(0.6 * len(talks)), int(0.8 * len(talks))
        train += [pair for talk in talks[:first] for pair in talk]
        test += [pair for talk in talks[first:second] for pair in talk]
        valid += [pair for talk in talks[second:] for pair in talk]
    return train, valid, test


def _labels(pairs: Pairs) -> Floats:
    return np.array([pair.label for pair in pairs], np.float64)


def _grams(pair: Pair) -> set[str]:
    """Return words and neighbouring words of both sides; those of the query are marked."""
    sides = ([f"q:{word}" for word in pair.query], pair.reply)
    return {gram for words in sides for gram in (*words, *map(" ".join, pairwise(words)))}


def fit_svm(train: Pairs) -> Classifier:
    """Return a linear SVM (squared hinge), both classes weighed alike."""
    sparse = scipy_module("sparse")
    counts = Counter(gram for pair in train for gram in _grams(pair))
    places = {gram: i for i, gram in enumerate(sorted(g for g, n in counts.items() if n > 1))}

    def features(pairs: Pairs) -> Any:  # noqa: ANN401 - a sparse matrix
        known = [[places[gram] for gram in _grams(pair) if gram in places] for pair in pairs]
        rows = np.repeat(np.arange(len(pairs)), [len(each) for each in known])
        columns = np.array([place for each in known for place in each], np.int64)
        shape = len(pairs), len(places)
        grams = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape)
        plain = [(len(pair.reply) / 10, len(set(pair.reply)) / 10, 1.0) for pair in pairs]
        return sparse.hstack([grams, sparse.csr_matrix(plain)]).tocsr()

    x, labels = features(train), _labels(train)
    signs, costs = 2 * labels - 1, COST * balanced(labels)

    def loss(weights: Floats) -> tuple[float, Floats]:
        slack = np.maximum(0, 1 - signs * (x @ weights))
        value = weights @ weights / 2 + costs @ slack**2
        return float(value), weights - 2 * (x.T @ (costs * slack * signs))

    fitted = scipy_module("optimize").minimize
    weights = fitted(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B").x
    return lambda pairs: [np.asarray(features(pairs) @ weights)]


def fit_networks(train: Pairs, valid: Pairs) -> Classifier:
    """Return networks of three seeds, each of the epoch that is best on the validation part."""
    library = torch_module()
    nn, labels = library.nn, _labels(train)
    target, weight = (library.tensor(each).float() for each in (labels, balanced(labels)))

    def forward(network: torch.nn.ModuleDict, pairs: Pairs) -> torch.Tensor:
        odds: torch.Tensor = network["judge"](library.cat(network["sides"](pairs), dim=1))[:, 0]
        return odds

    def odds_of(network: torch.nn.ModuleDict, pairs: Pairs) -> Floats:
        network.eval()
        with library.no_grad():
            parts = [forward(network, pairs[i : i + 256]) for i in range(0, len(pairs), 256)]
        return np.asarray(library.cat(parts).double().numpy())

    def fitted(seed: int) -> torch.nn.ModuleDict:
        library.manual_seed(seed)
        last = (nn.Linear(4 * STATES, STATES), nn.Tanh(), nn.Dropout(DROPPED))
        sides = recurrent_sides(train, width=WIDTH, states=STATES, longest=LONGEST, dropped=DROPPED)
        judge = nn.Sequential(*last, nn.Linear(STATES, 1))
        network = nn.ModuleDict({"sides": sides, "judge": judge})
        step, draw = Steps(network.parameters(), 6e-3, DECAY), np.random.default_rng(seed)
        best, kept = -1.0, network.state_dict()
        for _ in range(EPOCHS):
            network.train()
            for rows in np.array_split(draw.permutation(len(labels)), len(labels) // BATCH or 1):
                said = forward(network, [train[row] for row in rows])
                loss = nn.functional.binary_cross_entropy_with_logits
                step(loss(said, target[rows], weight[rows]))
            reached = _reached(odds_of(network, valid), _labels(valid))
            if reached > best:
                best, kept = reached, {k: v.clone() for k, v in network.state_dict().items()}
        network.load_state_dict(kept)
        return network

    networks = [fitted(seed) for seed in SEEDS]
    return lambda pairs: [odds_of(network, pairs) for network in networks]


def _by_length(train: Pairs, pairs: Pairs) -> list[float]:
    """Return which replies are longer than what parts the classes of the training best."""
    lengths, labels = np.array([len(pair.reply) for pair in train]), _labels(train)
    edge = max(np.unique(lengths), key=lambda at: _reached(lengths - at, labels))
    return [float(len(pair.reply) > edge) for pair in pairs]


def _reached(odds: Floats, labels: Floats) -> float:
    """Return the balanced accuracy of odds above 0."""
    return float((odds[labels == 1] > 0).mean() + (odds[labels == 0] <= 0).mean()) / 2


def _rows(
    context: BenchContext, row: str, classify: Classifier, train: Pairs, pairs: Pairs, on: str
) -> Iterator[Figure]:
    """Yield the figure of the middle seed, and beside the SVM that of the length of the reply."""
    labels = _labels(pairs)
    seeds = sorted(classify(pairs), key=lambda odds: _reached(odds, labels))
    said = {row: [float(each > 0) for each in seeds[len(seeds) // 2]]}
    said[LENGTH] = _by_length(train, pairs)
    # The area under the curve of hard decisions is their balanced accuracy.
    groups, gaps = [pair.group for pair in pairs], [(row, LENGTH)]
    found = roc_areas(said, labels.tolist(), groups=groups, pairs=gaps)
    stated = printed("predictive_engagement", "figure 3.4")[BESIDE[row]].get((on, MEASURE))
    values = ", ".join(f"{_reached(odds, labels):.3f}" for odds in seeds)
    yield figure(
        row,
        MEASURE,
        found.areas[row],
        "ours",
        on=on,
        published=stated,
        beside=BESIDE[row] if stated else "",
        why=f"the middle of seeds {values}" if len(seeds) > 1 else "",
        signature=f"{row}|on:{data_digest(context.folder, CONVAI)}",
        gaps=(gap_to(LENGTH, found.differences[row, LENGTH]),),
    )
    if row == SVM:
        yield figure(LENGTH, MEASURE, found.areas[LENGTH], "baseline", on=on)
