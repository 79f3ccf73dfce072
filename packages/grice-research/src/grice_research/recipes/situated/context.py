"""Train the model ``context``: places, dates, events and nouns, and predicates of questions.

The teachers are spaCy's English models (MIT): ``en_core_web_sm`` 3.8, and beside it
``en_core_web_sm`` 3.6 and ``en_core_web_md`` 3.8. Statements that were released with SituatedGen,
which the tagger is measured on, are left out by id and by text.
"""

from __future__ import annotations

import random
import zlib
from argparse import Namespace
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grice.models.mlp import Mlp
from grice.models.protocols import TaggedSpan
from grice_research.places import work_folder
from grice_research.recipes.common import (
    Steps,
    exact_encoder,
    layers_of,
    perceptron,
    rows_of,
    table_of,
    write_rows,
)
from grice_tasks.situatedgen.tagger import (
    CITIES,
    LABELS,
    ContextTagger,
    Names,
    merge_spans,
    token_features,
)

WORK = work_folder("situated")
SOURCES = ("creak", "strategyqa", "commonsenseqa", "arc", "openbookqa")
WORDS = (
    "is are was were am do does did can could will would shall should may might must has have had"
)
AUXILIARIES = frozenset(WORDS.split())
SUBJECTS = ("nsubj", "nsubjpass", "csubj", "csubjpass", "expl")
LABELLED = ("labels.jsonl", "labels_second.jsonl", "labels_third.jsonl")
OURS = {"GPE": "GPE", "DATE": "DATE", "TIME": "TIME", "EVENT": "EVENT"} | dict.fromkeys(
    ("CARDINAL", "ORDINAL", "QUANTITY", "MONEY", "PERCENT"), "NUMBER"
)
COUNT = len(LABELS)
CONTEXT_TAGS = [1, 2, 3, 4, 1 + COUNT, 2 + COUNT, 3 + COUNT, 4 + COUNT]
MOST = 16_000  # sentences that the tagger learns from

Row = dict[str, Any]
Spans = list[tuple[int, int, str]]


def released(data: Path, only: set[str] | None = None) -> tuple[set[str], set[str]]:
    """Return ids and normalised texts of released statements (all, or some) and their questions."""
    ids: set[str] = set()
    texts: set[str] = set()
    for source in SOURCES:
        for row in rows_of(data / f"situatedgen/statements_{source}.jsonl.gz"):
            if only is None or row["id"] in only:
                ids.add(row["id"])
                stated = (str(row.get(key, "")) for key in ("statement", "question"))
                texts.update(map(plain, stated))
    return ids, texts - {""}


def plain(text: str) -> str:
    """Return the ASCII letters and digits of a text in lower case."""
    return "".join(c for c in text.lower() if c.isascii() and c.isalnum())


def sentences_of(data: Path) -> Iterator[tuple[str, str, bool | None]]:
    """Yield id, sentence and truth (None if unknown) of every licence-clean source sentence."""
    for i, row in enumerate(rows_of(data / "creak/train.jsonl.gz")):
        yield f"creak::train::{i}", row["sentence"], row["label"] == "true"
    for i, row in enumerate(rows_of(data / "strategyqa/train.jsonl.gz")):
        yield strategyqa_id(i, row), row["question"], None
        for fact in row.get("facts", []):
            yield f"strategyqa-fact::{i}", fact, True
    for level in ("easy", "challenge"):
        for i, row in enumerate(rows_of(data / f"arc/{level}_train.jsonl.gz")):
            yield f"arc::{level.capitalize()}::Train::{i}", row["stem"], None
    for i, row in enumerate(rows_of(data / "commonsenseqa/train.jsonl.gz")):
        yield f"commonsenseqa::train::{i}", row["stem"], None
    for i, row in enumerate(table_of(data / "csqa2/csqa2.tsv.gz")):
        split, sentence, answer = list(row.values())[:3]
        if split == "train":
            yield f"csqa2::train::{i}", sentence, answer == "yes"


def strategyqa_id(place: int, row: Row) -> str:
    key = place if row.get("release_index") is None else row["release_index"]
    return f"strategyqa::train::{key}"


_encoder = cache(exact_encoder)


def hidden(texts: list[str]) -> list[Any]:
    return [tuple(states) for states in _encoder().hidden_states(texts)]


def block_states(rows: list[Row]) -> Iterator[tuple[Row, Any]]:
    """Yield rows with the token states and offsets of their texts."""
    for begin in range(0, len(rows), 512):
        block = rows[begin : begin + 512]
        yield from zip(block, hidden([row["text"] for row in block]), strict=True)


def context_tagger() -> ContextTagger:
    return ContextTagger(WORK, hidden, "")


