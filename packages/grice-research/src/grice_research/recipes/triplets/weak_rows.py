"""Rows of the default heads, in the form of ``rows.npz``: weak links with negatives as in CIDER.

python -m grice_research.recipes.triplets.weak_rows --parts 4

Knowledge has no place in a conversation. Each handful of known triples is put into one of the clean
conversations: heads anywhere, tails as many turns away as the paper's table 2 counts. So the
numbers of a pair say what nearness says, and words between the two say nothing.
"""

from __future__ import annotations

import json
import pickle
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from grice_research.places import work_folder
from grice_research.recipes.common import VectorStore, exact_encoder, parser_of, rows_of
from grice_research.recipes.relevance.corpora import normalise
from grice_research.recipes.triplets.weak import knowledge, nouns_of
from grice_tasks.cider.files import cider_schema
from grice_tasks.cider.reading import layout_of, structure
from grice_tasks.cider.span_candidates import Joined, explicit_links

WORK = work_folder("triplets")
SCHEMA = cider_schema()
RELATIONS = tuple(SCHEMA.relations)
NUMBER = {name: i for i, name in enumerate(RELATIONS)}

TABLE_2 = ((0, 0, 1009), (1, 1, 1490), (2, 5, 1501), (6, 8, 401), (9, 99, 138))
"""Turns between head and tail, from and to, and how many triplets: the paper's table 2."""
GROUP = 6  # known triples that stand together as if they were of one conversation
SPANS = 10  # spans of a conversation at least that negatives are made from
WRONG = 8  # negatives of a link, as the paper's test sets have

Place: TypeAlias = tuple[int, int]
Link: TypeAlias = tuple[int, int, int]  # numbers of head, relation and tail


class Group(NamedTuple):
    """Spans of one conversation with their links."""

    spans: list[str]
    vectors: np.ndarray
    links: list[Link]
    joined: Joined | None = None
    places: list[Place] | None = None


class Stage(NamedTuple):
    """A clean conversation that links are put into: its text, and where something stands."""

    joined: Joined
    places: list[Place]
    turns: np.ndarray


def negatives(links: list[Link], usable: list[int], draw: np.random.Generator) -> Iterator[Link]:
    """Yield the negatives of links in CIDER's four ways, eight a link, none of them a link."""
    true = set(links)
    for head, relation, tail in links:
        others = [span for span in usable if span not in (head, tail)]

        def other(others: list[int] = others) -> int:
            return others[draw.integers(len(others))]

        def renamed(relation: int = relation) -> int:
            return (relation + int(draw.integers(1, len(RELATIONS)))) % len(RELATIONS)

        wrong_links = [] if SCHEMA[RELATIONS[relation]].symmetric else [(tail, relation, head)]
        wrong_links += [(head, renamed(), tail) for _ in range(2)]
        wrong_links += [
            (other(), relation, tail) if draw.random() < 0.5 else (head, relation, other())
            for _ in range(2)
        ]
        while len(wrong_links) < WRONG:
            ways = ((tail, renamed(), head), (other(), renamed(), tail), (head, renamed(), other()),
                    (tail, relation, other()), (other(), relation, head),
                    (other(), renamed(), head), (tail, renamed(), other()))  # fmt: skip
            wrong_links.append(ways[draw.integers(len(ways))])
        yield from (triple for triple in dict.fromkeys(wrong_links) if triple not in true)


def staged(group: Group, stage: Stage, draw: np.random.Generator) -> list[Place]:
    """Return places for the spans of a group in a clean conversation."""
    chances = np.array([count for *_, count in TABLE_2], float)
    order = list(draw.permutation(len(stage.places)))
    taken: dict[int, int] = {}
    for head, _, tail in group.links:
        for span, beside in ((head, tail), (tail, head)):
            if span in taken:
                continue
            place = order[0]
            if beside in taken:
                first, last, _ = TABLE_2[draw.choice(len(TABLE_2), p=chances / chances.sum())]
                apart = np.abs(stage.turns[order] - stage.turns[taken[beside]])
                fitting = np.flatnonzero((apart >= first) & (apart <= last))
                place = order[fitting[0]] if len(fitting) else order[int(np.argmin(apart))]
            order.remove(place)
            taken[span] = place
    for span in range(len(group.spans)):
        if span not in taken:
            taken[span] = order.pop()
    return [stage.places[taken[span]] for span in range(len(group.spans))]


