"""Training data of the generator: tails by head and relation, every evaluated text kept out."""

from __future__ import annotations

import string
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
import torch
from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import WordPiece
from torch import Tensor

from grice.knowledge.generative import (
    END_OF_TEXT,
    NOTHING,
    START,
    UNKNOWN,
    as_fragment,
    plain_event,
    relation_token,
)
from grice.knowledge.schema import load_schema
from grice_research.recipes.common import rows_of, table_of
from grice_research.recipes.knowledge.atomic import (
    Barrier,
    Known,
    barrier,
    content,
    folded,
    training_triples,
)
from grice_research.recipes.plausibility.data import EVENT2MIND

PERSONS = ("personx", "persony", "personz")
LETTERS = string.ascii_lowercase + string.digits


def make_tokenizer(
    teacher: Tokenizer, texts: Iterable[str], relations: Sequence[str], size: int
) -> Tokenizer:
    """Return a tokenizer of ``size`` pieces: the most frequent ones, and every letter.

    Relations and marks hold brackets, which the splitting at punctuation keeps apart from
    letters: no text can spell them.
    """
    special = [NOTHING, UNKNOWN, START, END_OF_TEXT, *map(relation_token, relations)]
    fixed = [*special, *PERSONS, *string.punctuation, *LETTERS, *(f"##{c}" for c in LETTERS)]
    whole = Tokenizer(WordPiece(teacher.get_vocab(), unk_token="[UNK]"))
    whole.normalizer, whole.pre_tokenizer = _rules()
    counts: Counter[str] = Counter()
    for encoding in whole.encode_batch(list(texts), add_special_tokens=False):
        counts.update(encoding.tokens)
    known = sorted(counts, key=lambda piece: (-counts[piece], piece))
    chosen = list(dict.fromkeys([*fixed, *(p for p in known if p != "[UNK]")]))[:size]
    made = Tokenizer(WordPiece({piece: i for i, piece in enumerate(chosen)}, unk_token=UNKNOWN))
    made.normalizer, made.pre_tokenizer = _rules()
    made.decoder = decoders.WordPiece(prefix="##", cleanup=True)
    return made


def _rules() -> tuple[normalizers.Normalizer, pre_tokenizers.PreTokenizer]:
    blank = normalizers.Replace(Regex("_+"), " something ")
    plain = normalizers.BertNormalizer(lowercase=True, strip_accents=True)
    return normalizers.Sequence([blank, plain]), pre_tokenizers.BertPreTokenizer()


SCHEMA = load_schema("atomic2020")
VALIDATION = 40  # one group of heads in so many is never trained on
CONCEPTNET = {"HasSubevent": "HasSubEvent", "Causes": "Causes"}
"""Its relations between events; what things are for and where they are stays out."""
LONGEST = 160  # characters of a head or tail; the few longer ones are annotators' mistakes


class Head(NamedTuple):
    """An event with what follows from it: ``(relation, tail)`` in the order of the sources."""

    text: str
    tails: tuple[tuple[str, str], ...]


class Material(NamedTuple):
    """Heads to learn from and heads to measure on, and how each row was used."""

    training: tuple[Head, ...]
    validation: tuple[Head, ...]
    sources: dict[str, int]
    dropped: dict[str, int]


def held_out(head: str) -> bool:
    """Hold out all heads of one crude lemma form together."""
    return crc32(content(head).encode()) % VALIDATION == 7