def label(options: Namespace) -> None:
    """Label entities and nouns with a teacher, or with another one beside the first."""
    if options.beside:
        rows = list(rows_of(WORK / "labels.jsonl"))
        nlp = import_module("spacy").load(options.model, exclude=["lemmatizer", "tagger", "parser"])
        docs = nlp.pipe((row["text"] for row in rows), batch_size=256)
        again = [{"text": doc.text, "entities": _entities(doc)} for doc in docs]
        write_rows(WORK / f"labels_{options.beside}.jsonl", again)
        print(f"{len(rows):,} sentences labelled again")
        return
    ids, texts = released(options.data)
    kept: dict[str, str] = {}
    left = 0
    for name, text, _ in sentences_of(options.data):
        if name in ids or plain(text) in texts:
            left += 1
        else:
            kept.setdefault(text.strip(), name)
    nlp = import_module("spacy").load(options.model, exclude=["lemmatizer"])
    WORK.mkdir(parents=True, exist_ok=True)
    rows = []
    for doc in nlp.pipe(kept, batch_size=256):
        nouns = [(t.idx, t.idx + len(t)) for t in doc if t.pos_ in ("NOUN", "PROPN")]
        given = {"id": kept[doc.text], "text": doc.text}
        rows.append({**given, "entities": _entities(doc), "nouns": nouns})
    write_rows(WORK / "labels.jsonl", rows)
    print(f"{len(kept):,} sentences labelled, {left:,} left out")


def _entities(doc: Any) -> Spans:
    return [(e.start_char, e.end_char, e.label_) for e in doc.ents]


def label_questions(options: Namespace) -> None:
    """Mark where the predicate of yes/no questions starts, with a parser as teacher."""
    ids, texts = released(options.data)
    pool = [(name, text) for name, text, _ in sentences_of(options.data)]
    filtered = rows_of(options.data / "strategyqa/train_filtered.jsonl.gz")
    pool += [(f"strategyqa::train_filtered::{i}", q["question"]) for i, q in enumerate(filtered)]
    kept = dict.fromkeys(
        text.strip()
        for name, text in pool
        if text.strip().endswith("?")
        and text.split()[0].lower() in AUXILIARIES
        and name not in ids
        and plain(text) not in texts
    )
    nlp = import_module(options.model).load(exclude=["lemmatizer", "ner"])
    parsed = ((doc, predicate_start(doc)) for doc in nlp.pipe(kept, batch_size=256))
    rows = [{"text": doc.text, "start": start} for doc, start in parsed if start is not None]
    write_rows(WORK / "questions.jsonl", rows)
    print(f"{len(rows):,} of {len(kept):,} questions marked")


def predicate_start(doc: Any) -> int | None:
    """Return where the first word behind the subject starts; None if the parse shows none."""
    root = next(token for token in doc if token.head == token)
    subjects = [t for t in root.children if t.dep_ in SUBJECTS and t.i > 0]
    if not subjects:
        return None
    last = max(token.i for token in subjects[0].subtree)
    return doc[last + 1].idx if 0 < last + 1 < len(doc) and doc[last + 1].text != "?" else None


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
        inside = [i for i, (begin, _) in enumerate(words) if start <= begin < end]
        for i in inside:
            tags[i] = 1 + (COUNT if i != inside[0] else 0) + LABELS.index(label)
    return tags


def chosen(rows: list[Row]) -> list[Row]:
    """Return the sentences with context and some without."""
    has = [any(OURS.get(e[2]) in LABELS[:4] for e in row["entities"]) for row in rows]
    rich, poor = ([row for row, own in zip(rows, has, strict=True) if own == k] for k in (1, 0))
    random.Random(0).shuffle(poor)
    return rich + poor[: max(0, MOST - len(rich))]


def features(rows: list[Row], names: Names) -> tuple[NDArray[Any], ...]:
    """Return of each word its features (float16), all teachers' tags, and whether it is a noun.

    Each sentence is read as written and half of them also in lower case; the states of the encoder
    are the same, for it reads no capitals.
    """
    xs: list[NDArray[np.float16]] = []
    tags: list[tuple[int, ...]] = []
    nouns: list[float] = []
    rng = random.Random(0)
    for row, states in block_states(rows):
        text = row["text"]
        every = [entity for entities in row["teachers"] for entity in entities]
        sides = [mended(text, entities, every, names) for entities in row["teachers"]]
        versions = [text, text.lower()] if rng.random() < 0.5 else [text]
        for version in (each for each in versions if len(each) == len(text)):
            x, places, starts = token_features(version, *states, names, CITIES)
            heads = [i for i, start in enumerate(starts) if start]
            words = [places[i] for i in heads]
            xs.append(x[heads].astype(np.float16))
            tags += zip(*(tags_of(side, words) for side in sides), strict=True)
            nouns += [float(any(s <= at < e for s, e in row["nouns"])) for at, _ in words]
    return np.concatenate(xs), np.array(tags), np.array(nouns, np.float32)


