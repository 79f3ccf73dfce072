"""Train the tagger of entities and nouns on the teachers' labels (``label.py`` comes first).

    python -m grice_research.recipes.situated.tag --most 20000

The teachers' entities are learned from, each an equal part of the loss, once the rules for dates
and events have put them right; where one of them sees a place of the lists in what another takes
for another name, all are taken to see it. Each sentence is read twice, as written and in lower
case; the states of the encoder are the same, for it reads no capitals. One sentence in ten chooses
the epoch.
"""

from __future__ import annotations

import argparse
import json
import random
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from grice.models.bundle import open_bundle
from grice.models.embedded import EmbeddedEncoder
from grice.models.mlp import Mlp
from grice.models.protocols import TaggedSpan
from grice_research.places import work_folder
from grice_tasks.situatedgen.tagger import CITIES, LABELS, Names, merge_spans, token_features

WORK = work_folder("situated")
LABELLED = ("labels.jsonl", "labels_second.jsonl", "labels_third.jsonl")
OURS = {"GPE": "GPE", "DATE": "DATE", "TIME": "TIME", "EVENT": "EVENT"} | dict.fromkeys(
    ("CARDINAL", "ORDINAL", "QUANTITY", "MONEY", "PERCENT"), "NUMBER"
)
COUNT = len(LABELS)
EPOCHS = 8
CONTEXT_TAGS = [1, 2, 3, 4, 1 + COUNT, 2 + COUNT, 3 + COUNT, 4 + COUNT]


Spans = list[tuple[int, int, str]]


def mended(text: str, spans: Spans, others: Spans, names: Names) -> Spans:
    """Return a teacher's entities with the others' listed places, put right by the rules."""
    places = {
        (start, end)
        for start, end, label in others
        if label == "GPE"
        and any(set("PC") & set(marks) for marks, _ in names.look(text[start:end]).values())
    }
    own = [(start, end, "GPE" if (start, end) in places else label) for start, end, label in spans]
    tagged = [TaggedSpan(s, e, OURS.get(label, "NAME"), 1.0) for s, e, label in own]
    return [(span.start, span.end, span.label) for span in merge_spans(text, tagged)]


def tags_of(spans: Spans, words: list[tuple[int, int]]) -> list[int]:
    """Return the tag of each word by the span its first character lies in."""
    tags = [0] * len(words)
    for start, end, label in spans:
        kind = LABELS.index(label)
        first = True
        for i, (begin, _) in enumerate(words):
            if start <= begin < end:
                tags[i] = 1 + kind if first else 1 + COUNT + kind
                first = False
    return tags


def nouns_of(spans: list[tuple[int, int]], words: list[tuple[int, int]]) -> list[float]:
    """Return 1 for each word that is a noun."""
    return [float(any(s <= begin < e for s, e in spans)) for begin, _ in words]


def labelled() -> list[dict[str, object]]:
    """Return the labelled sentences, each with the entities of all teachers (``teachers``)."""
    rows, *others = (
        [json.loads(line) for line in (WORK / file).open(encoding="utf-8")] for file in LABELLED
    )
    for row, *more in zip(rows, *others, strict=True):
        row["teachers"] = [row["entities"], *(other_row["entities"] for other_row in more)]
    return rows


def chosen(rows: list[dict[str, object]], most: int) -> list[dict[str, object]]:
    """Return the sentences with context and some without, ``most`` in all."""
    rich = [row for row in rows if any(OURS.get(e[2]) in LABELS[:4] for e in row["entities"])]
    poor = [row for row in rows if not any(OURS.get(e[2]) in LABELS[:4] for e in row["entities"])]
    random.Random(0).shuffle(poor)
    return rich + poor[: max(0, most - len(rich))]


def parted(rows: list[dict[str, object]]) -> tuple[list[dict[str, object]], ...]:
    """Return the sentences that train, and one in ten that chooses the epoch."""
    held = [zlib.crc32(str(row["text"]).encode()) % 10 == 0 for row in rows]
    return tuple(
        [row for row, out in zip(rows, held, strict=True) if out == part] for part in (False, True)
    )