def material(data: Path) -> Material:
    kept_out = barrier(data)
    atomic, dropped = training_triples(data, kept_out)
    lost = Counter(dropped)
    extra = [*_atomic2020_dev(data), *_event2mind(data), *_conceptnet(data)]
    allowed = [known for known in extra if _may(known, kept_out, lost)]
    everything = [*atomic, *allowed]
    everything += [known for known in _turned(everything) if _may(known, kept_out, lost)]
    heads: dict[str, dict[tuple[str, str], tuple[str, str]]] = defaultdict(dict)
    spelled: dict[str, str] = {}
    sources: Counter[str] = Counter()
    for known in everything:
        tail = as_fragment(known.tail, SCHEMA[known.relation])
        if not folded(tail) or max(len(known.head), len(tail)) > LONGEST:
            lost["empty or too long"] += 1
            continue
        head = folded(known.head)
        spelled.setdefault(head, known.head)
        key = (known.relation, folded(tail))
        if key not in heads[head]:
            heads[head][key] = (known.relation, tail)
            sources[known.source] += 1
    made = [Head(spelled[key], tuple(tails.values())) for key, tails in heads.items() if tails]
    return Material(
        tuple(head for head in made if not held_out(head.text)),
        tuple(head for head in made if held_out(head.text)),
        dict(sources),
        dict(lost),
    )


def _may(known: Known, kept_out: Barrier, lost: Counter[str]) -> bool:
    if folded(known.tail) in ("none", "nan", "") or not folded(known.head):
        lost[f"{known.source}: no tail"] += 1
        return False
    if content(known.head) in kept_out.heads:
        lost[f"{known.source}: head of an evaluated set"] += 1
        return False
    if folded(known.tail) in kept_out.texts or folded(known.head) in kept_out.texts:
        lost[f"{known.source}: text of an evaluated set"] += 1
        return False
    return True


def _atomic2020_dev(data: Path) -> Iterator[Known]:
    """Yield the development part too: only official test splits are reported on."""
    for row in table_of(data / "atomic/atomic2020_sample.tsv.gz"):
        if row["split"] != "train":
            yield Known(row["head"].strip(), row["relation"], row["tail"].strip(), "atomic2020")


def _event2mind(data: Path) -> Iterator[Known]:
    for item in rows_of(data / "event2mind/event2mind.jsonl.gz"):
        if item["split"] == "train":
            for field, relation in EVENT2MIND.items():
                for tail in item[field]:
                    yield Known(item["event"].strip(), relation, tail.strip(), "event2mind")


def _conceptnet(data: Path) -> Iterator[Known]:
    for row in table_of(data / "conceptnet/cn100k.tsv.gz"):
        if row["split"] == "train" and row["relation"] in CONCEPTNET:
            relation = CONCEPTNET[row["relation"]]
            yield Known(row["head"].strip(), relation, row["tail"].strip(), "conceptnet")


def _turned(triples: Iterable[Known]) -> list[Known]:
    """Return the inverse triples: events before an event become events after it."""
    known = []
    for head, relation, tail, source in triples:
        inverse = SCHEMA[relation].inverse
        if inverse is not None:
            known.append(Known(tail, inverse, head, source))
    return known


MOST_TAILS = 24  # tails of one head seen in one epoch; the rest waits for another
REPEATED_BELOW = 12_000
"""Relations with fewer tails are seen more than once an epoch, up to MOST_REPEATS times."""
MOST_REPEATS = 3
UNKNOWN_HEAD = 0.05
"""Share of heads that are hidden, so that the model also knows how usual a tail is by itself."""
CHUNKS = 6  # tails of a step are decoded in so many parts of like length


class Coded(NamedTuple):
    """A head: its pieces, its tails' pieces with the relation first, and its teacher vector."""

    source: list[int]
    targets: list[list[int]]
    vector: int


class Sheet(NamedTuple):
    """Tails of like length: which head of the step each belongs to, what goes in, what comes out.

    What comes out is -100 where nothing is asked.
    """

    rows: Tensor
    given: Tensor
    wanted: Tensor


class Step(NamedTuple):
    source: Tensor
    real: Tensor
    vectors: Tensor
    sheets: list[Sheet]
    tails: int


def code_texts(tokenizer: Tokenizer, texts: Sequence[str], longest: int) -> list[list[int]]:
    end = tokenizer.token_to_id(END_OF_TEXT)
    return [[*e.ids[: longest - 1], end] for e in tokenizer.encode_batch(list(texts))]


