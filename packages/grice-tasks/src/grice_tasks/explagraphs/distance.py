"""Graph edit distance, exact, with the cost of the official script.

Concepts and facts are added, deleted and relabelled at a cost of 1 each. The cheapest way is
found by depth-first search over which predicted concept becomes which gold concept: everything
else follows from that. A bound on what the rest can still save cuts the search.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec
import networkx

from grice_tasks.explagraphs.graph import Graph, links_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from networkx import DiGraph

LARGEST = 17  # Concepts and facts of the largest prediction the task allows: 9 and 8
STEPS = 2_000_000  # Most pairs of concepts tried; two graphs of legal size need some ten thousand


class Distance(msgspec.Struct, frozen=True):
    """How many edits turn one graph into another."""

    edits: int
    scale: int  # what the official script divides by: gold concepts, gold facts and 17
    exact: bool = True  # false if the graphs are so large that the search was cut off

    @property
    def normalised(self) -> float:
        """Edits over scale; at most 1 for legal graphs."""
        return self.edits / self.scale


def edit_distance(predicted: Graph, gold: Graph) -> Distance:
    """Return the edits that turn the predicted graph into the gold graph.

    Of parallel relations between two concepts the last counts, as in the released code.
    """
    mine, other = links_of(predicted), links_of(gold)
    size = len(mine) + len(other) + mine.size() + other.size()
    # The distance is symmetric; walking the smaller side leaves no concept of it unpaired.
    small, large = (mine, other) if len(mine) <= len(other) else (other, mine)
    search = _Search(small, large)
    search.run()
    scale = len(other) + other.size() + LARGEST
    return Distance(size - search.best, scale, search.steps <= STEPS)


class _Search:
    """The largest saving of any pairing of all concepts of the small graph.

    Deleting and adding everything costs the sum of all sizes. A pair of concepts saves 1, and
    1 more with equal labels; a pair of facts between paired concepts likewise.
    """

    def __init__(self, small: DiGraph, large: DiGraph) -> None:
        self.order = _walk(small)
        self.names = list(large)
        place = {name: number for number, name in enumerate(self.order)}
        number = {name: index for index, name in enumerate(self.names)}
        self.large = {
            (number[head], number[tail]): relation
            for head, tail, relation in large.edges(data="relation")
        }
        # Facts of the small graph by the later one of their two concepts: known by then.
        self.back: list[list[tuple[int, bool, str]]] = [[] for _ in self.order]
        for head, tail, relation in small.edges(data="relation"):
            a, b = place[head], place[tail]
            self.back[max(a, b)].append((min(a, b), a <= b, relation))
        self.rest = self._rest()
        self.best = 0
        self.steps = 0

    def _rest(self) -> list[int]:
        """Return the most that the concepts from each place on can save."""
        labels = set(self.names)
        relations = Counter(self.large.values())
        rest = [0] * (len(self.order) + 1)
        facts = 0
        seen: Counter[str] = Counter()
        concepts = 0
        for place in range(len(self.order) - 1, -1, -1):
            concepts += 2 if self.order[place] in labels else 1
            facts += len(self.back[place])
            seen.update(relation for _, _, relation in self.back[place])
            same = sum(min(count, relations[relation]) for relation, count in seen.items())
            rest[place] = concepts + min(facts, len(self.large)) + min(same, len(self.large))
        return rest

    def run(self) -> None:
        """Try the pairings, the most saving ones first."""
        free = set(range(len(self.names)))
        paired: list[int] = []
        # One frame per place: the saving so far and the choices still to try, best last.
        frames = [(0, self._choices(paired, free))]
        while frames and self.steps <= STEPS:
            saved, choices = frames[-1]
            place = len(frames) - 1
            if place == len(self.order):
                self.best = max(self.best, saved)
                choices.clear()
            if not choices or saved + choices[-1][0] + self.rest[place + 1] <= self.best:
                frames.pop()
                if paired:
                    free.add(paired.pop())
                continue
            gain, target = choices.pop()
            self.steps += len(free)
            paired.append(target)
            free.discard(target)
            frames.append((saved + gain, self._choices(paired, free)))

    def _choices(self, paired: Sequence[int], free: set[int]) -> list[tuple[int, int]]:
        """Return what pairing the next concept with each free one saves at once, best last."""
        place = len(paired)
        if place == len(self.order):
            return []
        name, back = self.order[place], self.back[place]
        choices = []
        for target in free:
            gain = 2 if self.names[target] == name else 1
            for earlier, forward, relation in back:
                near = target if earlier == place else paired[earlier]
                ends = (near, target) if forward else (target, near)
                there = self.large.get(ends)
                if there is not None:
                    gain += 2 if there == relation else 1
            choices.append((gain, target))
        choices.sort()
        return choices


def _walk(links: DiGraph) -> list[str]:
    """Return the concepts, each next to those it is linked with, so that facts are soon known."""
    order: dict[str, None] = {}
    for start in sorted(links, key=lambda concept: -links.degree[concept]):
        stack = [start]
        while stack:
            concept = stack.pop()
            if concept not in order:
                order[concept] = None
                stack += sorted(
                    networkx.all_neighbors(links, concept), key=links.degree.__getitem__
                )
    return list(order)
