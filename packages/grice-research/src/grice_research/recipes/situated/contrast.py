"""Train the model ``situated``: which place or time goes with what, fluency, and grouping."""

from __future__ import annotations

import gzip
import itertools
import random
import re
import zlib
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from grice.knowledge.plausibility import Bilinear
from grice.models.mlp import Mlp
from grice_research.places import work_folder
from grice_research.recipes.common import (
    Steps,
    exact_encoder,
    layers_of,
    perceptron,
    rows_of,
    write_rows,
)
from grice_research.recipes.situated.context import (
    context_tagger,
    hidden,
    plain,
    released,
    sentences_of,
    strategyqa_id,
)
from grice_research.recipes.situated.lists import synsets
from grice_tasks.explagraphs.wording import STOP_WORDS
from grice_tasks.situatedgen.build import alike, mine_pairs
from grice_tasks.situatedgen.examples import samples_of
from grice_tasks.situatedgen.frames import named
from grice_tasks.situatedgen.models import without
from grice_tasks.situatedgen.recompose import Template, pair_features
from grice_tasks.situatedgen.records import CONTEXTS, Marked, Question, Statement, contexts_in
from grice_tasks.situatedgen.statements import ClauseFinder, to_statements
from grice_tasks.situatedgen.tagger import MASK, Names, mark_statements, spelt_spans

WORK = work_folder("situated")
INSTANCES = ("04", "11", "14", "15", "17", "18", "06")
GLOSSES = 6000  # facts from WordNet's glosses that are kept: the others tell as much
BATCH, RANK, DECAY, RATE, EPOCHS, SEEDS = 384, 48, 3.0, 1e-3, 5, 3
LONGEST, WORKERS = 16, 4
RISKY = re.compile(
    r"\?|\b(?:not|never|no|nor|than|different|unlike|without|same|both|only|most|first)\b|n['’]t",
    re.IGNORECASE,
)
"""Words that make a statement false of other places, or of most."""

Array = NDArray[np.float32]


def questions(data: Path) -> Iterator[Question]:
    """Yield the questions of the training parts with their answers."""
    for i, row in enumerate(rows_of(data / "strategyqa/train.jsonl.gz")):
        yield Question(strategyqa_id(i, row), row["question"], row["answer"], "yes_no")
    for i, row in enumerate(rows_of(data / "strategyqa/train_filtered.jsonl.gz")):
        name = f"strategyqa::train_filtered::{i}"
        yield Question(name, row["question"], row["answer"], "yes_no")
    parts = {"commonsenseqa::train": "commonsenseqa/train", "arc::Easy::Train": "arc/easy_train",
             "arc::Challenge::Train": "arc/challenge_train"}  # fmt: skip
    for prefix, file in parts.items():
        for i, row in enumerate(rows_of(data / f"{file}.jsonl.gz")):
            yield Question(f"{prefix}::{i}", row["stem"], row["choices"][row["answer"]])