def tag(_: Namespace) -> None:
    """Train the tagger on the teachers' labels.

    Each teacher's entities are an equal part of the loss, once the rules for dates and events have
    put them right; where one of them sees a place of the lists in what another takes for another
    name, all are taken to see it. One sentence in ten chooses the epoch.
    """
    import torch
    from torch.nn import functional

    torch.set_num_threads(1)
    rows, *others = (list(rows_of(WORK / file)) for file in LABELLED)
    for row, *more in zip(rows, *others, strict=True):
        row["teachers"] = [row["entities"], *(other["entities"] for other in more)]
    rows = chosen(rows)
    names = Names.load(WORK / "names.txt.gz", WORK / "cities.txt.gz")
    held = [zlib.crc32(row["text"].encode()) % 10 == 0 for row in rows]
    train, valid = (
        features([row for row, out in zip(rows, held, strict=True) if out == part], names)
        for part in (False, True)
    )
    print(f"{len(rows):,} sentences; words: {len(train[1]):,}")
    torch.manual_seed(0)
    network = perceptron(train[0].shape[1], 160, 2 * COUNT + 2, drop=0.2)
    step, rate, best = Steps(network.parameters(), 1e-3, 0.01), 1e-3, -1.0
    for epoch in range(8):
        network.train()
        order = np.random.default_rng(epoch).permutation(len(train[1]))
        for begin in range(0, len(order), 512):
            part = np.sort(order[begin : begin + 512])
            scores = network(torch.from_numpy(train[0][part].astype(np.float32)))
            tags = torch.from_numpy(train[1][part])
            sides = [functional.cross_entropy(scores[:, :-1], side) for side in tags.T]
            nouns = torch.from_numpy(train[2][part])
            of_nouns = functional.binary_cross_entropy_with_logits(scores[:, -1], nouns)
            step(sum(sides) / len(sides) + of_nouns, rate)
        rate *= 0.75
        network.eval()
        with torch.no_grad():
            scores = network(torch.from_numpy(valid[0].astype(np.float32))).numpy()
        tags = scores[:, :-1].argmax(1)[:, None]
        context = np.isin(valid[1], CONTEXT_TAGS)
        guess = np.isin(tags, CONTEXT_TAGS) & np.ones_like(context)
        right = (tags == valid[1]) & context
        f1 = 2 * right.sum() / (context.sum() + guess.sum())
        print(f"epoch {epoch}: F1 of context words {f1:.4f}", flush=True)
        if f1 > best:
            best = f1
            Mlp(layers_of(network)).save(WORK / "tagger.npz")


def clauses(_: Namespace) -> None:
    """Train what finds the predicate of yes/no questions; one in eight chooses the epoch."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows = list(rows_of(WORK / "questions.jsonl"))
    names = Names.load(WORK / "names.txt.gz")
    sets: dict[bool, list[tuple[NDArray[Any], int]]] = {True: [], False: []}
    for row, states in block_states(rows):
        x, places, starts = token_features(row["text"], *states, names)
        heads = [i for i, start in enumerate(starts) if start]
        at = [k for k, i in enumerate(heads) if places[i][0] == row["start"]]
        if at:
            held = zlib.crc32(row["text"].encode()) % 8 == 0
            sets[held].append((x[heads], at[0]))
    train, valid = sets[False], sets[True]
    network = perceptron(train[0][0].shape[1], 64, 1, drop=0.2)
    step, best = Steps(network.parameters(), 1e-3, 0.01), -1.0
    for epoch in range(12):
        network.train()
        order = np.random.default_rng(epoch).permutation(len(train))
        for begin in range(0, len(order), 32):
            part = [train[i] for i in order[begin : begin + 32]]
            scores = network(torch.from_numpy(np.concatenate([x for x, _ in part])))[:, 0]
            each = scores.split([len(x) for x, _ in part])
            loss = sum(
                torch.nn.functional.cross_entropy(row[None], torch.tensor([at]))
                for row, (_, at) in zip(each, part, strict=True)
            )
            step(loss / len(part))
        network.eval()
        with torch.no_grad():
            right = np.mean([int(network(torch.from_numpy(x)).argmax()) == at for x, at in valid])
        print(f"epoch {epoch}: {right:.4f} of {len(valid)}", flush=True)
        if right > best:
            best = right
            Mlp(layers_of(network)).save(WORK / "clauses.npz")