def code_heads(
    tokenizer: Tokenizer, heads: Sequence[Head], vectors: Sequence[int], *, source_length: int,
    target_length: int,
) -> list[Coded]:  # fmt: skip
    sources = code_texts(tokenizer, [plain_event(head.text) for head in heads], source_length)
    tails = code_texts(
        tokenizer, [tail for head in heads for _, tail in head.tails], target_length - 1
    )
    marks = [tokenizer.token_to_id(relation_token(r)) for head in heads for r, _ in head.tails]
    joined = iter([[mark, *tail] for mark, tail in zip(marks, tails, strict=True)])
    return [
        Coded(source, [next(joined) for _ in head.tails], vector)
        for head, source, vector in zip(heads, sources, vectors, strict=True)
    ]


def padded(rows: Sequence[Sequence[int]], fill: int) -> Tensor:
    width = max(map(len, rows))
    table = np.full((len(rows), width), fill, np.int64)
    for i, row in enumerate(rows):
        table[i, : len(row)] = row
    return torch.from_numpy(table)


def steps(
    heads: Sequence[Coded], *, nothing: int, size: int, random: np.random.Generator | None
) -> Iterator[Step]:
    """Yield one epoch; without a generator of chance every tail once, in order."""
    repeats = _repeats(heads) if random is not None else {}
    order = range(len(heads)) if random is None else random.permutation(len(heads))
    batch: list[tuple[Coded, list[list[int]]]] = []
    waiting = 0
    for i in order:
        head = heads[i]
        targets = head.targets
        if random is not None:
            targets = [t for t in targets for _ in range(repeats[t[0]])]
            if len(targets) > MOST_TAILS:
                chosen = random.choice(len(targets), MOST_TAILS, replace=False)
                targets = [targets[j] for j in chosen]
            if random.random() < UNKNOWN_HEAD:
                head = head._replace(source=head.source[-1:], vector=-1)
        batch.append((head, targets))
        waiting += len(targets)
        if waiting >= size:
            yield _step(batch, nothing)
            batch, waiting = [], 0
    if batch:
        yield _step(batch, nothing)


def _repeats(heads: Sequence[Coded]) -> dict[int, int]:
    marks, counts = np.unique([t[0] for head in heads for t in head.targets], return_counts=True)
    times = np.clip(np.rint(np.sqrt(REPEATED_BELOW / counts)), 1, MOST_REPEATS)
    return {int(mark): int(n) for mark, n in zip(marks, times, strict=True)}


def _step(batch: list[tuple[Coded, list[list[int]]]], nothing: int) -> Step:
    source = padded([head.source for head, _ in batch], nothing)
    pairs = [(row, target) for row, (_, targets) in enumerate(batch) for target in targets]
    pairs.sort(key=lambda pair: len(pair[1]))
    bounds = np.linspace(0, len(pairs), CHUNKS + 1).astype(int)
    sheets = [_sheet(pairs[start:end], nothing) for start, end in pairwise(bounds) if end > start]
    vectors = torch.tensor([head.vector for head, _ in batch])
    return Step(source, source != nothing, vectors, sheets, len(pairs))


def _sheet(pairs: list[tuple[int, list[int]]], nothing: int) -> Sheet:
    rows = torch.tensor([row for row, _ in pairs])
    given = padded([target[:-1] for _, target in pairs], nothing)
    wanted = padded([target[1:] for _, target in pairs], -100)
    return Sheet(rows, given, wanted)


def text_batches(
    texts: Sequence[Sequence[int]], size: int, random: np.random.Generator
) -> list[np.ndarray]:
    """Return batches of numbers of texts of like length, in an order of chance."""
    lengths = np.array([len(text) for text in texts])
    order = np.lexsort((random.random(len(texts)), lengths))
    batches = [order[start : start + size] for start in range(0, len(order), size)]
    return [batches[i] for i in random.permutation(len(batches))]
