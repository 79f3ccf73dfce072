"""Research: how well context is found when the tagger also learns from released entities.

    python -m grice_research.recipes.situated.released --data ../shared/data

For each source the shipped tagger goes on learning from the entities that SituatedGen released of
the other four sources (statements of its train part alone) and is measured on the source left out,
in three seeds. The release states no licence, so that nothing of this ships; it shows what labels
of the measured kind would add.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

from grice.models.bundle import open_bundle
from grice.models.embedded import EmbeddedEncoder
from grice.models.mlp import Mlp
from grice_research.benches._situatedgen import bare, named_entities
from grice_research.places import work_folder
from grice_research.recipes.situated.corpora import SOURCES, evaluated, rows
from grice_research.recipes.situated.tag import COUNT, OURS, tags_of
from grice_tasks.situatedgen.records import CONTEXTS
from grice_tasks.situatedgen.tagger import CITIES, ContextTagger, Names, token_features

WORK = work_folder("situated")
EPOCHS, RATE, SEEDS = 4, 3e-4, 3


def spans_of(text: str, entities: list[tuple[str, str]]) -> list[tuple[int, int, str]]:
    places = []
    for name, label in entities:
        start = text.find(name)
        if start >= 0:
            places.append((start, start + len(name), OURS.get(label, "NAME")))
    return places


def learned(start: Mlp, x: np.ndarray, tags: np.ndarray, seed: int) -> Mlp:
    """Return the network after some epochs on other labels; its nouns stay as they are."""
    torch.manual_seed(seed)
    parts = []
    for weight, bias in start.layers:
        layer = torch.nn.Linear(*weight.shape)
        layer.weight.data, layer.bias.data = (
            torch.from_numpy(np.array(weight.T)), torch.from_numpy(np.array(bias)),
        )  # fmt: skip
        parts.append(layer)
    network = torch.nn.Sequential(parts[0], torch.nn.ReLU(), torch.nn.Dropout(0.3), parts[1])
    optimiser = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=0.05)
    for epoch in range(EPOCHS):
        order = np.random.default_rng(seed * 100 + epoch).permutation(len(tags))
        for begin in range(0, len(order), 256):
            part = order[begin : begin + 256]
            scores = network(torch.from_numpy(x[part]))[:, : 2 * COUNT + 1]
            loss = torch.nn.functional.cross_entropy(scores, torch.from_numpy(tags[part]))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    layers = [(linear.weight.detach().numpy().T.copy(), linear.bias.detach().numpy().copy())
              for linear in parts]  # fmt: skip
    return Mlp(layers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    torch.set_num_threads(1)
    ids, _ = evaluated(data)
    encoder = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)
    folder = open_bundle("context").folder
    names = Names.load(folder / "names.txt.gz", folder / "cities.txt.gz")
    read, words, labels = {}, {}, {}
    for source in SOURCES:
        lines = list(rows(data / f"situatedgen/statements_{source}.jsonl.gz"))
        texts = [str(line["statement"]).strip() for line in lines]
        gold = [named_entities(line) for line in lines]
        states = [tuple(hidden) for hidden, _ in encoder.hidden(texts)]
        read[source] = list(zip(lines, texts, gold, states, strict=True))
        xs, tags = [], []
        for line, text, entities, state in read[source]:
            if line["id"] in ids:
                continue
            x, places, starts = token_features(text, *state, names, CITIES)
            heads = [i for i, first in enumerate(starts) if first]
            xs.append(x[heads])
            tags += tags_of(spans_of(text, entities), [places[i] for i in heads])
        words[source], labels[source] = np.concatenate(xs), np.array(tags)
    shipped = Mlp.load(folder / "tagger.npz")
    for source in SOURCES:
        others = [other for other in SOURCES if other != source]
        x = np.concatenate([words[other] for other in others])
        tags = np.concatenate([labels[other] for other in others])
        networks = [shipped, *(learned(shipped, x, tags, seed) for seed in range(SEEDS))]
        values = [score(folder, network, read[source]) for network in networks]
        print(source, f"shipped {values[0]:.4f}, with released labels of the others",
              " ".join(f"{value:.4f}" for value in values[1:]), flush=True)  # fmt: skip


def score(folder: Path, network: Mlp, read: list[tuple]) -> float:
    """Return the F1 of context without the article, on the released texts."""
    texts = [text for _, text, _, _ in read]
    tagger = ContextTagger(folder, lambda _: [state for *_, state in read], "")
    tagger._network = network
    right = both = 0
    for text, (_, _, gold, _), (tagged_spans, _) in zip(
        texts, read, tagger.find(texts), strict=True
    ):
        mine = {bare(text[e.start : e.end], e.label) for e in tagged_spans if e.label in CONTEXTS}
        other = {bare(*entity) for entity in gold if entity[1] in CONTEXTS}
        right += 2 * len(mine & other)
        both += len(mine) + len(other)
    return right / both


if __name__ == "__main__":
    main()
