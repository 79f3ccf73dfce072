"""``grice kb``: look into the knowledge behind commonsense."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from grice.cli.options import opened_models
from grice.cli.output import Output, listing
from grice.errors import InputError
from grice.tables import Lines, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.cli.derive import Count
    from grice.knowledge.store import StoredKnowledge

HELP = "search the knowledge base of commonsense"
SHIPPED = "builtin:atomic"


def info(kb: str = SHIPPED) -> Output:
    """How many triples there are, by relation and by source.

    Args:
        kb (KB): MY.tsv with triples of your own, merged with the shipped ones
    """
    with _opened(kb) as (knowledge, licence):
        schema = knowledge.schema
        row = {
            "identity": knowledge.triples_identity,
            "schema": f"{schema.name} (version {schema.version})",
            "triples": len(knowledge),
            "licence": licence,
        }
        counts = {"relations": knowledge.counts("relation"), "sources": knowledge.counts("source")}
    facts = row | {"triples": f"{len(knowledge):,}"}
    view = [Table((), [(name, str(fact)) for name, fact in facts.items()])]
    for title, by_name in counts.items():
        largest_first = sorted(by_name.items(), key=lambda entry: -entry[1])
        cells = [(name, f"{count:,}") for name, count in largest_first]
        view.append(Table((title.removesuffix("s"), "triples"), cells))
    return Output([{**row, **counts}], view)


def find(
    text: Sequence[str],
    *,
    near: bool = False,
    exact: bool = False,
    kb: str = SHIPPED,
    k: Count = 10,
) -> Output:
    """Triples that hold all words, or words that begin so.

    Args:
        text (WORD): words of head and tail
        near: instead: heads nearest to the words as an event
        exact: head or tail is exactly the words
        kb (KB): MY.tsv with triples of your own, merged with the shipped ones
        k (N): at most
    """
    terms = [word for part in text for word in part.split()]
    if not terms:
        raise InputError("nothing to find: give words, such as grice kb find bake cake")
    with _opened(kb) as (knowledge, _):
        if near:
            (heads,) = knowledge.nearest([" ".join(text)], k)
            return listing(head._asdict() for head in heads)
        triples = knowledge.exact(" ".join(terms), k) if exact else knowledge.find(terms, k)
    if not triples:
        phrase = (" " if exact else " and ").join(terms)
        return Output([], [Lines([f"no triple holds {phrase}; try --near"], style="yellow")])
    return listing(
        {name: getattr(triple, name) for name in ("head", "relation", "tail", "source")}
        for triple in triples
    )


def tails(
    head: str, relation: str, *, like: str | None = None, kb: str = SHIPPED, k: Count = 10
) -> Output:
    """The known tails of a head, and of heads like it.

    Args:
        head (HEAD): an event, such as 'PersonX bakes a cake'
        relation (RELATION): such as xWant
        like (TAIL): those most like this one
        kb (KB): MY.tsv with triples of your own, merged with the shipped ones
        k (N): at most
    """
    from grice.data import Triple

    with _opened(kb) as (knowledge, _):
        if like is None:
            (known,) = knowledge.tails([head], [relation], k)
        else:
            known = knowledge.nearest_tails(Triple(head, relation, like), k)
    if not known:
        return Output([], [Lines([f"nothing is known under {relation}"], style="yellow")])
    return listing(known)


ACTIONS = (info, find, tails)


@contextmanager
def _opened(kb: str) -> Iterator[tuple[StoredKnowledge, str]]:
    """Load a knowledge base, and its licence."""
    from grice.knowledge.store import StoredKnowledge
    from grice.models.loader import SCHEMES

    reference = kb if kb.partition(":")[0] in SCHEMES else f"file:{kb}"
    with opened_models(workers=1) as models:
        knowledge = models.load(reference)
        if not isinstance(knowledge, StoredKnowledge):
            raise InputError(f"{reference}: holds no known triples")
        yield knowledge, models.folder(reference).card.licence
