"""Training data of the default heads: clean conversations, read, and knowledge.

python -m grice_research.recipes.triplets.weak --part 0 [--parts 4]    # reads conversations

Nothing of CIDER goes in. Conversations: Persuasion for Good (Apache 2.0), CaSiNo (CC BY),
Topical-Chat valid (CDLA-Sharing). Knowledge: ConceptNet-100K train (CC BY-SA), COPA-SSE dev (MIT),
ATOMIC-2020 (CC BY).
"""

from __future__ import annotations

import pickle
import re
import tomllib
from collections import Counter
from pathlib import Path

import numpy as np

from grice.data import Conversation, Turn
from grice.models.folder import open_folder
from grice.models.loader import read_settings
from grice.models.spans import SpanHead, SpanSettings
from grice_research.places import work_folder
from grice_research.recipes.common import exact_encoder, parser_of, rows_of, table_of
from grice_tasks.cider.reading import read_texts
from grice_tasks.cider.span_candidates import Nouns, find_candidates, join_turns, slices
from grice_tasks.cider.statistics import published

WORK = work_folder("triplets")
SOURCES = (
    ("persuasion_for_good/dialogues", 160),
    ("casino/dialogues", 80),
    ("topical_chat/valid_freq", 160),
    ("topical_chat/valid_rare", 160),
)


def conversations(data: Path) -> list[Conversation]:
    talks = []
    for name, most in SOURCES:
        rows = list(rows_of(data / f"{name}.jsonl.gz"))
        order = np.random.default_rng(0).permutation(len(rows))
        for i in order[:most]:
            turns = tuple(
                Turn(str(t.get("speaker", "")), t["text"]) for t in rows[i]["turns"] if t["text"]
            )
            talks.append(Conversation(f"{name}:{i}", turns[:16]))
    return talks


def read(talks: list[Conversation], out: Path) -> None:
    """Write the conversations with their stretches and vectors."""
    encoder = exact_encoder()
    folder = open_folder("events")
    held: dict[str, object] = {}
    settings = read_settings(folder, SpanSettings)
    tagger = SpanHead(settings, folder.path, lambda ts: [held[t] for t in ts], "")
    rows = []
    for talk in talks:
        joined = join_turns(talk)
        reading = read_texts([joined.text], encoder.hidden_states)[0]
        held = dict(slices(reading, joined))
        span_candidates = find_candidates(
            joined, lambda ts, held=held: [tagger.tag([t])[0] if t in held else () for t in ts]
        )
        vectors = np.array([reading.vector(each.place) for each in span_candidates], np.float16)
        rows.append((talk.id, joined, span_candidates, vectors))
    out.write_bytes(pickle.dumps(rows))


MAPS = tomllib.loads((Path(__file__).parent / "relations.toml").read_text("utf-8"))
CONCEPTNET, ATOMIC = MAPS["conceptnet"], MAPS["atomic"]
EACH = 6  # triples of knowledge of a relation, times how often the paper says it was annotated


def all_knowledge(data: Path) -> list[tuple[str, str, str]]:
    """Return head, relation of CIDER and tail of what is known, what people rated first."""
    rows = [(h, *CONCEPTNET[r], t) for h, r, t, split in _values(data / "conceptnet/cn100k.tsv.gz")
            if split == "train" and r in CONCEPTNET]  # fmt: skip
    rows += [(_statement(h), *ATOMIC[r], _statement(t))
             for h, r, t, *_ in _values(data / "atomic/atomic2020_sample.tsv.gz")
             if r in ATOMIC and t != "none" and "___" not in h]  # fmt: skip
    rated = [(h, *CONCEPTNET[r], t)
             for split, _, h, r, t, rating, _ in _values(data / "copa_sse/triples.tsv.gz")
             if split == "dev" and r in CONCEPTNET and float(rating) >= 3.5]  # fmt: skip
    order = np.random.default_rng(0).permutation(len(rows))
    return [
        (tail, relation, head) if swapped else (head, relation, tail)
        for head, relation, swapped, tail in (*rated, *(rows[i] for i in order))
    ]


def knowledge(data: Path) -> list[tuple[str, str, str]]:
    """Return what is learned of what is known, each relation in proportion to the paper's table 9.

    How often people mark a relation, and how far apart head and tail are (``weak_rows``), is what
    is taken from CIDER: printed counts, no text of it.
    """
    by_relation: dict[str, dict[tuple[str, str], None]] = {}
    for head, relation, tail in all_knowledge(data):
        by_relation.setdefault(relation, {})[head, tail] = None
    return [
        (head, relation, tail)
        for relation, pairs in by_relation.items()
        for head, tail in list(pairs)[: EACH * max(20, published().relations[relation])]
    ]


def nouns_of(data: Path) -> Nouns:
    """Return which nouns name places, what is located, and what is used, by knowledge."""
    places, located, tools = Counter(), Counter(), Counter()
    rows = [(h, r, t) for h, r, t, split in _values(data / "conceptnet/cn100k.tsv.gz")
            if split == "train"]  # fmt: skip
    rows += [(h, r, t) for h, r, t, *_ in _values(data / "atomic/atomic2020_sample.tsv.gz")]
    for head, relation, tail in rows:
        first, last = (side.lower().split()[-1:] for side in (head, tail))
        if relation == "AtLocation":
            located.update(first)
            places.update(last)
        elif relation in ("UsedFor", "ObjectUse"):
            tools.update(first)
    return Nouns(*(frozenset(word for word, times in counts.items() if times >= least)
                   for counts, least in ((places, 4), (located, 2), (tools, 2))))  # fmt: skip


def _values(path: Path) -> list[list[str]]:
    return [list(row.values()) for row in table_of(path)]


def _statement(text: str) -> str:
    """Return a side of ATOMIC as a stretch of talk would be: without its subject, or "to"."""
    cut = re.sub(r"^(?:PersonX|PersonY|X|Y|to|he|she|they)\s+", "", text.strip(), count=2)
    return re.sub(r"Person ?[XYZ]", "them", cut)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--part", type=int, default=0)
    parser.add_argument("--parts", type=int, default=4)
    options = parser.parse_args()
    talks = conversations(options.data)
    WORK.mkdir(parents=True, exist_ok=True)
    read(talks[options.part :: options.parts], WORK / f"weak_{options.part}.pkl")


if __name__ == "__main__":
    main()
