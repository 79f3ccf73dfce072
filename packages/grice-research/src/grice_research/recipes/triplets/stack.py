"""Tries cheap ways to join the research networks of a fold, on the dialogues that validate.

python -m grice_research.recipes.triplets.stack [--fold 1]      # behind pack_research

Each way is fitted on nine tenths of the dialogues and judged on the rest, in turn; printed is how
much it differs from the mix that ships with the recipe, with an interval over dialogues. The test
fold takes no part.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from grice.models.models import Models
from grice_research.recipes.options import parser_of
from grice_research.recipes.triplets.data import WORK
from grice_research.recipes.triplets.stack_rows import Asked, Held, questions, read_held
from grice_research.triplets.cider import load_cider
from grice_research.triplets.head_conditioned import NO_OVERLAP
from grice_research.triplets.models import TaskModels, open_folder
from grice_research.triplets.scores import average_precision, score_span
from grice_research.triplets.tasks import CANDIDATES

DRAWS = 500
"""Draws of dialogues for intervals."""
FOLDS = 10


def log_softmax(values: np.ndarray) -> np.ndarray:
    shifted = values - values.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def fitted(features: np.ndarray, gold: np.ndarray, decay: float) -> np.ndarray:
    """Return the weights of a conditional logit: of each row's options one is right.

    Args:
        features: Shape ``(rows, options, features)``.
        gold: The right option of each row.
        decay: What squared weights cost.
    """
    rows = np.arange(len(gold))

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        likely = log_softmax(features @ weights)
        wrong = np.exp(likely)
        wrong[rows, gold] -= 1
        slope = np.einsum("ij,ijk->k", wrong, features) + 2 * decay * weights
        return -likely[rows, gold].sum() + decay * (weights @ weights), slope

    return minimize(loss, np.zeros(features.shape[2]), jac=True, method="L-BFGS-B").x


def crossed(
    features: np.ndarray,
    gold: np.ndarray,
    groups: np.ndarray,
    decay: float,
    taught: np.ndarray | None = None,
) -> np.ndarray:
    """Return scores of options, each by weights fitted on other dialogues, on rows ``taught``."""
    learned = np.ones(len(gold), bool) if taught is None else taught
    spread = features.reshape(-1, features.shape[2]).std(axis=0) + 1e-6
    scaled = features / spread
    names = np.unique(groups)
    part = np.random.default_rng(0).permutation(len(names)) % FOLDS
    of = dict(zip(names.tolist(), part.tolist(), strict=True))
    parts = np.array([of[group] for group in groups.tolist()])
    out_of_fold = np.zeros(features.shape[:2])
    for fold in range(FOLDS):
        rows = (parts != fold) & learned
        weights = fitted(scaled[rows], gold[rows], decay)
        out_of_fold[parts == fold] = scaled[parts == fold] @ weights
    return out_of_fold


def compare(
    name: str,
    groups: np.ndarray,
    base: float,
    value: float,
    difference: Callable[[np.ndarray], float],
) -> None:
    """Print a value, and how far it lies from the mix that ships."""
    names = np.unique(groups)
    rows = {dialogue: np.flatnonzero(groups == dialogue) for dialogue in names}
    draw = np.random.default_rng(0)
    drawn = [
        difference(np.concatenate([rows[dialogue] for dialogue in draw.choice(names, len(names))]))
        for _ in range(DRAWS)
    ]
    low, high = np.quantile(drawn, [0.025, 0.975])
    print(
        f"  {name}: {value:.4f}, {value - base:+.4f} [{low:+.4f}, {high:+.4f}] n {len(groups)}",
        flush=True,
    )


def mixed(numbers: dict[str, np.ndarray], rows: np.ndarray, task: int, share: float) -> np.ndarray:
    """Return the numbers that ship with the recipe: frozen heads and joint networks."""
    frozen = (numbers["context"][rows, task] + numbers["both"][rows, task]) / 2
    return (1 - share) * frozen + share * numbers["joint"][rows, task]


def entailment(held: Held, models: TaskModels) -> None:
    """Print average precision of ways to join the odds of entailment."""
    rows, relation, gold = held.nli[:, 0], held.nli[:, 1], held.nli[:, 2] == 1
    every = np.arange(len(rows))

    def of(name: str, task: int) -> np.ndarray:
        return held.numbers[name][rows, task, relation]

    base = mixed(held.numbers, rows, 0, models.shares[0])[every, relation]
    networks = [of(name, 0) for name in ("context", "both", "joint")]
    named = [
        log_softmax(held.numbers[name][rows, 2])[every, relation]
        for name in ("context", "both", "joint")
    ]
    overlap = [np.maximum(held.overlap, NO_OVERLAP)]
    numbers = list(held.structure[rows].T)

    def stacked(columns: list[np.ndarray], decay: float) -> np.ndarray:
        rows_with_bias = np.stack([*columns, np.ones(len(rows))], axis=1)
        features = np.stack([np.zeros_like(rows_with_bias), rows_with_bias], axis=1)
        class_odds = crossed(features, gold.astype(int), held.of_nli, decay)
        return class_odds[:, 1] - class_odds[:, 0]

    def ap(which: np.ndarray, odds: np.ndarray) -> float:
        return average_precision(gold[which].tolist(), odds[which].tolist())

    start = ap(every, base)
    print(f"entailment, average precision: {start:.4f} n {len(rows)}")
    for name, odds in {
        "frozen heads alone": (of("context", 0) + of("both", 0)) / 2,
        "tuned MiniLM alone": of("tuned", 0),
        "networks on MPNet alone": of("mpnet", 0),
        "networks on SmolLM2 alone": of("smollm2", 0),
        f"and the reader's answers, {models.overlap_weights[0]}": base
        + models.overlap_weights[0] * overlap[0],
        "stacked: networks": stacked(networks, 5.0),
        "stacked: networks, relation, answers": stacked(networks + named + overlap, 5.0),
        "stacked: the same and structure": stacked(networks + named + overlap + numbers, 20.0),
    }.items():
        compare(
            name,
            held.of_nli,
            start,
            ap(every, odds),
            lambda which, odds=odds: ap(which, odds) - ap(which, base),
        )


def options(held: Held, models: TaskModels) -> None:
    """Print accuracy of ways to join the scores of options."""
    four, relation, label = held.choice[:, :4], held.choice[:, 4], held.choice[:, 5]
    every = np.arange(len(four))

    def of(name: str, task: int) -> np.ndarray:
        return held.numbers[name][four, task][every, :, relation]

    base = mixed(held.numbers, four, 1, models.shares[1])[every, :, relation]
    networks = [of(name, 1) for name in ("context", "both", "joint")]
    sure = [of(name, 0) for name in ("context", "both", "joint")]
    numbers = list(np.moveaxis(held.structure[four], 2, 0))

    def stacked(columns: list[np.ndarray], decay: float) -> np.ndarray:
        return crossed(np.stack(columns, axis=2), label, held.of_choice, decay)

    hits = base.argmax(axis=1) == label
    print(f"choice, accuracy: {hits.mean():.4f} n {len(label)}")
    for name, scores in {
        "frozen heads alone": (of("context", 1) + of("both", 1)) / 2,
        "tuned MiniLM alone": of("tuned", 1),
        "networks on MPNet alone": of("mpnet", 1),
        "networks on SmolLM2 alone": of("smollm2", 1),
        f"and the reader's answers, {models.overlap_weights[1]}": base
        + models.overlap_weights[1] * held.overlap_four,
        "stacked: networks": stacked(networks, 5.0),
        "stacked: networks, entailment, answers": stacked(
            [*networks, *sure, held.overlap_four], 5.0
        ),
        "stacked: the same and structure": stacked(
            [*networks, *sure, held.overlap_four, *numbers], 60.0
        ),
    }.items():
        right = scores.argmax(axis=1) == label
        compare(
            name,
            held.of_choice,
            float(hits.mean()),
            float(right.mean()),
            lambda which, right=right: float(right[which].mean() - hits[which].mean()),
        )


def named_relations(held: Held, models: TaskModels) -> None:
    """Print accuracy of ways to join the networks that name a relation."""
    true = held.nli[:, 2] == 1
    rows, gold, groups = held.nli[true, 0], held.nli[true, 1], held.of_nli[true]
    raw = {name: held.numbers[name][rows, 2] for name in held.numbers}
    base = mixed(held.numbers, rows, 2, models.shares[2])
    likely = [log_softmax(raw[name]) for name in ("context", "both", "joint", "alone")]
    sure = [held.numbers[name][rows, 0] for name in ("context", "both", "joint")]
    prior = np.broadcast_to(np.eye(base.shape[1]), (len(rows), *np.eye(base.shape[1]).shape))
    hits = base.argmax(axis=1) == gold
    print(f"relation, accuracy: {hits.mean():.4f} n {len(gold)}")
    for name, scores in {
        "frozen heads alone": (raw["context"] + raw["both"]) / 2,
        "tuned MiniLM alone": raw["tuned"],
        "networks on MPNet alone": raw["mpnet"],
        "networks on SmolLM2 alone": raw["smollm2"],
        "and without context, 0.1": 0.9 * log_softmax(base) + 0.1 * likely[3],
        "stacked: networks, calibrated": crossed(np.stack(likely, 2), gold, groups, 1.0),
        "stacked: networks, each relation's bias": crossed(
            np.concatenate([np.stack(likely, 2), prior], 2), gold, groups, 5.0
        ),
        "stacked: the same and entailment": crossed(
            np.concatenate([np.stack([*likely, *sure], 2), prior], 2), gold, groups, 5.0
        ),
    }.items():
        right = scores.argmax(axis=1) == gold
        compare(
            name,
            groups,
            float(hits.mean()),
            float(right.mean()),
            lambda which, right=right: float(right[which].mean() - hits[which].mean()),
        )


def answers(asked: list[Asked], models: TaskModels) -> None:
    """Print F1 by the released rule of ways to choose among candidates."""
    groups = np.array([question.dialogue for question in asked])
    shared = [
        np.array([[score_span(a, b).f1 for b in question.answers] for a in question.answers])
        for question in asked
    ]
    sure, good = models.counted[1], models.counted[0]
    joined = [
        question.numbers[:, 0]
        + sure * question.numbers[:, 1]
        + good * question.numbers[:, 2]
        + models.rerank * (question.numbers[:, 4] + question.numbers[:, 5])
        for question in asked
    ]

    def measured(chosen: list[int]) -> np.ndarray:
        scored = [
            score_span(question.gold, question.answers[i])
            for question, i in zip(asked, chosen, strict=True)
        ]
        return np.array([[span_score.f1, span_score.bucket == "EM"] for span_score in scored])

    def expected(scores: list[np.ndarray], sharp: float, likely: float) -> list[int]:
        chosen = []
        for odds, alike in zip(scores, shared, strict=True):
            chances = np.exp(log_softmax(sharp * odds))
            chosen.append(int(np.argmax(chances @ alike + likely * chances)))
        return chosen

    has = np.array([question.gold in question.answers for question in asked])
    features = np.stack(
        [np.resize(question.numbers, (CANDIDATES, question.numbers.shape[1])) for question in asked]
    )
    gold = np.array(
        [
            question.answers.index(question.gold) if question.gold in question.answers else 0
            for question in asked
        ]
    )
    scores = crossed(features, gold, groups, 10.0, has)
    stacked = [odds[: len(each.answers)] for odds, each in zip(scores, asked, strict=True)]
    first = measured([int(odds.argmax()) for odds in joined])
    print(
        f"spans, F1: {first[:, 0].mean():.4f}, EM {first[:, 1].mean():.4f} n {len(asked)}; the "
        f"answer is among {CANDIDATES} candidates in {has.mean():.3f}"
    )
    ways = {
        f"most expected F1, sharpness {sharp}, and {likely} times the chance": expected(
            joined, sharp, likely
        )
        for sharp in (0.7, 1.0, 1.5)
        for likely in (0.0, 0.5, 1.0, 2.0)
    }
    for name, chosen in {
        **ways,
        "reader alone": [int(question.numbers[:, 0].argmax()) for question in asked],
        "stacked: numbers of both networks, length": [int(odds.argmax()) for odds in stacked],
        "... most expected F1": expected(stacked, 1.0, 0.0),
    }.items():
        other = measured(chosen)
        for column, measure in enumerate(("F1", "EM")):
            compare(
                f"{name}, {measure}",
                groups,
                float(first[:, column].mean()),
                float(other[:, column].mean()),
                lambda which, other=other, column=column: float(
                    (other - first)[which, column].mean()
                ),
            )


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--fold", type=int, default=1)
    options_ = parser.parse_args()
    cider = load_cider(options_.data / "cider")
    kept = dict(np.load(WORK / "rows.npz"))
    names = [str(name) for name in kept["names"]]
    chosen = np.random.default_rng(7).random(len(names)) < 1 / 8
    held = {
        name
        for name, used in zip(names, chosen, strict=True)
        if used and cider.folds[name] != options_.fold
    }
    encoder = Models(mode="exact", workers=1, cache=None).open("bundle:encoder")
    models = open_folder(WORK / f"fold_{options_.fold}", encoder)
    rows = read_held(kept, held, cider, models, options_.fold)
    entailment(rows, models)
    options(rows, models)
    named_relations(rows, models)
    answers(questions(held, cider, models), models)


if __name__ == "__main__":
    main()
