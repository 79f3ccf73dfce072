"""Measure each group of features of coherence by setting it to its average.

python -m grice_research.recipes.coherence.features --data ../shared/data

A feature of a turn is set to its average where the networks read it and in the conversation score.
The table has the figures of the model that ships, then differences to them, with 95 % intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from grice.data import Conversation
from grice.evaluation.datasets import known_sets, load_rated
from grice.evaluation.perturbed import EVERY
from grice.models import dialogue
from grice.models.dialogue import POOLED, WHOLE, DialogueHead
from grice.models.loader import ModelLoader
from grice.models.protocols import Dialogue
from grice.models.turn_features import (
    AGAIN,
    NUMBERS,
    ORDER,
    order_features,
    turn_features,
    verbatim_features,
)
from grice.stats import compare_correlations, mean
from grice.stats.estimate import Estimate
from grice_research.benches.damaged import read_pairs, talks_of
from grice_research.places import work_folder
from grice_research.recipes.coherence.data import rated
from grice_research.recipes.common import VectorStore, exact_encoder, parser_of

Floats = NDArray[np.float64]
SHIPPED = "model that ships"
TURN_GROUPS = {
    "cosines of turns": range(9),
    "shared words": range(9, 18),
    "lengths": range(18, 21),
    "questions": range(21, 24),
    "signs of confusion": range(24, 26),
    "neighbouring words": range(26, 28),
    "repeated sentences": range(28, 33),
    "persons": range(33, 43),
    "openings, closings, answers": range(43, NUMBERS),
    "order": range(NUMBERS, NUMBERS + ORDER),
}
"""Columns of :func:`turn_features` and :func:`order_features`."""
_SPEAKER = POOLED + 2 * (NUMBERS + ORDER)
_ALONE = WHOLE - 2 * dialogue.ALONE
_VERBATIM = _ALONE - 3 * AGAIN
WHOLE_GROUPS = {
    "first output": range(3),
    "second output": range(3, POOLED),
    "speakers": range(_SPEAKER, _VERBATIM),
    "verbatim repetition": range(_VERBATIM, _ALONE),
    "turns out of context": range(_ALONE, WHOLE),
}
"""Columns of :func:`dialogue_features` that turn features have no part in, except speakers."""
SETS = ("fed_dialogue:overall", "fed_dialogue:coherent", "conture_dialogue:overall",
        "dstc9_dialogue:overall")  # fmt: skip
ONE_IN = {"dstc9_dialogue": 10}  # conversations of a set of which one is read, to save time


def dialogue_of(talk: Conversation) -> Dialogue:
    spoken = [turn for turn in talk.turns if turn.text.strip()]
    return Dialogue(tuple(turn.speaker for turn in spoken), tuple(turn.text for turn in spoken))


def ablated(head: DialogueHead, store: VectorStore, talks: Sequence[Dialogue]) -> dict[str, Floats]:
    """Return the log odds of conversations by the group of features at its average."""
    store.add({text for talk in talks for text in talk.texts}, exact_encoder())
    table = store.table()
    vectors = [table[store.ids(talk.texts)] for talk in talks]
    numbers = []
    for each, talk in zip(vectors, talks, strict=True):
        plain = turn_features(each, *talk, head._bigrams)
        numbers.append(np.concatenate([plain, order_features(head._towers.fits(each))], axis=1))
    average = np.concatenate(numbers).mean(axis=0)

    def rows(columns: Sequence[int]) -> Floats:
        made = []
        for each, given, (speakers, texts) in zip(vectors, numbers, talks, strict=True):
            given = given.copy()
            given[:, columns] = average[columns]
            places = (each - head._mean) @ head._axes
            blocks = dialogue.turn_blocks(places, dialogue.own_turns(speakers))
            read = np.concatenate([blocks, given], axis=1)
            outputs = np.mean([net.forward_joint(read) for net in head._nets], axis=0)
            alone = head._alone.forward_joint(each * np.float32(np.sqrt(each.shape[1])))
            again = verbatim_features(speakers, texts)
            made.append(dialogue.dialogue_features(outputs, given, again, alone, speakers))
        return np.stack(made).astype(np.float64)

    whole = {SHIPPED: rows(range(0))} | {group: rows(part) for group, part in TURN_GROUPS.items()}
    for group, part in WHOLE_GROUPS.items():
        whole[group] = whole[SHIPPED].copy()
        whole[group][:, part] = whole[SHIPPED][:, part].mean(axis=0)
    return {group: each @ head._whole[:-1] + head._whole[-1] for group, each in whole.items()}


def measured(
    head: DialogueHead, store: VectorStore, data: Path
) -> Iterator[tuple[str, dict[str, Estimate]]]:
    """Yield each set, with the figure of what ships and the differences to it by group."""
    for on in SETS:
        name, aspect = on.split(":")
        whole, kept = load_rated(known_sets()[name], data), slice(None, None, ONE_IN.get(name))
        values = ablated(
            head, store, [dialogue_of(item.conversation) for item in whole.items[kept]]
        )
        yield f"{on}, Spearman", _correlations(values, whole.human(aspect)[kept])
    held = [talk for talk in rated(data) if talk.held_out]
    values = ablated(head, store, [Dialogue(talk.speakers, talk.turns) for talk in held])
    yield "convai2017 held out, Spearman", _correlations(values, [talk.quality for talk in held])
    pairs = read_pairs(data)
    talks = {talk.id: talk for talk in talks_of(pairs)}
    values = ablated(head, store, list(map(dialogue_of, talks.values())))
    place = {name: i for i, name in enumerate(talks)}
    for kind in (EVERY, *dict.fromkeys(pair.kind for pair in pairs)):
        chosen = [pair for pair in pairs if kind in (EVERY, pair.kind)]
        good, bad = ([place[pair[side].id] for pair in chosen] for side in (2, 3))
        right = {group: np.sign(each[good] - each[bad]) / 2 + 0.5 for group, each in values.items()}
        sources = [pair.source for pair in chosen]
        apart = {
            group: mean(each - right[SHIPPED], groups=sources, bounds=(-1, 1))
            for group, each in right.items()
        }
        apart[SHIPPED] = mean(right[SHIPPED], groups=sources, bounds=(0, 1))
        yield f"damaged, {kind}, share right", apart


def _correlations(values: dict[str, Floats], human: Sequence[float | None]) -> dict[str, Estimate]:
    columns = {group: each.tolist() for group, each in values.items()}
    compared = compare_correlations(columns, human, baseline=SHIPPED, permutations=99)
    return {SHIPPED: compared.estimates[SHIPPED]} | {
        each.first: each.difference for each in compared.comparisons
    }


def main() -> None:
    options = parser_of(__doc__).parse_args()
    head = ModelLoader().load("builtin:coherence", DialogueHead)
    store = VectorStore(work_folder("coherence") / "features")
    table = dict(measured(head, store, options.data))
    sets = list(table)
    for part in (sets[: len(SETS) + 2], sets[len(SETS) + 2 :]):
        print("\n| set to its average |", *(f"{on}, n {table[on][SHIPPED].n} |" for on in part))
        print("|---" * (len(part) + 1) + "|")
        for group in (SHIPPED, *WHOLE_GROUPS, *TURN_GROUPS):
            cells = (table[on][group] for on in part)
            print(f"| {group} |", *(f"{e.value:.3f} [{e.low:.3f}, {e.high:.3f}] |" for e in cells))


if __name__ == "__main__":
    main()
