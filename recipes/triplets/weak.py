"""Licence-clean rows for the default heads: knowledge, and connectives in clean conversations.

PYTHONPATH=src:. python -m recipes.triplets.weak --part 0 [--parts 3]    # reads conversations
PYTHONPATH=src:. python -m recipes.triplets.weak --join                  # puts all together

Nothing of CIDER goes in. Conversations: Persuasion for Good (Apache 2.0), CaSiNo (CC BY),
Topical-Chat valid (CDLA-Sharing). Knowledge: ConceptNet-100K train (CC BY-SA), COPA-SSE dev (MIT).
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import pickle
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from recipes.triplets.data import WORK

from grice.records import Conversation, Turn
from grice.runtime.bundle import open_bundle
from grice.runtime.embedded import EmbeddedEncoder
from grice.runtime.spans import SpanHead
from grice.triplets.reading import read_texts
from grice.triplets.spotting import Joined, join_turns, slices, spot
from grice.triplets.structure import layout_of, structure

SOURCES = (
    ("persuasion_for_good/dialogues", 60),
    ("casino/dialogues", 50),
    ("topical_chat/valid_freq", 60),
    ("topical_chat/valid_rare", 60),
)
RULES = (
    # Words between two events, the relation they show, and whether it runs from second to first.
    (r"^\W*(?:because|cause|cuz|since|as)\b(?! (?:well|soon|long|if|of))", "Causes", True),
    (
        r"^\W*(?:so|that's why|which is why|that is why)\b(?! (?:much|far|many|that))",
        "Causes",
        False,
    ),
    (r"^\W*(?:so that|in order to|so i can|so we can|to)\W*(?:\w+ )?$", "MotivatedByGoal", False),
    (r"^\W*(?:but|however|unfortunately)\b", "ObstructedBy", False),
    (r"^\W*(?:and then|then|before|and after that|,? then)\b", "Before", False),
    (r"^\W*after\b", "Before", True),
    (r"^\W*(?:while|at the same time)\b", "Simutaneous", False),
    (r"^\W*(?:when|during)\W*(?:the |my |a |our )?$", "HappensIn", False),
    (r"^\W*(?:at|in|on|inside)\W*(?:the |my |a |our |their )?$", "AtLocation", False),
    (r"^\W*(?:is|was|are|were|'s)\W*(?:so |very |really |too )?$", "HasProperty", False),
    (r"^\W*(?:is|was|are|were|'s)\W*(?:an? |the )$", "IsA", False),
    (r"^\W*(?:for|used to|used for)\W*(?:the |my |a )?$", "UsedFor", False),
    (r"^\W*(?:if|unless|only if|once)\b", "HasPrerequisite", False),
    (r"^\W*(?:must|means?|which means|apparently|so (?:you|he|she|they) must)\b", "Implies", False),
)
TIMES = re.compile(
    r"\b(?:\d{4}s?|\d+ ?(?:am|pm)|(?:mon|tues|wednes|thurs|fri|satur|sun)day|week\w*|month\w*|"
    r"morning|evening|afternoon|night|noon|winter|summer|spring|autumn|century|season|christmas|"
    r"january|february|march|april|june|july|august|september|october|november|december|"
    r"day\w*|years?|past|future|holidays?|war|game|match|party|trip|class|interview|election)\b",
    re.I,
)
WISH = re.compile(r"\b(?:want|need|like|love|hope|wish|let's|should|plan|going) ?(?:to)?\b", re.I)


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
        places = [one.place for one in found]
        rows.append(
            (one.id, joined, places, np.array([reading.vector(p) for p in places], np.float16))
        )
        print(one.id, len(places), flush=True)
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
MOST = 600
"""Triples of knowledge of one relation."""
GROUP = 6
"""Triples of knowledge that stand together as if they were of one conversation."""


def knowledge(data: Path) -> list[tuple[str, str, str]]:
    """Return head, relation, tail; rated ones first, then so many of each relation by chance."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    with gzip.open(data / "copa_sse" / "triples.tsv.gz", "rt") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines][1:]
    for split, _, head, relation, tail, rating, _ in rows:
        if split == "dev" and relation in CONCEPTNET and float(rating) >= 3.5:
            found.setdefault(relation, []).append((head, relation, tail))
    draw = np.random.default_rng(0)
    with gzip.open(data / "conceptnet" / "cn100k.tsv.gz", "rt") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines][1:]
    for i in draw.permutation(len(rows)):
        head, relation, tail, split = rows[i]
        if (
            split == "train"
            and relation in CONCEPTNET
            and len(found.setdefault(relation, [])) < MOST
        ):
            found[relation].append((head, relation, tail))
    listed, counts = [], Counter()
    for triples in found.values():
        for head, relation, tail in triples:
            name, swapped = CONCEPTNET[relation]
            counts[name] += 1
            if counts[name] <= MOST:
                listed.append((tail, name, head) if swapped else (head, name, tail))
    return listed


def cued(joined: Joined, places: list[tuple[int, int]]) -> Iterator[tuple[int, str, int]]:
    """Yield the pairs of neighbouring spans with a connective between them."""
    for i, first in enumerate(places):
        for j in range(i + 1, min(i + 5, len(places))):
            second = places[j]
            if second[0] < first[1] or joined.turn(first) != joined.turn(second):
                continue
            between = joined.text[first[1] : second[0]]
            if len(between) > 25 or re.search(r"[.?!]", between[:-1]):
                continue
            for pattern, relation, swapped in RULES:
                if re.search(pattern, between.strip() + " ", re.IGNORECASE):
                    name = relation
                    tail = joined.text[slice(*second)]
                    if name == "AtLocation" and TIMES.search(tail):
                        name = "HappensIn"
                    if (
                        name == "Causes"
                        and not swapped
                        and WISH.search(joined.text[slice(*second)])
                    ):
                        name = "CausesDesire"
                    yield (j, name, i) if swapped else (i, name, j)
                    break


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
        for _, joined, places, rows in pickle.loads((WORK / f"weak_{part}.pkl").read_bytes()):
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
            links = list(dict.fromkeys(cued(joined, places)))
            lower = [one.lower() for one in spans]
            for i, a in enumerate(lower):
                for j, b in enumerate(lower):
                    if i != j and (a, b) in pairs_known:
                        links.append((i, pairs_known[a, b], j))
            add(spans, rows.astype(np.float32), links, layout, places)
    from_talk = dict(counts)
    encoder = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)
    sides = list(dict.fromkeys(side for h, _, t in known for side in (h, t)))
    # What another recipe encoded by the same encoder need not be encoded again.
    other = Vectors(Path("recipes/graphs/work/vectors"))
    alone = {one: other.array[other.index[one]].astype(np.float32)
             for one in sides if one in other.index}  # fmt: skip
    new = [one for one in sides if one not in alone]
    print(len(sides), "sides,", len(new), "new", flush=True)
    alone |= dict(zip(new, encoder.encode(new), strict=True))
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
