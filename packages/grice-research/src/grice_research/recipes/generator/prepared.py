"""What the training reads, as plain arrays: made once, mapped by every process that learns."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from tokenizers import Tokenizer

from grice.knowledge.generative import plain_event
from grice.knowledge.schema import load_schema
from grice.knowledge.wording import head_text
from grice.models.bundle import open_bundle
from grice.models.embedded import EmbeddedEncoder
from grice_research.places import work_folder
from grice_research.recipes.generator.batches import Coded, code_heads, code_texts
from grice_research.recipes.generator.data import Head, material
from grice_research.recipes.generator.model import Shape
from grice_research.recipes.generator.pieces import make_tokenizer
from grice_research.recipes.plausibility.data import training_examples
from grice_research.recipes.plausibility.vectors import Vectors

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

VECTORS = work_folder("plausibility") / "vectors"
"""Sentence vectors of about 320,000 texts; the recipe of the plausibility heads keeps them."""
PIECES = 6500
FILE, TOKENIZER = "prepared.npz", "tokenizer.json"


class Prepared(NamedTuple):
    """Everything in numbers."""

    texts: list[np.ndarray]
    rows: np.ndarray
    table: np.ndarray
    training: list[Coded]
    validation: list[Coded]
    tokenizer: Tokenizer


def prepare(data: Path, folder: Path) -> None:
    """Read the corpora, encode what was not encoded yet, choose the vocabulary, write arrays."""
    split_heads = material(data)
    print(
        f"{len(split_heads.training):,} heads, {len(split_heads.validation):,} held out; "
        f"{split_heads.sources}"
    )
    texts, rows = _teacher_texts(data, split_heads.training)
    tokenizer = _vocabulary(split_heads.training, texts)
    shape = Shape(tokenizer.get_vocab_size())
    known = dict(zip(texts, rows.tolist(), strict=True))
    parts: dict[str, np.ndarray] = {"rows": rows}
    parts |= _flat("texts", code_texts(tokenizer, texts, shape.source_length))
    for name, heads in {
        "training": split_heads.training,
        "validation": split_heads.validation,
    }.items():
        coded = code_heads(
            tokenizer,
            heads,
            [known.get(plain_event(head.text), -1) for head in heads],
            source_length=shape.source_length,
            target_length=shape.target_length,
        )
        parts |= _flat(f"{name}_sources", [head.source for head in coded])
        parts |= _flat(f"{name}_tails", [tail for head in coded for tail in head.targets])
        parts[f"{name}_counts"] = np.array([len(head.targets) for head in coded])
        parts[f"{name}_vectors"] = np.array([head.vector for head in coded])
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / TOKENIZER))
    np.savez(folder / FILE, **parts)


def read_prepared(folder: Path) -> Prepared:
    with np.load(folder / FILE) as parts:
        heads = {name: _heads(parts, name) for name in ("training", "validation")}
        texts = _rows(parts, "texts")
        rows = parts["rows"]
    table = np.load(VECTORS / "vectors.npy", mmap_mode="r")
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    return Prepared(texts, rows, table, heads["training"], heads["validation"], tokenizer)


def _teacher_texts(data: Path, heads: tuple[Head, ...]) -> tuple[list[str], np.ndarray]:
    """Return texts, and the row of each one's vector."""
    examples, _ = training_examples(data)
    worded = {text: text for e in examples for text in (e.head, e.tail, e.event) if text}
    worded_heads = {plain_event(head.text): head_text(head.text) for head in heads}
    pairs = {**worded, **{text: asked for text, asked in worded_heads.items() if asked}}
    vectors = Vectors(VECTORS)
    encoder = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)
    vectors.add(pairs.values(), encoder)
    return list(pairs), vectors.ids(pairs.values())


def _vocabulary(heads: tuple[Head, ...], texts: list[str]) -> Tokenizer:
    teacher = Tokenizer.from_file(str(open_bundle("encoder").path("tokenizer.json")))
    texts_of_both = [*texts, *(tail for head in heads for _, tail in head.tails)]
    return make_tokenizer(
        teacher, texts_of_both, tuple(load_schema("atomic2020").relations), PIECES
    )


def _flat(name: str, rows: Iterable[Sequence[int]]) -> dict[str, np.ndarray]:
    listed = list(rows)
    ends = np.cumsum([len(row) for row in listed])
    return {f"{name}_ids": np.concatenate(listed).astype(np.int16), f"{name}_ends": ends}


def _rows(parts: np.lib.npyio.NpzFile, name: str) -> list[np.ndarray]:
    ids, ends = parts[f"{name}_ids"], parts[f"{name}_ends"]
    return [ids[start:end] for start, end in pairwise([0, *ends.tolist()])]


def _heads(parts: np.lib.npyio.NpzFile, name: str) -> list[Coded]:
    tails = iter(_rows(parts, f"{name}_tails"))
    return [
        Coded(source, [next(tails) for _ in range(count)], vector)
        for source, count, vector in zip(
            _rows(parts, f"{name}_sources"),
            parts[f"{name}_counts"].tolist(),
            parts[f"{name}_vectors"].tolist(),
            strict=True,
        )
    ]
