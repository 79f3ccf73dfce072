"""Weighs the cosine with the last turn beside the networks of the relevance model.

    python -m grice_research.recipes.relevance.stack --data ../shared/data [--write]

The networks learn how their corpora answer, and rank replies of other corpora worse than the plain
cosine does. Here both stand in one sum, with weights that are not negative, fitted on what people
said of single replies in corpora that may train. The corpora weigh alike; each is judged by weights
that were fitted without it. Scale and shift are those of true against random replies on held-out
conversations, so that 0.5 stays what the card says. ``--write`` changes the shipped model.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import rankdata, spearmanr

from grice.models.embedded import EmbeddedGenerator
from grice.models.folder import open_folder, shipped_models
from grice.models.loader import ModelLoader
from grice.models.protocols import Pair
from grice.models.ranker import FluencyModel, FluentSettings, PairHead, PairSettings
from grice.numeric import logits
from grice.stats import compare_correlations
from grice_research.benches.breakdowns import is_validation
from grice_research.places import work_folder
from grice_research.recipes.common import (
    StoredEncoder,
    VectorStore,
    auc,
    parser_of,
    rows_of,
    update_card,
)
from grice_research.recipes.dialogue.weigh import trials
from grice_research.recipes.relevance.corpora import (
    evaluated_texts,
    normalise,
    read_dialogues,
    redial_windows,
)
from grice_research.training.logistic import fit_logistic
from grice_research.training_texts import record_texts

Floats = NDArray[np.float64]

WORK = work_folder("relevance")
TURNS = 4
COLUMNS = ("networks", "cosine with the last turn", "cosine with the history", "fluency")
TOGETHER = {"dbdc3 cic": "convai2017"}  # corpora of the same bots, left out together
DECAY = 0.6
RIDGE = 0.02
SURE = 1e-6
COMMAND = "python -m grice_research.recipes.relevance.stack --data ../shared/data --write"


class Reply(NamedTuple):
    corpus: str
    group: str
    pair: Pair
    rating: float


def rated_replies(data: Path) -> list[Reply]:
    """Return every judged reply whose text stands in no evaluated set."""
    evaluated = evaluated_texts(data)
    replies = (*_dbdc3(data), *_ab_redial(data), *_convai2017(data))
    return [
        reply
        for reply in replies
        if reply.pair.left and normalise(reply.pair.right) not in evaluated
    ]


def _dbdc3(data: Path) -> Iterator[Reply]:
    for row in rows_of(data / "dbdc3/dbdc3_dev.jsonl.gz"):
        if is_validation(row["id"]):
            continue
        texts = [" ".join(turn["text"].split()) for turn in row["turns"]]
        for label in row["labels"]:
            place = label["turn"]
            votes = label["O"] + label["T"] + label["X"]
            pair = Pair(tuple(texts[max(0, place - TURNS) : place]), texts[place])
            if pair.right:
                rating = 1 - (label["X"] + label["T"] / 2) / votes
                yield Reply(f"dbdc3 {row['system']}", row["id"], pair, rating)


def _ab_redial(data: Path) -> Iterator[Reply]:
    for talk, (*before, reply), window in redial_windows(data):
        if reply and window["relevance"]:
            rating = float(np.mean(window["relevance"]))
            yield Reply("ab_redial", talk, Pair(tuple(before), reply), rating)


def _convai2017(data: Path) -> Iterator[Reply]:
    for dialogue in read_dialogues(data):
        if dialogue.source == "convai2017" and dialogue.held_out:
            for message in dialogue.rated:
                pair = Pair(message.history, message.text)
                yield Reply("convai2017", dialogue.id, pair, float(message.good))


class Judges(NamedTuple):
    """Models of the columns; the networks without any cosine."""

    encoder: StoredEncoder
    head: PairHead
    fluency: FluencyModel

    @classmethod
    def shipped(cls, pairs: Sequence[Pair]) -> Judges:
        """Return those of the package, with the vectors of some pairs; what is new is kept."""
        texts = {text for pair in pairs for text in (*pair.left, pair.right)}
        encoder = StoredEncoder(texts, VectorStore(WORK / "vectors"), VectorStore(WORK / "stacked"))
        opened, below = open_folder("relevance"), open_folder("dialogue")
        head = PairHead(opened, PairSettings(decay=DECAY), encoder)
        model = ModelLoader().load("builtin:dialogue", EmbeddedGenerator)
        return cls(encoder, head, FluencyModel(below, model))

    def columns(self, pairs: Sequence[Pair]) -> Floats:
        """Return what :data:`COLUMNS` names, shape ``(n, 4)``."""
        odds = logits(np.array(self.head.classify(pairs)), SURE)
        last, whole = zip(*map(self._cosines, pairs), strict=True)
        nats = [-nats for nats in self.fluency.disfluency([pair.right for pair in pairs])]
        return np.stack([odds, last, whole, nats], axis=1).astype(np.float64)

    def _cosines(self, pair: Pair) -> tuple[float, float]:
        *left, right = self.encoder.encode([*pair.left, pair.right])
        weights = DECAY ** np.arange(len(left) - 1, -1, -1)
        whole = (np.stack(left) * weights[:, None]).sum(axis=0)
        return float(left[-1] @ right), float(whole @ right / max(SURE, np.linalg.norm(whole)))


def fitted(columns: Floats, ratings: Floats, corpora: NDArray[np.str_]) -> Floats:
    """Return weights, none negative, of the columns in standard deviations.

    Least squares on the ranks within each corpus; each corpus weighs as much as any other.
    """
    target, weight = np.zeros(len(ratings)), np.zeros(len(ratings))
    for corpus in np.unique(corpora):
        rows = corpora == corpus
        ranks = rankdata(ratings[rows])
        target[rows] = (ranks - ranks.mean()) / ranks.std()
        weight[rows] = 1 / rows.sum()

    def loss(solution: Floats) -> tuple[float, Floats]:
        gap = columns @ solution - target
        value = float((weight * gap**2).sum() + RIDGE * (solution**2).sum())
        return value, 2 * columns.T @ (weight * gap) + 2 * RIDGE * solution

    start = np.full(columns.shape[1], 0.1)
    bounds = [(0, None)] * columns.shape[1]
    return np.asarray(minimize(loss, start, jac=True, bounds=bounds).x)


def left_out(columns: Floats, replies: Sequence[Reply]) -> Iterator[dict[str, Any]]:
    """Yield of each corpus how the sum ranks that was fitted without it, beside its parts."""
    corpora = np.array([reply.corpus for reply in replies])
    unit = np.array([TOGETHER.get(name, name) for name in corpora])
    ratings = np.array([reply.rating for reply in replies])
    groups = np.array([reply.group for reply in replies])
    for corpus in np.unique(corpora):
        out = unit == TOGETHER.get(corpus, corpus)
        weights = fitted(columns[~out], ratings[~out], corpora[~out])
        rows = np.flatnonzero(corpora == corpus)
        stacked = columns[rows] @ weights

        pair = {"sum": stacked, "cosine": columns[rows, 1]}
        compared = compare_correlations(
            pair, ratings[rows], kind="spearman", groups=groups[rows], baseline="cosine"
        )
        gap = compared.comparisons[0].difference
        yield {
            "left out": str(corpus),
            "n": len(rows),
            "networks": _rank(columns[rows, 0], ratings[rows]),
            "cosine": _rank(columns[rows, 1], ratings[rows]),
            "sum": _rank(stacked, ratings[rows]),
            "sum less cosine": [round(float(x or 0), 3) for x in (gap.value, gap.low, gap.high)],
            "weights": [round(float(weight), 3) for weight in weights],
        }


def _rank(values: Floats, ratings: Floats) -> float:
    return round(float(spearmanr(values, ratings)[0]), 3)


def settings_of(weights: Floats, columns: Floats, truth: Floats) -> tuple[float, FluentSettings]:
    """Return the weight of the cosine beside the networks, and scale and shift of the whole."""
    cosine, fluency = map(float, weights[1:] / weights[0])
    both = columns[:, 0] + cosine * columns[:, 1] + fluency * columns[:, 3]
    for name, values in (("networks", columns[:, 0]), ("sum", both), ("cosine", columns[:, 1])):
        print(json.dumps({"true against random": name, "area": round(auc(values, truth), 4)}))
    (scale,), shift = fit_logistic(both[:, None], truth, penalties=1e-6)
    rounded = (round(value, 4) for value in (scale, scale * fluency, shift))
    return round(cosine, 2), FluentSettings(*rounded)


def write(
    cosine: float, weighed: FluentSettings, replies: Sequence[Reply],
    lines: Sequence[dict[str, Any]],
) -> None:  # fmt: skip
    """State the weights in the card of the shipped model with what they reach; networks stay."""
    folder = shipped_models()["relevance"]
    card = open_folder(folder).card
    settings = {**card.settings, "weight_cosine": cosine, **msgspec.structs.asdict(weighed)}
    texts = [text for reply in replies for text in (*reply.pair.left, reply.pair.right)]
    update_card(folder, files=card.files, settings=settings, quality=map(_left_out, lines))
    record_texts(folder, texts, kind="chosen")


def _left_out(line: dict[str, Any]) -> dict[str, Any]:
    value, low, high = line["sum less cosine"]
    note = f"sum {line['sum']}, networks {line['networks']}, cosine {line['cosine']}"
    measure = "Spearman less that of the cosine with the last turn"
    stated = {"on": f"left out: {line['left out']}", "measure": measure, "n": line["n"]}
    return {**stated, "value": value, "low": low, "high": high, "command": COMMAND, "note": note}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--write", action="store_true", help="change the shipped model")
    options = parser.parse_args()
    replies = rated_replies(options.data)
    held = [trial for trial in trials(options.data) if trial.kind in ("true", "random")]
    held_out = [Pair(trial.history, trial.reply) for trial in held]
    models = Judges.shipped([*(reply.pair for reply in replies), *held_out])
    raw = models.columns([reply.pair for reply in replies])
    spread = raw.std(axis=0)
    columns = (raw - raw.mean(axis=0)) / spread
    lines = []
    for line in left_out(columns, replies):
        print(json.dumps(line), flush=True)
        lines.append(line)
    ratings = np.array([reply.rating for reply in replies])
    corpora = np.array([reply.corpus for reply in replies])
    weights = fitted(columns, ratings, corpora)
    print(json.dumps(dict(zip(COLUMNS, weights.round(3).tolist(), strict=True))))
    # The history's cosine has no weight beside that of the last turn, and is not read.
    truth = np.array([float(trial.label) for trial in held])
    own = (weights / spread)[[0, 1, 3]]
    cosine, weighed = settings_of(own, models.columns(held_out), truth)
    print(cosine, weighed)
    if options.write:
        write(cosine, weighed, replies, lines)


if __name__ == "__main__":
    main()
