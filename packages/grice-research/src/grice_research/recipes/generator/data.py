"""What the generator learns from: tails by head and relation, every evaluated text kept out."""

from __future__ import annotations

import gzip
import json
import string
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import WordPiece

from grice.knowledge.generative import (
    END_OF_TEXT,
    NOTHING,
    START,
    UNKNOWN,
    as_fragment,
    relation_token,
)
from grice.knowledge.schema import load_schema
from grice_research.recipes.knowledge.atomic import (
    Barrier,
    Known,
    barrier,
    content,
    folded,
    rows,
    training_triples,
)

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
VALIDATION = 40
"""One group of heads in so many is never trained on."""
CONCEPTNET = {"HasSubevent": "HasSubEvent", "Causes": "Causes"}
"""Its relations between events; what things are for and where they are stays out."""
EVENT2MIND = {"xintent": "xIntent", "xreact": "xReact", "oreact": "oReact"}
LONGEST = 160
"""Characters of a head or tail; the few longer ones are annotators' mistakes."""


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
    for row in rows(data / "atomic/atomic2020_sample.tsv.gz"):
        if row["split"] != "train":
            yield Known(row["head"].strip(), row["relation"], row["tail"].strip(), "atomic2020")


def _event2mind(data: Path) -> Iterator[Known]:
    with gzip.open(data / "event2mind/event2mind.jsonl.gz", "rt", encoding="utf-8") as file:
        for item in map(json.loads, file):
            if item["split"] == "train":
                for field, relation in EVENT2MIND.items():
                    for tail in item[field]:
                        yield Known(item["event"].strip(), relation, tail.strip(), "event2mind")


def _conceptnet(data: Path) -> Iterator[Known]:
    for row in rows(data / "conceptnet/cn100k.tsv.gz"):
        if row["split"] == "train" and row["relation"] in CONCEPTNET:
            relation = CONCEPTNET[row["relation"]]
            yield Known(row["head"].strip(), relation, row["tail"].strip(), "conceptnet")


def _turned(triples: Iterable[Known]) -> list[Known]:
    """What happens before an event happens after it, seen from the other side."""
    known = []
    for head, relation, tail, source in triples:
        inverse = SCHEMA[relation].inverse
        if inverse is not None:
            known.append(Known(tail, inverse, head, source))
    return known
