"""What each set of perturbations is good for: DEAM's tables 4.2 to 4.5, with small networks.

    python -m grice_research.recipes.coherence.ablation --data ../shared/data --cache ~/.cache/grice

A network learns from one set of perturbations, without anybody's ratings, and its mean judgement
of the turns is set against people's ratings of the conversations of FED and DSTC9. Nothing is
chosen by them. Table 4.4 learns from Ubuntu's channels or from DailyDialog alone; the third corpus
of that table, EmpatheticDialogues, is not in the data. What the networks say of each
conversation is left in ``work/ablation_values.json`` for ``grice bench fed`` and ``dstc9``.
Those of DailyDialog are research weights: its licence lets nothing ship that learned from it.
"""

from __future__ import annotations

import argparse
import json
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from scipy.stats import spearmanr

from grice.evaluation.datasets import known_sets, load_rated
from grice.metrics.coherence.bigrams import Bigrams
from grice.metrics.coherence.dialogues import own_turns, turn_blocks
from grice.metrics.coherence.features import turn_features
from grice.metrics.coherence.towers import order_features
from grice.models.models import Models
from grice_research.recipes.coherence.arrays import Item, Maker, Vectors
from grice_research.recipes.coherence.cross import encoded
from grice_research.recipes.coherence.data import broken, intact
from grice_research.recipes.coherence.small import MOST, WORDED, small_nets
from grice_research.recipes.coherence.train import RELEVANCE, WORK, prepared, towers
from grice_research.recipes.relevance.vectors import VectorStore

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grice_research.recipes.coherence.arrays import Prepared
    from grice_research.recipes.coherence.fit import ThreadNet

OUT = Path(__file__).parent / "ablation.json"
SETS = {
    "mesgar": ("mesgar",),
    "vakulenko": ("vakulenko",),
    "dynaeval": ("dynaeval",),
    "deam": ("deam",),
    "all four": WORDED,
    **{f"without {left}": tuple(kind for kind in WORDED if kind != left) for left in WORDED},
    **{f"{kind} alone": (kind,) for kind in WORDED},
}
UBUNTU = {"vakulenko on Ubuntu": ("vakulenko",), "deam on Ubuntu": ("deam",)}
DAILY = {"mesgar on DailyDialog": ("mesgar",), "deam on DailyDialog": ("deam",)}
VALUES = WORK / "ablation_values.json"
TESTS = (("fed_dialogue", "coherent"), ("fed_dialogue", "overall"),
         ("dstc9_dialogue", "coherent"), ("dstc9_dialogue", "overall"))  # fmt: skip


class Test(NamedTuple):
    """The conversations of a set, as the networks read them, and people's ratings by aspect."""

    ids: list[str]
    read: list[NDArray[np.float32]]
    people: dict[str, NDArray[np.float64]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, help="folder of answers that were kept")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    given = prepared()
    tests = {name: _test(name, arguments, given) for name in dict.fromkeys(dict(TESTS))}
    ubuntu = _of_source("irc", given)
    table = {}
    by_set: dict[str, dict[str, list[float]]] = {name: {} for name in tests}
    daily = _dailydialog(arguments.data, given)
    for name, kinds in {**SETS, **UBUNTU, **DAILY}.items():
        nets = small_nets(daily if name in DAILY else given, name, kinds,
                          ubuntu if name in UBUNTU else ())  # fmt: skip
        values = {test: np.array([_values(net, rated_test.read) for net in nets])
                  for test, rated_test in tests.items()}  # fmt: skip
        table[name] = _row(values, tests)
        for test, each in values.items():
            by_set[test][name] = [round(float(value), 5) for value in each.mean(axis=0)]
        OUT.write_text(json.dumps(table, indent=1) + "\n", "utf-8")
        VALUES.write_text(json.dumps({test: {"ids": rated_test.ids, "sets": by_set[test]}
                                      for test, rated_test in tests.items()}), "utf-8")  # fmt: skip
        print(name, {test: cell["spearman"] for test, cell in table[name].items()}, flush=True)