def glosses(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield what WordNet 3.0 says of each named place, person, event and work."""
    for synset in synsets(folder / "data.noun"):
        if synset.file in INSTANCES and "@i" in synset.pointers:
            meaning = re.split(r"; (?=[\"'])", synset.gloss)[0].strip()
            yield f"wordnet::{synset.offset}", f"{synset.words[0].replace('_', ' ')} is {meaning}"


def evaluated(data: Path) -> tuple[set[str], set[str]]:
    """Return ids and normalised texts that SituatedGen's dev and test derive from."""
    rows = [
        row for split in ("dev", "test") for row in rows_of(data / f"situatedgen/{split}.jsonl.gz")
    ]
    ids = {name for row in rows for name in row["ids"]}
    texts = {plain(statement) for row in rows for statement in row["statements"]}
    return ids, (texts | released(data, ids)[1]) - {""}


def collect(data: Path, wordnet: Path, clauses: ClauseFinder) -> tuple[dict[str, str], int]:
    """Return the sentences that hold, by name, and how many were left out."""
    ids, texts = evaluated(data)
    pool = [(name, text) for name, text, holds in sentences_of(data) if holds]
    given = list(questions(data))
    asked = [q for q in given if q.id not in ids and plain(q.question) not in texts]
    left = len(given) - len(asked)
    pool += [(statement.id, statement.statement) for statement in to_statements(asked, clauses)]
    pool += list(glosses(wordnet))
    kept: dict[str, str] = {}
    seen: set[str] = set()
    for name, text in pool:
        form = plain(text)
        if name in ids or form in texts:
            left += 1
        elif form not in seen and len(text) < 250:
            seen.add(form)
            kept[f"{name}#{len(kept)}"] = text.strip()
    return kept, left


def facts(options: Namespace) -> None:
    """Tag statements; write name, sentence without the entity, entity, kind and sentence.

    Texts that SituatedGen's dev and test derive from are left out by id and text.
    """
    listed = Names.load(WORK / "names.txt.gz")

    def may_have_context(text: str) -> bool:
        marks = {mark for found, _ in listed.look(text).values() for mark in found}
        return bool(marks & {"P", "E"}) or bool(spelt_spans(text))

    kept, left = collect(options.data, options.wordnet, ClauseFinder(WORK, hidden, ""))
    print(f"{len(kept):,} sentences, {left:,} left out", flush=True)
    kept = {name: text for name, text in kept.items() if may_have_context(text)}
    print(f"{len(kept):,} may have context", flush=True)
    tagger, rows = context_tagger(), []
    names, texts = list(kept), list(kept.values())
    for begin in range(0, len(texts), 512):
        block = texts[begin : begin + 512]
        for name, text, marks in zip(names[begin:], block, tagger.find(block), strict=False):
            for span, kind in contexts_in(marks.entities):
                entity = text[span.start : span.end]
                rows.append((name, without(text, entity), entity, kind, text))
        print(begin, len(rows), flush=True)
    write_rows(WORK / "facts.jsonl", rows)


def _encode(texts: list[str]) -> NDArray[np.float16]:
    return np.stack(exact_encoder().encode(texts)).astype(np.float16)


def encode_all(texts: list[str], workers: int = WORKERS) -> NDArray[np.float16]:
    parts = [texts[i : i + 400] for i in range(0, len(texts), 400)]
    with ProcessPoolExecutor(workers) as pool:
        return np.concatenate(list(pool.map(_encode, parts)))


def encode(_: Namespace) -> None:
    """Encode sentences and entities of the facts."""
    rows = list(rows_of(WORK / "facts.jsonl"))
    of_wordnet = [row for row in rows if row[0].startswith("wordnet")]
    random.Random(0).shuffle(of_wordnet)
    kept = [row for row in rows if not row[0].startswith("wordnet")] + of_wordnet[:GLOSSES]
    texts = list(dict.fromkeys(text for row in kept for text in row[1:3]))
    vectors = dict(zip(texts, encode_all(texts, 2), strict=True))
    write_rows(WORK / "kept.jsonl", kept)
    np.savez(
        WORK / "facts.npz",
        sentence=np.stack([vectors[row[1]] for row in kept]),
        entity=np.stack([vectors[row[2]] for row in kept]),
        kind=np.array([row[3] == "TEMP" for row in kept], np.int8),
    )


class Form(torch.nn.Module):
    """``scale * (cosine + shared form + form of the kind)``, as Bilinear computes it."""

    def __init__(self, dimensions: int, rank: int) -> None:
        super().__init__()
        self.rank = rank
        self.head = torch.nn.Parameter(torch.randn(dimensions, 3 * rank) * 0.02)
        self.tail = torch.nn.Parameter(torch.randn(dimensions, 3 * rank) * 0.02)
        self.scale = torch.nn.Parameter(torch.full((2,), 12.0))

    def _sides(self, m: torch.Tensor, e: torch.Tensor, kind: int) -> Iterator[Any]:
        yield m, e
        for part in (0, 1 + kind):
            cut = slice(self.rank * part, self.rank * (part + 1))
            yield m @ self.head[:, cut], e @ self.tail[:, cut]

    def forward(self, m: torch.Tensor, e: torch.Tensor, kind: int) -> torch.Tensor:
        """Return scores of every sentence beside every entity."""
        return self.scale[kind] * sum(a @ b.T for a, b in self._sides(m, e, kind))

    def beside(self, m: torch.Tensor, e: torch.Tensor, kind: int) -> torch.Tensor:
        """Return the score of each sentence beside the entity of the same row."""
        return self.scale[kind] * sum((a * b).sum(1) for a, b in self._sides(m, e, kind))

    def packed(self) -> Bilinear:
        state = {name: value.detach().numpy().copy() for name, value in self.state_dict().items()}
        return Bilinear(
            state["head"],
            state["tail"],
            cosine=np.ones(2, np.float32),
            scale=state["scale"],
            bias=np.zeros(2, np.float32),
            shared=self.rank,
        )


def accuracy(
    form: Form, m: torch.Tensor, e: torch.Tensor, kind: NDArray[Any], rows: list[tuple[int, int]]
) -> float:
    """Return the share of pairs that stand above their exchange."""
    right = 0
    with torch.no_grad():
        for which in (0, 1):
            some = [row for row in rows if kind[row[0]] == which]
            if some:
                i, j = (torch.tensor(side) for side in zip(*some, strict=True))
                of = form.beside
                margin = (of(m[i], e[i], which) + of(m[j], e[j], which)
                          - of(m[i], e[j], which) - of(m[j], e[i], which))  # fmt: skip
                right += int((margin > 0).sum())
    return right / len(rows)


def close_pairs(
    sentence: Array, kind: NDArray[Any], ok: Callable[[int, int], bool], most: int
) -> list[tuple[int, int]]:
    """Return pairs of facts whose sentences are alike, as mined pairs are."""
    pairs = []
    rng = random.Random(0)
    for i in rng.sample(range(len(sentence)), min(len(sentence), most)):
        likes = sentence @ sentence[i]
        likes[kind != kind[i]] = -1
        pairs += [(i, int(j)) for j in np.argsort(-likes)[1:12] if ok(i, int(j))][:1]
    return pairs


def fit(_: Namespace) -> None:
    """Fit the bilinear form of place and time.

    Held out are all facts of a sixth of the entities: they choose the epoch and the seed.
    """
    torch.set_num_threads(1)
    packed = np.load(WORK / "facts.npz")
    rows = list(rows_of(WORK / "kept.jsonl"))
    sentence, entity = (packed[name].astype(np.float32) for name in ("sentence", "entity"))
    kind, names = packed["kind"], [row[2] for row in rows]
    held = np.array([zlib.crc32(name.lower().encode()) % 6 == 0 for name in names])
    # A sentence with a held-out entity trains nothing, in whatever role.
    bad = {row[0] for row, out in zip(rows, held, strict=True) if out}
    train_rows = np.flatnonzero([row[0] not in bad for row in rows])
    valid = np.flatnonzero(held)
    print(f"{len(train_rows):,} facts train, {len(valid):,} are held out", flush=True)

    def ok(i: int, j: int) -> bool:
        i, j = valid[i], valid[j]
        a, b = names[i].lower(), names[j].lower()
        return not (a in b or b in a or b in rows[i][1].lower() or a in rows[j][1].lower()
                    or rows[i][0] == rows[j][0])  # fmt: skip

    pairs = [(int(valid[i]), int(valid[j]))
             for i, j in close_pairs(sentence[valid], kind[valid], ok, 1500)]  # fmt: skip
    m, e = torch.from_numpy(sentence), torch.from_numpy(entity)
    bare = [name.lower().removeprefix("the ") for name in names]
    known = {name: i for i, name in enumerate(sorted(set(bare)))}
    who = np.array([known[name] for name in bare])
    best = -1.0
    for seed in range(SEEDS):
        torch.manual_seed(seed)
        form = Form(sentence.shape[1], RANK)
        for epoch, loss in enumerate(train(form, m, e, kind, who, train_rows, seed)):
            right = accuracy(form, m, e, kind, pairs)
            print(f"seed {seed} epoch {epoch}: loss {loss:.4f}, held-out {right:.4f}", flush=True)
            if right > best:
                best = right
                form.packed().save(WORK / "contrast.npz")
    print(f"kept {best:.4f}")


def train(
    form: Form, m: torch.Tensor, e: torch.Tensor, kind: NDArray[Any], who: NDArray[Any],
    rows: NDArray[Any], seed: int,
) -> Iterator[float]:  # fmt: skip
    """Train a form epoch by epoch so that two facts beat their exchange; yield each loss."""
    step = Steps(
        [
            {"params": [form.head, form.tail], "weight_decay": DECAY},
            {"params": [form.scale], "weight_decay": 0.0},
        ],
        RATE,
        DECAY,
    )
    rng = np.random.default_rng(seed)
    for _ in range(EPOCHS):
        losses = []
        for which in (0, 1):
            own = rows[kind[rows] == which]
            # Neighbours in this order are alike: half of the batches are hard.
            hard = own[np.argsort((m[own] @ torch.randn(m.shape[1])).numpy())]
            for order in (rng.permutation(own), hard):
                for begin in range(0, len(order) - 1, BATCH):
                    part = order[begin : begin + BATCH]
                    good = torch.from_numpy(who[part][:, None] != who[part][None, :])
                    if good.any():
                        scores = form(m[part], e[part], which)
                        right = scores.diagonal()
                        margins = right[:, None] + right[None, :] - scores - scores.T
                        losses.append(step(torch.nn.functional.softplus(-margins)[good].mean()))
        yield sum(losses) / len(losses)


def salad(text: str, rng: random.Random) -> str:
    """Return the words of a sentence as a list."""
    words = re.findall(r"[\w'’-]+", text)
    content = [word for word in words if word.lower() not in STOP_WORDS]
    if rng.random() < 0.7 and len(content) > 1:
        words = content
    rng.shuffle(words)
    words = words[: rng.randint(2, max(2, len(words)))]
    sentence = rng.choice((" ", " ", ", ")).join(words)
    return sentence[:1].upper() + sentence[1:] + "." if rng.random() < 0.6 else sentence + "."


def fluency(_: Namespace) -> None:
    """Fit the check that a text is a sentence and no list of the words of one."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rng = random.Random(0)
    texts = list(dict.fromkeys(row[4] for row in rows_of(WORK / "facts.jsonl")))
    rng.shuffle(texts)
    # WordNet's glosses are no full sentences in the sense of the task.
    good = [text for text in texts if len(text) < 160][:2500]
    bad = [salad(text, rng) for text in good]
    x = torch.from_numpy(encode_all(good + bad).astype(np.float32))
    y = torch.tensor([1.0] * len(good) + [0.0] * len(bad))
    held = torch.tensor([zlib.crc32(text.encode()) % 8 == 0 for text in good] * 2)
    network = perceptron(x.shape[1], 64, 1)
    step = Steps(network.parameters(), 5e-3, 0.01)
    rows = torch.nonzero(~held)[:, 0]
    for epoch in range(25):
        for part in rows[torch.randperm(len(rows))].split(256):
            logits = network(x[part])[:, 0]
            step(torch.nn.functional.binary_cross_entropy_with_logits(logits, y[part]))
        with torch.no_grad():
            right = ((network(x[held])[:, 0] > 0) == (y[held] > 0)).float().mean()
        print(f"epoch {epoch}: {float(right):.4f} of {int(held.sum())}", flush=True)
    Mlp(layers_of(network)).save(WORK / "fluency.npz")


def short_facts(*sources: str) -> list[Statement]:
    """Return the sentences of some sources that are short enough."""
    texts = {
        text: name
        for name, _, _, _, text in rows_of(WORK / "facts.jsonl")
        if name.split("::")[0] in sources and len(text.split()) <= LONGEST
    }
    return [Statement(name, text) for text, name in texts.items()]


def mark(statements: list[Statement]) -> list[Marked]:
    return mark_statements(statements, context_tagger())[0]


def group(_: Namespace) -> None:
    """Fit what says whether two keywords share a sentence.

    Pairs are mined from the facts as the pipeline mines them; a seventh of the statements is held
    out with every pair they are in.
    """
    torch.set_num_threads(1)
    torch.manual_seed(0)
    given = short_facts("creak", "strategyqa-fact")
    with ProcessPoolExecutor(WORKERS) as pool:
        blocks = pool.map(mark, [given[i : i + 200] for i in range(0, len(given), 200)])
        marked = [statement for block in blocks for statement in block]
    vectors = encode_all([statement.masked for statement in marked]).astype(np.float32)
    pairs, refused = mine_pairs(marked, alike(vectors, threshold=0.75), "paper")
    print(f"{len(marked):,} statements, {len(pairs):,} pairs, refused {refused}", flush=True)
    random.Random(0).shuffle(pairs)
    samples = samples_of(pairs[:20_000], marked)
    words = sorted({word for record in samples for word in record.keywords})
    known = dict(zip(words, encode_all(words).astype(np.float32), strict=True))
    sets: dict[bool, list[tuple[Any, float]]] = {True: [], False: []}
    seen: Counter[str] = Counter()
    for sample in samples:
        out = [zlib.crc32(name.encode()) % 7 == 0 for name in sample.ids]
        if any(out) != all(out) or max(seen[name] for name in sample.ids) > 12:
            continue  # a statement in a hundred pairs teaches its keywords and nothing else
        seen.update(sample.ids)
        for i, j in itertools.combinations(range(len(sample.keywords)), 2):
            a, b = sample.keywords[i], sample.keywords[j]
            if a.lower() != b.lower():
                same = float(sample.keywords_pos[i] == sample.keywords_pos[j])
                sets[all(out)].append((pair_features(known[a], known[b]), same))
    (x, y), (vx, vy) = (map(np.array, zip(*sets[part], strict=True)) for part in (False, True))
    print(f"{len(y):,} pairs of keywords train, {len(vy):,} are held out", flush=True)
    network = perceptron(x.shape[1], 64, 1, drop=0.3)
    step, best = Steps(network.parameters(), 5e-4, 0.1), -1.0
    for epoch in range(8):
        network.train()
        for part in np.array_split(np.random.default_rng(epoch).permutation(len(y)), len(y) // 256):
            wanted = torch.from_numpy(y[part]).float()
            logits = network(torch.from_numpy(x[part]))[:, 0]
            step(torch.nn.functional.binary_cross_entropy_with_logits(logits, wanted))
        network.eval()
        with torch.no_grad():
            odds = network(torch.from_numpy(vx))[:, 0].numpy()
        right = float(((odds > 0) == vy).mean())
        print(f"epoch {epoch}: {right:.4f}", flush=True)
        if right > best:
            best = right
            Mlp(layers_of(network)).save(WORK / "together.npz")


def templates(_: Namespace) -> None:
    """Write the training statements that the embedded baseline takes whole.

    They are of people (claims, facts, statements), no questions and no glosses, short enough, with
    two to five keywords, at least one of them a common noun.
    """
    kept: dict[str, Template] = {}
    for marked in mark(short_facts("creak", "strategyqa-fact", "csqa2")):
        labels = {e.text: CONTEXTS.get(e.label, "") for e in marked.entities}
        kinds = tuple(labels.get(keyword, "") for keyword in marked.keywords)
        if (
            2 <= marked.masked.count(MASK) == len(marked.keywords) <= 5
            and any(not labels.get(word) and not named(word) for word in marked.keywords)
            and not RISKY.search(marked.statement)
            and marked.statement[:1].isupper()
        ):
            pattern = Template(marked.statement, marked.keywords, kinds)
            kept[marked.masked + marked.statement] = pattern
    lines = b"\n".join(map(msgspec.json.encode, kept.values()))
    target = WORK / "templates.jsonl.gz"
    target.write_bytes(gzip.compress(lines, 9, mtime=0))
    print(f"{len(kept):,} statements, {target.stat().st_size:,} bytes")
