"""Measure swap detection where no entity of a pair was trained on: five folds by entity.

    python -m grice_research.recipes.situated.folds --data ../shared/data

The entities of the released statements are parted into five, three times over; an entity is in one
part in all its forms (case, article, plural, the usual other names of the United States, Britain
and the world wars). Tested are the released pairs, of train, dev and test, all of whose context
entities lie in one part (``--held 2``: in two parts that are left out at once, which tests most
pairs): how often a pair stands above itself with the first two contexts exchanged. For each part
the form of places and times is fitted as it ships (``fit.py``, but for a fixed number of epochs:
nothing is chosen) on the facts in whose sentences no tested entity stands, as context or otherwise.
Forms are kept in ``work/folds``, vectors in ``work/memo``: what is there is not made again.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from functools import cache
from itertools import chain, combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from grice.knowledge.plausibility import Bilinear
from grice.models.mlp import Mlp
from grice.models.models import Models
from grice.models.protocols import Encoder
from grice.stats.estimate import Estimate
from grice_research.benches._situatedgen import entities_in, with_entities
from grice_research.places import work_folder
from grice_research.recipes.situated.evaluate import as_quality
from grice_research.recipes.situated.fit import Form, Settings, packed_form, train
from grice_research.surface import sample_contexts
from grice_tasks.situatedgen.contrast import ContrastHead
from grice_tasks.situatedgen.records import CONTEXTS, Sample, read_samples
from grice_tasks.situatedgen.scores import mean_of_samples
from grice_tasks.situatedgen.trivial_outputs import swap_contexts
from grice_tasks.situatedgen.words import find_run, noun_lemma

WORK = work_folder("situated")
FOLDS, RANK = 5, 48
KINDS = ("", "GEO", "TEMP")
COMMAND = "python -m grice_research.recipes.situated.folds"
ONE = np.ones(2, np.float32)
OTHER_NAMES = {
    "us": "united state", "usa": "united state", "united state of america": "united state",
    "america": "united state", "uk": "united kingdom", "britain": "united kingdom",
    "great britain": "united kingdom", "wwii": "world war ii", "ww2": "world war ii",
    "world war two": "world war ii", "world war 2": "world war ii", "second world war":
    "world war ii", "wwi": "world war i", "ww1": "world war i", "world war one": "world war i",
    "first world war": "world war i", "nyc": "new york city",
}  # fmt: skip
Words = tuple[str, ...]


@cache
def lemmas(text: str) -> Words:
    """Return the words of a text in lower case and without endings of nouns."""
    bare = re.sub(r"['’]s\b|(?<=[a-z])\.(?=[a-z])|['’]", "", text.lower())
    return tuple(noun_lemma(word) for word in re.findall(r"\w+", bare))


def form_of(entity: str) -> Words:
    """Return what all forms of an entity have in common; empty if it has no word."""
    words = lemmas(entity)
    if words[:1] in (("the",), ("a",), ("an",)):
        words = words[1:]
    return tuple(OTHER_NAMES.get(" ".join(words), " ".join(words)).split())


class Facts(NamedTuple):
    """The training facts.

    Attributes:
        sentence: Vectors of the sentences without their entities.
        entity: Vectors of the entities.
        kind: 1 for times, 0 for places.
        who: A number for the entity of each, the same for all its forms.
        standing: The known entities that stand in each sentence.
    """

    sentence: torch.Tensor
    entity: torch.Tensor
    kind: np.ndarray
    who: np.ndarray
    standing: list[frozenset[Words]]


def read_facts(known: set[Words]) -> Facts:
    """Return the training facts; ``known`` are the entities of the released statements."""
    packed = np.load(WORK / "facts.npz")
    rows = [json.loads(line) for line in (WORK / "kept.jsonl").open(encoding="utf-8")]
    forms = [form_of(row[2]) for row in rows]
    first: dict[str, list[Words]] = {}
    for words in known | {tuple(name.split()) for name in OTHER_NAMES}:
        first.setdefault(words[0], []).append(words)
    standing = []
    for row in rows:
        tokens = lemmas(row[4])
        some = {
            w for token in set(tokens) for w in first.get(token, ()) if find_run(w, tokens) >= 0
        }
        standing.append(frozenset(form_of(" ".join(words)) for words in some))
    numbers = {words: i for i, words in enumerate(sorted(set(forms)))}
    return Facts(
        torch.from_numpy(packed["sentence"].astype(np.float32)),
        torch.from_numpy(packed["entity"].astype(np.float32)),
        packed["kind"], np.array([numbers[words] for words in forms]), standing,
    )  # fmt: skip


def contexts_of(sample: Sample) -> set[Words]:
    return {form_of(name) for name, _ in sample_contexts(sample)}


def folds(known: set[Words], seed: int) -> list[frozenset[Words]]:
    """Return the entities of the released statements in five parts."""
    every = sorted(known)
    random.Random(seed).shuffle(every)
    return [frozenset(every[k::FOLDS]) for k in range(FOLDS)]


def fit_fold(facts: Facts, held: frozenset[Words], seed: int, file: Path) -> Bilinear:
    """Return the form fitted without the facts in whose sentences a held-out entity stands."""
    if not file.is_file():
        kept = np.flatnonzero([held.isdisjoint(some) for some in facts.standing])
        torch.manual_seed(seed)
        form = Form(facts.sentence.shape[1], RANK)
        for loss in train(form, facts.sentence, facts.entity, facts.kind, (facts.who, kept),
                          seed, Settings()):  # fmt: skip
            last = loss
        print(f"{file.stem}: {len(kept):,} facts train, loss {last:.4f}", flush=True)
        file.parent.mkdir(exist_ok=True)
        packed_form(form).save(file)
    return Bilinear.load(file)


def hits_of(form: Bilinear, encoder: Encoder, samples: list[Sample]) -> list[float]:
    """Return for each sample whether it stands above itself with its contexts exchanged."""
    judge = ContrastHead(form, Mlp([(np.zeros((1, 1)), np.zeros(1))]), encoder, "")
    contexts = [sample_contexts(sample) for sample in samples]
    own = judge.margins([sample.statements for sample in samples], contexts)
    turned = [swap_contexts(sample.statements, sample.entities) for sample in samples]
    other = judge.margins([pair or ("", "") for pair in turned], contexts)
    return [float((a or 0.0) > (b or 0.0)) for a, b in zip(own, other, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--held", type=int, choices=(1, 2), default=1, help="parts left out at once"
    )
    arguments = parser.parse_args()
    folder = arguments.data / "situatedgen"
    torch.set_num_threads(1)
    models = Models(mode="exact", workers=1, cache=WORK / "memo")
    encoder = models.open("bundle:situated").encoder
    known = entities_in(folder)
    samples = [
        with_entities(sample, known)
        for sample in chain(
            *(read_samples(folder / f"{s}.jsonl.gz") for s in ("train", "dev", "test"))
        )
    ]
    samples = [sample for sample in samples if swap_contexts(sample.statements, sample.entities)]
    forms = {form_of(e.text) for some in known.values() for e in some if e.label in CONTEXTS} - {()}
    facts = read_facts(forms)
    print(f"{len(facts.who):,} facts, {len(samples):,} released pairs to exchange", flush=True)
    print("| seed | pairs | right | n |\n|---|---|---|---|")
    zero = np.zeros((facts.sentence.shape[1], 3), np.float32)
    cosine = Bilinear(zero, zero, cosine=ONE, scale=ONE, bias=0 * ONE, shared=1)
    plain = dict(zip(map(id, samples), hits_of(cosine, encoder, samples), strict=True))
    show("cosine alone, every pair", [(sample, plain[id(sample)]) for sample in samples])
    every: list[tuple[Sample, float]] = []
    for seed in range(arguments.seeds):
        measured: list[tuple[Sample, float]] = []
        left = samples
        for which in combinations(range(FOLDS), arguments.held):
            held = frozenset(chain(*(folds(forms, seed)[k] for k in which)))
            own = [sample for sample in left if contexts_of(sample) <= held]
            left = [sample for sample in left if not contexts_of(sample) <= held]
            tested = frozenset(chain(*map(contexts_of, own)))
            name = f"seed{seed}_fold{'_'.join(map(str, which))}.npz"
            form = fit_fold(facts, tested, seed, WORK / "folds" / name)
            measured += zip(own, hits_of(form, encoder, own), strict=True)
        every += measured
        show(str(seed), measured)
    show("all", every)
    of = "one part" if arguments.held == 1 else "two parts"
    quality = [
        as_quality(f"released {on or 'GEO and TEMP'} pairs, {of} of five of the entities left out",
                   "swap_detection", measured_on(on, every), f"{COMMAND} --held {arguments.held}")
        for on in KINDS
    ]  # fmt: skip
    (WORK / f"quality_folds_{arguments.held}.json").write_text(json.dumps(quality, indent=1))
    show("cosine alone, pairs of all", [(sample, plain[id(sample)]) for sample, _ in every])


def measured_on(kind: str, measured: list[tuple[Sample, float]]) -> Estimate:
    """Return the share of pairs of a kind of context, with its interval over statements."""
    kept = [pair for pair in measured if not kind or kind in pair[0].context]
    return mean_of_samples([hit for _, hit in kept], [sample for sample, _ in kept])


def show(name: str, measured: list[tuple[Sample, float]]) -> None:
    for kind in KINDS:
        estimate = measured_on(kind, measured)
        print(
            f"| {name} | {kind or 'all'} | {estimate.value:.3f} "
            f"[{estimate.low:.3f}, {estimate.high:.3f}] | {estimate.n:,} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
