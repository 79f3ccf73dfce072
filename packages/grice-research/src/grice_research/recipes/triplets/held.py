"""How good heads are on clean talk: held-out knowledge between stretches where they stand.

python -m grice_research.recipes.triplets.held HEAD.npz …     # behind weak --held

Positives are known triples that no head learned from, both sides of which stand in one of 320
conversations that no head read, without a connective that says them; negatives are made from their
spans in CIDER's four ways. Nothing of CIDER goes in, so that this may choose what ships.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from grice.knowledge.mapping import find_mapping
from grice.models.models import Models
from grice.records import Triple
from grice_research.recipes.options import parser_of
from grice_research.recipes.triplets.data import WORK
from grice_research.recipes.triplets.links import macro_f1
from grice_research.recipes.triplets.weak import all_knowledge, knowledge, nouns_of
from grice_research.recipes.triplets.weak_rows import NUMBER, RELATIONS, SPANS, Link, negatives
from grice_research.triplets.scores import average_precision
from grice_tasks.cider.connectives import explicit_links
from grice_tasks.cider.heads import LinkHead, Sides
from grice_tasks.cider.structure import layout_of

DRAWS = 200
"""Draws of conversations for intervals."""


def plain(text: str) -> str:
    """Return a side in lower case without article, and its last noun in the singular."""
    words = text.lower().split()
    while words and words[0] in ("a", "an", "the", "my", "your", "to"):
        words = words[1:]
    phrase = " ".join(words)
    return phrase[:-1] if phrase.endswith("s") and len(phrase) > 4 else phrase


def known_pairs(data: Path) -> dict[tuple[str, str], int]:
    """Return the relation of head and tail of all knowledge that was not learned from."""
    learned = {(plain(head), plain(tail)) for head, _, tail in knowledge(data)}
    by_sides: dict[tuple[str, str], int] = {}
    for head, relation, tail in all_knowledge(data):
        by_sides.setdefault((plain(head), plain(tail)), NUMBER[relation])
    return {sides: relation for sides, relation in by_sides.items() if sides not in learned}


def conversations(data: Path) -> list[tuple[Sides, list[Link], list[Link]]]:
    """Return the spans of each held-out conversation, with positives and negatives."""
    pairs, nouns = known_pairs(data), nouns_of(data)
    draw = np.random.default_rng(0)
    examples = []
    for _, joined, spotted, rows in pickle.loads((WORK / "held.pkl").read_bytes()):
        places = [span.place for span in spotted]
        spans = [joined.text[a:b] for a, b in places]
        linked_explicitly = {
            (head, tail) for head, _, tail in explicit_links(joined, spotted, nouns)
        }
        nearest: dict[tuple[str, str], tuple[int, Link]] = {}
        words = [plain(span) for span in spans]
        for i, first in enumerate(words):
            for j, second in enumerate(words):
                apart = places[i][1] <= places[j][0] or places[j][1] <= places[i][0]
                if (first, second) in pairs and apart and (i, j) not in linked_explicitly:
                    link = abs(places[i][0] - places[j][0]), (i, pairs[first, second], j)
                    nearest[first, second] = min(nearest.get((first, second), link), link)
        links = [link for _, link in nearest.values()]
        if not links:
            continue
        linked = {span for head, _, tail in links for span in (head, tail)}
        more = [place for place in range(len(spans)) if place not in linked]
        missing = min(len(more), max(0, SPANS - len(linked)))
        usable = [*linked, *draw.choice(more, missing, replace=False).tolist()]
        sides = Sides(layout_of(joined.text), spans, places, rows.astype(np.float32))
        examples.append((sides, links, list(negatives(links, usable, draw))))
    return examples


class Talk(NamedTuple):
    """A conversation's spans, positives and negatives, with what else may speak for a link.

    Attributes:
        sides: The spans.
        links: The positives.
        wrong: The negatives.
        sensible: Log odds of the shipped plausibility of each, positives first; 0 for relations
            that ATOMIC does not have.
    """

    sides: Sides
    links: list[Link]
    wrong: list[Link]
    sensible: np.ndarray


def with_plausibility(talks: list[tuple[Sides, list[Link], list[Link]]]) -> Iterator[Talk]:
    """Yield the conversations with the plausibility of each link, less that of its relation."""
    models = Models(mode="exact", workers=1, cache=None)
    head = models.open("bundle:plausibility")
    mapping = find_mapping("cider", "atomic2020").mapped
    listed = [
        [Triple(sides.spans[a], mapping.get(RELATIONS[r], ""), sides.spans[b])
         for a, r, b in (*links, *wrong)]
        for sides, links, wrong in talks
    ]  # fmt: skip
    known = [triple for each in listed for triple in each if triple.relation in head.known]
    values = np.clip(head.plausibility(known), 1e-4, 1 - 1e-4)
    models.close()
    odds = dict(zip(known, np.log(values / (1 - values)).tolist(), strict=True))
    usual = {name: np.mean([odds[odd] for odd in odds if odd.relation == name])
             for name in {odd.relation for odd in odds}}  # fmt: skip
    for (sides, links, wrong), each in zip(talks, listed, strict=True):
        sensible = [
            odds[triple] - usual[triple.relation] if triple in odds else 0.0 for triple in each
        ]
        yield Talk(sides, links, wrong, np.array(sensible))


def measured(path: Path, talks: list[Talk]) -> None:
    """Print average precision, best macro F1 and accuracy of relations, with intervals."""
    head = LinkHead(path)
    gold, right = [], []
    ways: dict[str, list[np.ndarray]] = {}
    for talk in talks:
        named = [r for _, r, _ in (*talk.links, *talk.wrong)]
        ends = np.array([(a, b) for a, _, b in (*talk.links, *talk.wrong)])
        numbers, turned = head(talk.sides, ends), head(talk.sides, ends[:, ::-1])
        every = np.arange(len(named))
        odds, other = numbers[every, 0, named], turned[every, 0, named]
        alike = (talk.sides.vectors[ends[:, 0]] * talk.sides.vectors[ends[:, 1]]).sum(axis=1)
        for name, links in {
            "as it is": odds, "less the other direction, 0.2": odds - 0.2 * other,
            "and similarity, 1": odds + alike, "and plausibility, 0.3": odds + 0.3 * talk.sensible,
        }.items():  # fmt: skip
            ways.setdefault(name, []).append(links)
        gold.append(every < len(talk.links))
        right.append(numbers[gold[-1], 2].argmax(axis=1) == np.array(named)[gold[-1]])

    def scores(which: np.ndarray, odds: list[np.ndarray]) -> tuple[float, float, float]:
        o, g = (np.concatenate([each[i] for i in which]) for each in (odds, gold))
        levels = np.quantile(o, np.linspace(0.6, 0.95, 36))
        best = max(macro_f1(g, o > level) for level in levels)
        relation = np.concatenate([right[i] for i in which]).mean()
        return average_precision(g.tolist(), o.tolist()), best, float(relation)

    whole = np.arange(len(talks))
    print(path, "positives", sum(map(sum, gold)), "of", sum(map(len, gold)))
    for way, odds in ways.items():
        draw = np.random.default_rng(0)
        drawn = [scores(draw.choice(whole, len(whole)), odds) for _ in range(DRAWS)]
        low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
        shown = zip(("ap", "macro_f1", "relation"), scores(whole, odds), low, high, strict=True)
        print(f"  {way}:", *(f"{n} {v:.3f} [{a:.3f}, {b:.3f}]" for n, v, a, b in shown), flush=True)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("heads", nargs="+", type=Path)
    options = parser.parse_args()
    talks = list(with_plausibility(conversations(options.data)))
    for path in options.heads:
        measured(path, talks)


if __name__ == "__main__":
    main()
