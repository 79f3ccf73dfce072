"""A file of your own knowledge on top of other knowledge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.errors import BundleError
from grice.knowledge.lookup import NearHead

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grice.knowledge.file import KnowledgeFile
    from grice.knowledge.lookup import TripleStore
    from grice.models.protocols import Encoder
    from grice.records import Triple


class Overlay:
    """A file of your own knowledge on top of other knowledge.

    What the file took out is not there. Heads of the file are looked at where they are at least
    as near as the last of the nearest heads below, and come on top of these: knowledge that is
    added takes none away, and moves only what is like it.

    Args:
        base: What lies below it, of the same schema.
    """

    def __init__(self, file: KnowledgeFile, base: TripleStore) -> None:
        if file.schema.name != base.schema.name:
            raise BundleError(
                f"{file.path}: its schema is {file.schema.name!r}, the knowledge below it has "
                f"{base.schema.name!r}"
            )
        self.schema = file.schema
        self.file = file
        self.base = base
        self.identity = f"{file.identity}+{base.identity}"
        self._hidden = {(head.lower(), relation, tail) for head, relation, tail in file.hidden()}

    def __len__(self) -> int:
        """Return the number of triples, each once."""
        own = self.file.all()
        twice = sum(self._below(triple) for triple in own)
        return len(self.base) - len(self._hidden) + len(own) - twice

    def nearest_heads(
        self, texts: Sequence[str], count: int, *, encoder: Encoder, relation: str | None = None
    ) -> list[list[NearHead]]:
        """Return known heads near to worded texts, those of the file where they are near enough."""
        emptied = self._emptied(relation)
        below = self.base.nearest_heads(
            texts, count + len(emptied), encoder=encoder, relation=relation
        )
        own = self.file.nearest_heads(texts, count, encoder=encoder, relation=relation)
        return [
            _merged(
                [near for near in base if near.head.lower() not in emptied][:count], mine, count
            )
            for base, mine in zip(below, own, strict=True)
        ]

    def tails_of(self, head: str, relation: str, count: int | None = None) -> list[Triple]:
        """Return your own triples of a head and relation, then the first ones below."""
        own = self.file.tails_of(head, relation)
        known = {triple.tail for triple in own}
        # What is hidden must not use up the places of what is not.
        below = [
            triple
            for triple in self.base.tails_of(head, relation)
            if (triple.head.lower(), relation, triple.tail) not in self._hidden
        ]
        return own + [triple for triple in below[:count] if triple.tail not in known]

    def find(self, words: Sequence[str], count: int) -> list[Triple]:
        """Return triples that hold each of the words, your own first."""
        own = self.file.find(words, count)
        return self._over(own, lambda most: self.base.find(words, most), count)

    def exact(self, text: str, count: int) -> list[Triple]:
        """Return triples whose head or tail is exactly this text, your own first."""
        own = self.file.exact(text, count)
        return self._over(own, lambda most: self.base.exact(text, most), count)

    def _over(
        self, own: list[Triple], below: Callable[[int], list[Triple]], count: int
    ) -> list[Triple]:
        """Return your own triples and those below that are neither the same nor taken out."""
        seen = {
            (triple.head.lower(), triple.relation, triple.tail) for triple in own
        } | self._hidden
        return [
            *own,
            *(
                triple
                for triple in below(count + len(seen))
                if (triple.head.lower(), triple.relation, triple.tail) not in seen
            ),
        ][:count]

    def counts(self) -> dict[str, int]:
        """Return how many triples each relation has, in the file and below together."""
        return _summed(self.file.counts(), self.base.counts())

    def origins(self) -> dict[str, int]:
        """Return how many triples come from each source, in the file and below together."""
        return _summed(self.file.origins(), self.base.origins())

    def _below(self, triple: Triple) -> bool:
        tails = self.base.tails_of(triple.head, triple.relation)
        key = (triple.head.lower(), triple.relation, triple.tail)
        return key not in self._hidden and any(known.tail == triple.tail for known in tails)

    def _emptied(self, relation: str | None) -> set[str]:
        """Return the heads below of which nothing is left under a relation."""
        heads = {head for head, name, _ in self._hidden if relation in (None, name)}
        if relation is None:
            return set()
        return {
            head
            for head in heads
            if all(
                (triple.head.lower(), relation, triple.tail) in self._hidden
                for triple in self.base.tails_of(head, relation)
            )
        }


def _merged(below: list[NearHead], own: list[NearHead], count: int) -> list[NearHead]:
    least = below[-1].similarity if len(below) == count else -1.0
    merged = {near.head.lower(): near for near in below}
    for near in own:
        if near.similarity >= least:
            merged.setdefault(near.head.lower(), near)
    return sorted(merged.values(), key=lambda near: -near.similarity)


def _summed(*counts: dict[str, int]) -> dict[str, int]:
    names = dict.fromkeys(name for each in counts for name in each)
    return {name: sum(each.get(name, 0) for each in counts) for name in names}