def _of_source(source: str, given: Prepared) -> frozenset[int]:
    """Return the numbers of the conversations of a corpus that the networks may learn from."""
    made = pickle.loads((WORK / "samples.pickle").read_bytes())
    shown = {item.twin for item in given.items["train"]}
    return frozenset(i for i, sample in enumerate(made["train"])
                     if sample.source == source and i in shown)  # fmt: skip


def _dailydialog(data: Path, given: Prepared) -> Prepared:
    """Return conversations of DailyDialog with their twins in the place of what trains."""
    whole = [
        dialogue for dialogue in intact(data, research="dailydialog") if not dialogue.held_out
    ][:MOST]
    kinds = tuple(dict.fromkeys(kind for kinds_of_set in DAILY.values() for kind in kinds_of_set))
    twins = broken(whole, kinds, 300)
    stores = [VectorStore(RELEVANCE), *map(VectorStore, sorted(WORK.glob("vectors?")))]
    make = Maker(encoded(Vectors.of(stores), [*whole, *twins]), towers())
    bigrams = Bigrams.load(WORK / "bigrams.npz")
    number = {dialogue.id: i for i, dialogue in enumerate(whole)}
    items: list[Item] = []
    turns: list[NDArray[np.float32]] = []
    for sample in (*whole, *twins):
        item = make.sample(sample, bigrams, number[sample.id])
        start = sum(map(len, turns))
        turns.append((make.vectors.rows[item.rows].astype(np.float32) - given.mean) @ given.axes)
        items.append(item._replace(rows=np.arange(start, start + len(item.rows))))
    return given._replace(items={**given.items, "train": items}, turns=np.concatenate(turns))


def _test(name: str, arguments: argparse.Namespace, given: Prepared) -> Test:
    rated = load_rated(known_sets()[name], arguments.data)
    models = Models(mode="exact", workers=1, cache=arguments.cache)
    encoder = models.open("bundle:encoder")
    bigrams, sides = Bigrams.load(WORK / "bigrams.npz"), towers()
    read = []
    for item in rated.items:
        turns = [turn for turn in item.conversation.turns if turn.text.strip()]
        texts, speakers = [turn.text for turn in turns], [turn.speaker for turn in turns]
        vectors = np.stack(encoder.encode(texts))  # type: ignore[attr-defined]
        blocks = turn_blocks((vectors - given.mean) @ given.axes, own_turns(speakers))
        plain = turn_features(vectors, speakers, texts, bigrams)
        read.append(np.concatenate([blocks, plain, order_features(sides.fits(vectors))], axis=1))
    people = {aspect: np.array(rated.human(aspect), float) for of, aspect in TESTS if of == name}
    models.close()
    return Test([item.conversation.id for item in rated.items], read, people)


def _row(
    by_set: dict[str, NDArray[np.float64]], tests: dict[str, Test]
) -> dict[str, dict[str, object]]:
    """Return for each rating the Spearman correlation of the nets' mean, and of each."""
    row = {}
    for name, aspect in TESTS:
        values, people = by_set[name], tests[name].people[aspect]
        joined = values.mean(axis=0)
        draw = np.random.default_rng(0)
        spread = [spearmanr(joined[rows], people[rows]).statistic
                  for rows in draw.integers(len(people), size=(500, len(people)))]  # fmt: skip
        row[f"{name}:{aspect}"] = {
            "spearman": round(float(spearmanr(joined, people).statistic), 3),
            "low": round(float(np.quantile(spread, 0.025)), 3),
            "high": round(float(np.quantile(spread, 0.975)), 3),
            "seeds": [round(float(spearmanr(value, people).statistic), 3) for value in values],
            "n": len(people),
        }
    return row


@torch.no_grad()
def _values(net: ThreadNet, read: list[NDArray[np.float32]]) -> list[float]:
    weight = net.whole.weight[0]
    outputs = net(torch.from_numpy(np.concatenate(read)))
    sizes = [len(dialogue) for dialogue in read]
    logits = net.conversations(outputs, sizes)[:, :3] @ weight
    # Seeds differ in scale: each is brought to the same spread before they are joined.
    return ((logits - logits.mean()) / logits.std()).tolist()


if __name__ == "__main__":
    main()