def features(
    rows: list[dict[str, object]],
    names: Names,
    hidden: Callable[[list[str]], Sequence[tuple[np.ndarray, list[tuple[int, int]]]]],
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return features (float16), all teachers' tags, nouns and the sentence of each word."""
    xs: list[np.ndarray] = []
    tags: list[tuple[int, ...]] = []
    nouns: list[float] = []
    owners: list[int] = []
    rng = random.Random(0)
    for begin in range(0, len(rows), 512):
        block = rows[begin : begin + 512]
        texts = [str(row["text"]) for row in block]
        for number, (row, states) in enumerate(zip(block, hidden(texts), strict=True), begin):
            text = str(row["text"])
            by_teacher = row["teachers"]
            every = [entity for entities in by_teacher for entity in entities]
            sides = [mended(text, entities, every, names) for entities in by_teacher]
            versions = [text, text.lower()] if rng.random() < 0.5 else [text]
            for version in versions:
                if len(version) != len(text):
                    continue
                x, places, starts = token_features(version, *states, names, CITIES)
                heads = [i for i, start in enumerate(starts) if start]
                words = [places[i] for i in heads]
                xs.append(x[heads].astype(np.float16))
                tags += zip(*(tags_of(side, words) for side in sides), strict=True)
                nouns += nouns_of(row["nouns"], words)
                owners += [number] * len(words)
    return np.concatenate(xs), np.array(tags), np.array(nouns, np.float32), np.array(owners)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=20_000)
    parser.add_argument("--hidden", type=int, default=160)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = chosen(labelled(), arguments.most)
    names = Names.load(WORK / "names.txt.gz", WORK / "cities.txt.gz")
    encoder = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)

    def hidden(texts: list[str]) -> list[tuple]:
        return [tuple(hidden_states) for hidden_states, _ in encoder.hidden(texts)]

    train, valid = (features(part, names, hidden) for part in parted(rows))
    print(f"{len(rows):,} sentences; words: {len(train[1]):,}")
    fit(train, valid, arguments.hidden, WORK / "tagger.npz", arguments.seed)


def fit(train: tuple, valid: tuple, width: int, target: Path, seed: int) -> None:
    """Fit a network of one hidden layer; that of the best epoch is written."""
    torch.manual_seed(seed)
    network = torch.nn.Sequential(
        torch.nn.Linear(train[0].shape[1], width), torch.nn.ReLU(),
        torch.nn.Dropout(0.2), torch.nn.Linear(width, 2 * COUNT + 2),
    )  # fmt: skip
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=0.01)
    best = -1.0
    for epoch in range(EPOCHS):
        network.train()
        order = np.random.default_rng(epoch).permutation(len(train[1]))
        for begin in range(0, len(order), 512):
            part = np.sort(order[begin : begin + 512])
            x = torch.from_numpy(train[0][part].astype(np.float32))
            scores = network(x)
            tags = torch.from_numpy(train[1][part])
            loss = sum(
                torch.nn.functional.cross_entropy(scores[:, :-1], side) / tags.shape[1]
                for side in tags.T
            ) + torch.nn.functional.binary_cross_entropy_with_logits(
                scores[:, -1], torch.from_numpy(train[2][part])
            )
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        for group in optimiser.param_groups:
            group["lr"] *= 0.75
        network.eval()
        with torch.no_grad():
            scores = network(torch.from_numpy(valid[0].astype(np.float32))).numpy()
        tags = scores[:, :-1].argmax(1)[:, None]
        context = np.isin(valid[1], CONTEXT_TAGS)
        guess = np.isin(tags, CONTEXT_TAGS) & np.ones_like(context)
        right = (tags == valid[1]) & context
        f1 = 2 * right.sum() / (context.sum() + guess.sum())
        nouns = ((scores[:, -1] > 0) == valid[2]).mean()
        print(f"epoch {epoch}: F1 of context words {f1:.4f}, nouns {nouns:.4f}", flush=True)
        if f1 > best:
            best = f1
            layers = [(layer.weight.detach().numpy().T.copy(), layer.bias.detach().numpy().copy())
                      for layer in (network[0], network[3])]  # fmt: skip
            Mlp(layers).save(target)


if __name__ == "__main__":
    main()
