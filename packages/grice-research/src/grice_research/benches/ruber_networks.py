"""RUBER's unreferenced network with recurrent cells, trained again (table 2.3).

Two bidirectional GRUs read query and reply; their largest states, and the quadratic feature of
both, go through layers of 256, 512 and 128. Word vectors are learned, for word2vec's are not at
hand; one layer with half the paper's states and three epochs take some minutes of one core.
Pairs are those of DailyDialog's second part, without texts of the rated pairs; a false reply is
drawn for each in every epoch. The epoch of the least validation loss is kept, of three seeds the
middle one is shown. Trivial are the cosine with the query and the number of words, the shorter the
better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from grice.stats.inputs import Floats
from grice_research.benches._recurrent import (
    Pair,
    Pairs,
    read_pair,
    recurrent_sides,
    torch_module,
)
from grice_research.benches._turns import marked_lines
from grice_research.context import (
    MEASURES,
    BenchContext,
    Correlation,
    data_digest,
    measured,
    paired_difference,
)
from grice_research.figures import Figure, figure, gap_to, middle
from grice_research.published import printed
from grice_research.recipes.common import Steps, state_of
from grice_research.training_texts import normalised

if TYPE_CHECKING:
    import torch

TITLE = "RUBER's unreferenced network with recurrent cells, trained again"
PAPER = "Ghazarian et al., NeuralGen 2019, table 2.3"

RATED, ASPECT = "replies_generated", "overall"
FILES = {part: f"dailydialog/{part}.jsonl.gz" for part in ("train", "valid")}
LEARNED = {"train": 22_000, "valid": 2_100}  # pairs of the second part
LOSSES = {"ranking": "word2vec, Bi-RNN, ranking", "cross-entropy": "word2vec, Bi-RNN, cross-ent."}
TRIVIAL = {"cosine_last_turn": ("cosine_last_turn", 1.0), "shorter reply": ("log_length", -1.0)}
CORRELATIONS: tuple[Correlation, ...] = ("pearson", "spearman")
WIDTH, STATES, LONGEST, HIDDEN = 64, 64, 20, (256, 512, 128)
EPOCHS, BATCH, MARGIN, SEEDS = 3, 128, 0.5, (0, 1, 2)


def measure(context: BenchContext) -> Iterator[Figure]:
    """Yield both losses beside the printed rows and trivial scores of the same pairs."""
    rated = context.rated(RATED)
    talks = [item.conversation.turns for item in rated.items]
    asked = [read_pair(turns[0].text, turns[-1].text, True, "") for turns in talks]
    seen = {turn.text for turns in talks for turn in turns}
    seen |= {text for turns in talks for text in turns[-1].references}
    train, valid = (read_pairs(context.folder, part, seen) for part in FILES)
    trivial = {
        row: [sign * (value or 0.0) for value in context.metric_values(name, RATED)]
        for row, (name, sign) in TRIVIAL.items()
    }
    on = f"{RATED}:{ASPECT}"
    for row, values in trivial.items():
        for what in CORRELATIONS:
            yield figure(row, what, measured(what, values, rated, ASPECT), "baseline", on=on)
    files = "+".join(data_digest(context.folder, file) for file in FILES.values())
    for loss, row in LOSSES.items():
        seeds = [scores(fit(train, valid, loss, seed), asked) for seed in SEEDS]
        yield from _rows(context, row, seeds, trivial, f"{row}|{files}|on:{rated.fingerprint}")


def read_pairs(folder: Path, part: str, seen: set[str]) -> list[Pair]:
    """Return the last pairs of a part of DailyDialog, each once, none with a text that is seen."""
    evaluated = set(map(normalised, seen))
    pairs: dict[tuple[str, str], str] = {}
    for row in marked_lines(folder, FILES[part]):
        texts = [turn["text"] for turn in row["turns"]]
        for pair in zip(texts[::2], texts[1::2], strict=False):
            if evaluated.isdisjoint(map(normalised, pair)):
                pairs.setdefault(pair, row["id"])
    listed = list(pairs.items())[-LEARNED[part] :]
    return [read_pair(query, reply, True, group) for (query, reply), group in listed]


def fit(train: Pairs, valid: Pairs, loss: str, seed: int) -> torch.nn.ModuleDict:
    """Return a network of the epoch with the least loss on the validation pairs."""
    library = torch_module()
    nn = library.nn
    library.manual_seed(seed)
    draw = np.random.default_rng(seed)
    sides = recurrent_sides(train, width=WIDTH, states=STATES, longest=LONGEST)
    layers, inputs = [], 4 * STATES + 1
    for hidden in HIDDEN:
        layers += [nn.Linear(inputs, hidden), nn.Tanh()]
        inputs = hidden
    judge = nn.Sequential(*layers, nn.Linear(inputs, 1))
    quadratic = nn.Bilinear(2 * STATES, 2 * STATES, 1, bias=False)
    network = nn.ModuleDict({"sides": sides, "quadratic": quadratic, "judge": judge})
    step = Steps(network.parameters(), 1e-3, 0.0)

    def losses(pairs: Pairs, others: Pairs) -> torch.Tensor:
        query, reply = sides(pairs)
        right, wrong = (
            _odds(network, query, each) for each in (reply, sides.read("reply", others))
        )
        if loss == "ranking":
            return (MARGIN - right.sigmoid() + wrong.sigmoid()).clamp(min=0).mean()
        entropy = nn.functional.binary_cross_entropy_with_logits
        return entropy(right, library.ones_like(right)) + entropy(wrong, library.zeros_like(wrong))

    against = [valid[i] for i in draw.permutation(len(valid)).tolist()]
    best, kept = np.inf, state_of(network)
    for _ in range(EPOCHS):
        false = draw.integers(len(train), size=len(train))
        for rows in np.array_split(draw.permutation(len(train)), len(train) // BATCH + 1):
            step(losses([train[i] for i in rows], [train[i] for i in false[rows]]))
        with library.no_grad():
            parts = [losses(valid[i : i + BATCH], against[i : i + BATCH]).item()
                     for i in range(0, len(valid), BATCH)]  # fmt: skip
        if np.mean(parts) < best:
            best, kept = float(np.mean(parts)), state_of(network)
    network.load_state_dict(kept)
    return network


def scores(network: torch.nn.ModuleDict, pairs: Pairs) -> Floats:
    """Return the score of each pair, 0 to 1."""
    with torch_module().no_grad():
        return np.asarray(_odds(network, *network["sides"](pairs)).sigmoid().double().numpy())


def _odds(network: torch.nn.ModuleDict, query: torch.Tensor, reply: torch.Tensor) -> torch.Tensor:
    read = torch_module().cat([query, network["quadratic"](query, reply), reply], dim=1)
    odds: torch.Tensor = network["judge"](read)[:, 0]
    return odds


def _rows(
    context: BenchContext, row: str, seeds: Sequence[Floats], trivial: dict[str, list[float]],
    signature: str,
) -> Iterator[Figure]:  # fmt: skip
    """Yield the measures of the middle seed, with the gaps of correlations."""
    rated, on = context.rated(RATED), f"{RATED}:{ASPECT}"
    for what in MEASURES:
        found = [measured(what, values.tolist(), rated, ASPECT) for values in seeds]
        place, told = middle(found)
        gaps = (
            gap_to(name, paired_difference(kind, seeds[place].tolist(), values, rated, ASPECT))
            for name, values in trivial.items()
            for kind in CORRELATIONS
            if kind == what
        )
        yield figure(
            f"GRU, learned vectors, {row.rpartition(', ')[2]}",
            what,
            found[place],
            "ours",
            on=on,
            published=printed("ruber", "table 2.3")[row][on, what],
            beside=row,
            why=told,
            signature=signature,
            gaps=tuple(gaps),
        )
