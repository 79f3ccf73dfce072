"""Licence-clean rows for the default heads: knowledge, and connectives in clean conversations.

PYTHONPATH=src:. python -m recipes.triplets.weak --part 0 [--parts 3]    # reads conversations
PYTHONPATH=src:. python -m recipes.triplets.weak --join                  # puts all together

Nothing of CIDER goes in. Conversations: Persuasion for Good (Apache 2.0), CaSiNo (CC BY),
Topical-Chat valid (CDLA-Sharing). Knowledge: ConceptNet-100K train (CC BY-SA), COPA-SSE dev (MIT),
ATOMIC-2020 (CC BY).
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import pickle
import re
from collections import Counter
from pathlib import Path

import numpy as np
from recipes.triplets.data import WORK

from grice.records import Conversation, Turn
from grice.runtime.bundle import open_bundle
from grice.runtime.embedded import EmbeddedEncoder
from grice.runtime.spans import SpanHead
from grice.triplets.connectives import Nouns, said_links
from grice.triplets.reading import read_texts
from grice.triplets.spotting import join_turns, slices, spot
from grice.triplets.statistics import TABLE_9
from grice.triplets.structure import layout_of, structure

SOURCES = (
    ("persuasion_for_good/dialogues", 160),
    ("casino/dialogues", 80),
    ("topical_chat/valid_freq", 160),
    ("topical_chat/valid_rare", 160),
)


def conversations(data: Path) -> list[Conversation]:
    found = []
    for name, most in SOURCES:
        with gzip.open(data / f"{name}.jsonl.gz", "rt") as lines:
            rows = [json.loads(line) for line in lines]
        order = np.random.default_rng(0).permutation(len(rows))[:most]
        for i in order:
            turns = tuple(
                Turn(str(t.get("speaker", "")), t["text"]) for t in rows[i]["turns"] if t["text"]
            )
            found.append(Conversation(f"{name}:{i}", turns[:16]))
    return found


def read_part(data: Path, part: int, parts: int) -> None:
    encoder = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)
    bundle = open_bundle("events")
    held: dict[str, object] = {}
    tagger = SpanHead(bundle.card.settings, bundle.folder, lambda ts: [held[t] for t in ts], "")
    rows = []
    for one in conversations(data)[part::parts]:
        joined = join_turns(one)
        reading = read_texts([joined.text], lambda ts: [h for h, _ in encoder.hidden(ts)])[0]
        held = dict(slices(reading, joined))
        found = spot(
            joined, lambda ts, held=held: [tagger.tag([t])[0] if t in held else () for t in ts]
        )
        vectors = np.array([reading.vector(each.place) for each in found], np.float16)
        rows.append((one.id, joined, found, vectors))
    (WORK / f"weak_{part}.pkl").write_bytes(pickle.dumps(rows))


CONCEPTNET = {
    name: (name, False)
    for name in (
        "AtLocation", "CapableOf", "Causes", "CausesDesire", "Desires", "HasA",
        "HasPrerequisite", "HasProperty", "HasSubevent", "IsA", "MotivatedByGoal", "UsedFor",
        "SimilarTo", "LocatedNear", "MannerOf", "ObstructedBy", "DistinctFrom", "Synonym",
        "Antonym", "NotIsA", "NotHasProperty",
    )
} | {"PartOf": ("HasA", True), "DefinedAs": ("IsA", False), "ReceivesAction": ("UsedFor", False),
     "HasFirstSubevent": ("HasSubevent", False),
     "HasLastSubevent": ("HasSubevent", False)}  # fmt: skip
ATOMIC = {
    "Causes": ("Causes", False), "xEffect": ("Causes", False), "oEffect": ("Causes", False),
    "xReact": ("Causes", False), "oReact": ("Causes", False), "xAttr": ("Implies", False),
    "xWant": ("CausesDesire", False), "oWant": ("CausesDesire", False),
    "xIntent": ("MotivatedByGoal", False), "xNeed": ("HasPrerequisite", False),
    "HinderedBy": ("ObstructedBy", False), "isBefore": ("Before", False),
    "isAfter": ("Before", True), "HasSubEvent": ("HasSubevent", False),
    "ObjectUse": ("UsedFor", False), "AtLocation": ("AtLocation", False),
    "CapableOf": ("CapableOf", False), "Desires": ("Desires", False),
    "HasProperty": ("HasProperty", False), "MadeUpOf": ("HasA", False),
}  # fmt: skip
EACH = 6
"""Triples of knowledge of a relation, times how often the paper says it was annotated."""
GROUP = 6
"""Triples of knowledge that stand together as if they were of one conversation."""


def knowledge(data: Path) -> list[tuple[str, str, str]]:
    """Return head, relation, tail; of each relation in proportion to table 9 of the paper.

    Which relations people mark often is the one thing that is taken from CIDER: its printed
    counts, no text of it.
    """
    found: dict[str, dict[tuple[str, str], None]] = {}

    def add(head: str, relation: str, tail: str, *, swapped: bool) -> None:
        sides = (tail, head) if swapped else (head, tail)
        found.setdefault(relation, {})[sides] = None

    draw = np.random.default_rng(0)
    for split, _, head, relation, tail, rating, _ in _table(data / "copa_sse/triples.tsv.gz"):
        if split == "dev" and relation in CONCEPTNET and float(rating) >= 3.5:
            name, swapped = CONCEPTNET[relation]
            add(head, name, tail, swapped=swapped)
    rows = [(h, *CONCEPTNET[r], t) for h, r, t, split in _table(data / "conceptnet/cn100k.tsv.gz")
            if split == "train" and r in CONCEPTNET]  # fmt: skip
    rows += [(_said(h), *ATOMIC[r], _said(t))
             for h, r, t, *_ in _table(data / "atomic/atomic2020_sample.tsv.gz")
             if r in ATOMIC and t != "none" and "___" not in h]  # fmt: skip
    for i in draw.permutation(len(rows)):
        head, relation, swapped, tail = rows[i]
        add(head, relation, tail, swapped=swapped)
    return [
        (head, relation, tail)
        for relation, pairs in found.items()
        for head, tail in list(pairs)[: EACH * max(20, TABLE_9[relation])]
    ]


def nouns_of(data: Path) -> Nouns:
    """Return which nouns name places, what is located, and what is used, by knowledge."""
    places, located, tools = Counter(), Counter(), Counter()
    rows = [(h, r, t) for h, r, t, split in _table(data / "conceptnet/cn100k.tsv.gz")
            if split == "train"]  # fmt: skip
    rows += [(h, r, t) for h, r, t, *_ in _table(data / "atomic/atomic2020_sample.tsv.gz")]
    for head, relation, tail in rows:
        first, last = (side.lower().split()[-1:] for side in (head, tail))
        if relation == "AtLocation":
            located.update(first)
            places.update(last)
        elif relation in ("UsedFor", "ObjectUse"):
            tools.update(first)
    return Nouns(*(frozenset(word for word, times in counts.items() if times >= least)
                   for counts, least in ((places, 4), (located, 2), (tools, 2))))  # fmt: skip


def _table(path: Path) -> list[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        return [line.rstrip("\n").split("\t") for line in lines][1:]


def _said(text: str) -> str:
    """Return a side of ATOMIC as a stretch of talk would be: without its subject, or "to"."""
    cut = re.sub(r"^(?:PersonX|PersonY|X|Y|to|he|she|they)\s+", "", text.strip(), count=2)
    return re.sub(r"Person ?[XYZ]", "them", cut)


def join(data: Path, parts: int) -> None:
    """Write rows of all that is weakly labelled, in the form of ``rows.npz``."""
    from recipes.plausibility.vectors import Vectors
    from recipes.relevance.corpora import normalise

    from grice.knowledge.schema import load_schema

    relations = {name: i for i, name in enumerate(load_schema("cider").relations)}
    evaluated = set()
    with gzip.open(data / "cider" / "dialogues.jsonl.gz", "rt") as lines:
        for line in lines:
            for turn in re.split(r"\s{4}", json.loads(line)["utterances"]):
                evaluated.add(normalise(re.sub(r"^[A-Z]: ", "", turn)))
    draw = np.random.default_rng(0)
    known = [t for t in knowledge(data) if normalise(t[0]) and normalise(t[2])]
    nouns = nouns_of(data)
    pairs_known = {(h.lower(), t.lower()): r for h, r, t in known}
    vectors, of_dialogue, pairs, features = [], [], [], []
    nli, choice, texts, counts = [], [], [], Counter()
    conversations = 0
    dropped = 0
    pool: list[np.ndarray] = []

    def add(spans: list, rows: np.ndarray, links: list, layout: object, places: list) -> None:
        """Add the positives of a text with negatives and options made from its spans."""
        nonlocal conversations
        first = len(vectors)
        vectors.extend(rows)
        of_dialogue.extend([conversations] * len(rows))
        conversations += 1
        true = set(links)
        for h, r, t in links:
            others = [i for i in range(len(spans)) if i not in (h, t) and (h, r, i) not in true]
            if len(others) < 4:
                continue
            wrong = (
                [(t, r, h)] if r not in ("SimilarTo", "Synonym", "Antonym", "DistinctFrom") else []
            )
            names = draw.choice(list(relations), 3, replace=False)
            wrong += [(h, str(q), t) for q in names]
            wrong += [(h, r, int(x)) for x in draw.choice(others, 2, replace=False)]
            wrong += [(int(x), r, t) for x in draw.choice(others, 2, replace=False)]
            wrong = [one for one in wrong if one not in true]
            tails = [t, *(int(x) for x in draw.choice(others, 3, replace=False))]
            for blind in (False, True):
                if layout is None and not blind:
                    continue

                def pair(a: int, b: int, *, blind: bool = blind) -> int:
                    pairs.append((first + a, first + b))
                    if blind:
                        features.append(pool[draw.integers(len(pool))])
                    else:
                        features.append(structure(layout, spans[a], spans[b], places[a], places[b]))
                    return len(pairs) - 1

                nli.append((pair(h, t), relations[r], 1, 0, 1))
                nli.extend(
                    (pair(a, b), relations[q], 0, 0, int(i < 3))
                    for i, (a, q, b) in enumerate(wrong)
                )
                choice.append((*(pair(h, x) for x in tails), relations[r], 0, 0))
            counts[r] += 1
            texts.append(f"{spans[h]} {spans[t]}")

    for part in range(parts):
        for _, joined, spotted, rows in pickle.loads((WORK / f"weak_{part}.pkl").read_bytes()):
            places = [one.place for one in spotted]
            spans = [joined.text[a:b] for a, b in places]
            turns = joined.text
            if any(
                normalise(joined.text[a:b]) in evaluated and len(normalise(joined.text[a:b])) > 20
                for a, b in zip(joined.starts, [*joined.starts[1:], len(turns)], strict=True)
            ):
                dropped += 1
                continue
            layout = layout_of(joined.text)
            for _ in range(40):
                a, b = draw.integers(len(spans), size=2)
                pool.append(structure(layout, spans[a], spans[b], places[a], places[b]))
            links = [tuple(one) for one in dict.fromkeys(said_links(joined, spotted, nouns))]
            lower = [one.lower() for one in spans]
            for i, a in enumerate(lower):
                for j, b in enumerate(lower):
                    if i != j and (a, b) in pairs_known:
                        links.append((i, pairs_known[a, b], j))
            add(spans, rows.astype(np.float32), links, layout, places)
    from_talk = dict(counts)
    encoder = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)
    sides = list(dict.fromkeys(side for h, _, t in known for side in (h, t)))
    kept = Vectors(WORK / "vectors")
    kept.add(sides, encoder)
    alone = {one: kept.array[kept.index[one]].astype(np.float32) for one in sides}
    order = draw.permutation(len(known))
    for start in range(0, len(order), GROUP):
        group = [known[i] for i in order[start : start + GROUP]]
        spans = list(dict.fromkeys(side for h, _, t in group for side in (h, t)))
        links = [(spans.index(h), r, spans.index(t)) for h, r, t in group if h != t]
        add(spans, np.array([alone[s] for s in spans]), links, None, None)
    (WORK / "weak_texts.json").write_text(json.dumps(texts))
    np.savez(
        WORK / "weak.npz",
        context=np.array(vectors, np.float16),
        dialogue=np.array(of_dialogue),
        pairs=np.array(pairs),
        structure=np.array(features, np.float16),
        nli=np.array(nli),
        choice=np.array(choice),
        more=np.zeros((len(choice), 4), int),
    )
    summary = {"rows": len(nli), "dropped": dropped, "talk": from_talk, "all": dict(counts)}
    (WORK / "weak.json").write_text(json.dumps(summary))
    print(json.dumps(summary))


def main() -> None:
    parser = argparse.ArgumentParser()
    default = Path(os.environ.get("GRICE_DATA", "../shared/data"))
    parser.add_argument("--data", type=Path, default=default)
    parser.add_argument("--part", type=int, default=0)
    parser.add_argument("--parts", type=int, default=3)
    parser.add_argument("--join", action="store_true")
    options = parser.parse_args()
    if options.join:
        join(options.data, options.parts)
    else:
        read_part(options.data, options.part, options.parts)


if __name__ == "__main__":
    main()