class Rows:
    def __init__(self, stages: list[Stage], draw: np.random.Generator) -> None:
        self.stages, self.draw = stages, draw
        self.vectors: list[np.ndarray] = []
        self.dialogue: list[int] = []
        self.pairs: list[Place] = []
        self.numbers: list[np.ndarray] = []
        self.nli: list[tuple[int, ...]] = []
        self.choice: list[tuple[int, ...]] = []
        self.texts: list[str] = []
        self.counts: Counter[str] = Counter()
        self.groups = 0

    def add(self, group: Group) -> None:
        """Add a conversation's links: where they stand, if they do, and on a stage."""
        if not group.links:
            return
        first = len(self.vectors)
        self.vectors.extend(group.vectors)
        self.dialogue += [self.groups] * len(group.spans)
        self.groups += 1
        for head, relation, tail in group.links:
            self.counts[RELATIONS[relation]] += 1
            self.texts.append(f"{group.spans[head]} {group.spans[tail]}")
        stage = self.stages[self.draw.integers(len(self.stages))]
        while len(stage.places) < len(group.spans):
            stage = self.stages[self.draw.integers(len(self.stages))]
        settings = [(stage.joined, staged(group, stage, self.draw))]
        if group.joined is not None and group.places is not None:
            settings.append((group.joined, group.places))
        for joined, places in settings:
            self._place(group, first, joined, places)

    def _place(self, group: Group, first: int, joined: Joined, places: list[Place]) -> None:
        layout = layout_of(joined.text)
        known: dict[Place, int] = {}

        def pair(head: int, tail: int) -> int:
            if (head, tail) not in known:
                known[head, tail] = len(self.pairs)
                self.pairs.append((first + head, first + tail))
                self.numbers.append(
                    structure(
                        layout, group.spans[head], group.spans[tail], places[head], places[tail]
                    )
                )
            return known[head, tail]

        usable = self._usable(group)
        for gold, links in ((1, group.links), (0, negatives(group.links, usable, self.draw))):
            self.nli.extend((pair(h, t), r, gold, 0, 1) for h, r, t in links)
        true = set(group.links)
        for head, relation, tail in group.links:
            wrong = [span for span in usable if span != head and (head, relation, span) not in true]
            if len(wrong) >= 3:
                tails = [tail, *self.draw.choice(wrong, 3, replace=False).tolist()]
                self.choice.append((*(pair(head, other) for other in tails), relation, 0, 0))

    def _usable(self, group: Group) -> list[int]:
        """Return the spans that negatives are made from: those of links, and some more if few."""
        linked = {span for head, _, tail in group.links for span in (head, tail)}
        more = [place for place in range(len(group.spans)) if place not in linked]
        missing = min(len(more), max(0, SPANS - len(linked)))
        return [*linked, *self.draw.choice(more, missing, replace=False).tolist()]

    def write(self, path: Path) -> None:
        np.savez(
            path,
            context=np.array(self.vectors, np.float16),
            dialogue=np.array(self.dialogue),
            pairs=np.array(self.pairs),
            structure=np.array(self.numbers, np.float16),
            nli=np.array(self.nli),
            choice=np.array(self.choice),
        )


def evaluated_turns(data: Path) -> set[str]:
    """Return the turns of CIDER's dialogues, normalised."""
    texts = set()
    for row in rows_of(data / "cider/dialogues.jsonl.gz"):
        for turn in re.split(r"\s{4}", row["utterances"]):
            texts.add(normalise(re.sub(r"^[A-Z]: ", "", turn)))
    return texts


def talks(
    parts: int, evaluated: set[str], links: Callable[[Joined, list], list[Link]]
) -> Iterator[Group | None]:
    """Yield the clean conversations with their links; None for one that holds an evaluated turn."""
    for part in range(parts):
        for _, joined, spotted, rows in pickle.loads((WORK / f"weak_{part}.pkl").read_bytes()):
            bounds = zip(joined.starts, [*joined.starts[1:], len(joined.text)], strict=True)
            turns = (normalise(joined.text[a:b]) for a, b in bounds)
            if any(len(turn) > 20 and turn in evaluated for turn in turns):
                yield None
                continue
            places = [span.place for span in spotted]
            spans = [joined.text[a:b] for a, b in places]
            yield Group(spans, rows.astype(np.float32), links(joined, spotted), joined, places)


def known_groups(known: list[tuple[str, str, str]], draw: np.random.Generator) -> Iterator[Group]:
    """Yield known triples a handful at a time, each side with its vector."""
    encoder = exact_encoder()
    kept = VectorStore(WORK / "vectors")
    kept.add(dict.fromkeys(side for head, _, tail in known for side in (head, tail)), encoder)
    table, order = kept.table(), draw.permutation(len(known))
    for start in range(0, len(order), GROUP):
        group = [known[i] for i in order[start : start + GROUP]]
        spans = list(dict.fromkeys(side for head, _, tail in group for side in (head, tail)))
        links = [(spans.index(h), NUMBER[r], spans.index(t)) for h, r, t in group if h != t]
        rows = table[kept.ids(spans)]
        yield Group(spans, rows, list(dict.fromkeys(links)))


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--parts", type=int, default=4)
    options = parser.parse_args()
    known = [t for t in knowledge(options.data) if normalise(t[0]) and normalise(t[2])]
    nouns = nouns_of(options.data)
    pairs = {(head.lower(), tail.lower()): NUMBER[r] for head, r, tail in known}

    def links(joined: Joined, spotted: list) -> list[Link]:
        explicit = [(h, NUMBER[r], t) for h, r, t in explicit_links(joined, spotted, nouns)]
        lower = [joined.text[slice(*span.place)].lower() for span in spotted]
        explicit += [(i, pairs[a, b], j) for i, a in enumerate(lower) for j, b in enumerate(lower)
                  if i != j and (a, b) in pairs]  # fmt: skip
        return list(dict.fromkeys(explicit))

    draw = np.random.default_rng(0)
    read = list(talks(options.parts, evaluated_turns(options.data), links))
    groups = [each for each in read if each is not None]
    turns = (np.array(list(map(each.joined.turn, each.places))) for each in groups)
    stages = [Stage(each.joined, each.places, own) for each, own in zip(groups, turns, strict=True)]
    rows = Rows(stages, draw)
    for group in groups:
        rows.add(group)
    from_talk = dict(rows.counts)
    for group in known_groups(known, draw):
        rows.add(group)
    (WORK / "weak_texts.json").write_text(json.dumps(rows.texts))
    rows.write(WORK / "weak.npz")
    summary = {"rows": len(rows.nli), "dropped": read.count(None), "talk": from_talk,
               "all": dict(rows.counts)}  # fmt: skip
    (WORK / "weak.json").write_text(json.dumps(summary))
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
