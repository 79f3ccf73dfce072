"""``grice kb``: look into the knowledge behind commonsense."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli._status import DONE
from grice.cli.models import opened_models
from grice.cli.output import emit, emit_rows
from grice.cli.parser import add_everywhere
from grice.errors import InputError
from grice.tables import Lines, Table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from grice.knowledge.lookup import StoredKnowledge
    from grice.models.loader import ModelLoader
    from grice.records import KnownTail, Triple
    from grice.tables import View

HELP = "search the knowledge base of commonsense"

SHIPPED = "bundle:atomic"
KB = f"MY.tsv with triples of your own, merged with the shipped ones; default {SHIPPED}"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001
    """Declare the arguments of each action."""
    actions = parser.add_subparsers(metavar="ACTION", required=True, dest="action")

    def action(name: str, about: str) -> argparse.ArgumentParser:
        subparser = actions.add_parser(name, help=about, description=about)
        add_everywhere(subparser)
        return subparser

    info = action("info", "how many triples there are, by relation and by source")
    info.add_argument("kb", nargs="?", default=SHIPPED, metavar="KB", help=KB)

    find = action("find", "triples that hold all words, or words that begin so")
    find.add_argument("text", nargs="+", metavar="WORD", help="what head and tail hold")
    flags.add_switch(find, "--near", "instead: heads nearest to the words as an event")
    flags.add_switch(find, "--exact", "head or tail is exactly the words")

    tails = action("tails", "the known tails of a head, and of heads like it")
    tails.add_argument("head", metavar="HEAD", help="an event, such as 'PersonX bakes a cake'")
    tails.add_argument("relation", metavar="RELATION", help="such as xWant")
    tails.add_argument("--like", metavar="TAIL", help="those most like this one")

    for subparser in (find, tails):
        subparser.add_argument("--kb", default=SHIPPED, metavar="KB", help=KB)
        flags.add_number(subparser, "-k", "N", "at most", 10)
    for subparser in (info, find, tails):
        flags.add_json(subparser)


def run(arguments: argparse.Namespace) -> int:
    """Run the chosen action and return its exit status."""
    from grice.models.loader import SCHEMES

    actions: dict[str, Callable[[argparse.Namespace, StoredKnowledge, str], None]] = {
        "info": _print_info,
        "find": _print_found,
        "tails": _print_tails,
    }
    kb = arguments.kb if arguments.kb.partition(":")[0] in SCHEMES else f"file:{arguments.kb}"
    with opened_models(workers=1) as models:
        knowledge = _opened(models, kb)
        actions[arguments.action](arguments, knowledge, models.bundle(kb).card.licence)
    return DONE


def _opened(models: ModelLoader, kb: str) -> StoredKnowledge:
    from grice.knowledge.lookup import StoredKnowledge

    knowledge = models.load(kb)
    if not isinstance(knowledge, StoredKnowledge):
        raise InputError(f"{kb}: holds no known triples")
    return knowledge


def _print_info(arguments: argparse.Namespace, knowledge: StoredKnowledge, licence: str) -> None:
    store = knowledge.store
    facts: dict[str, str | int] = {
        "identity": store.identity,
        "schema": f"{store.schema.name} (version {store.schema.version})",
        "triples": len(store),
        "licence": licence,
    }
    counts = {"relations": store.counts(), "sources": store.origins()}
    emit({**facts, **counts}, _info_view(facts, counts), as_json=arguments.json)


def _info_view(facts: dict[str, str | int], counts: dict[str, dict[str, int]]) -> View:
    yield Lines([str(facts["identity"])], style="bold")
    yield Lines(
        f"{name}: {value:,}" if isinstance(value, int) else f"{name}: {value}"
        for name, value in facts.items()
        if name != "identity"
    )
    for title, each in counts.items():
        largest_first = sorted(each.items(), key=lambda entry: -entry[1])
        rows = [(name, f"{count:,}") for name, count in largest_first]
        yield Table((title.removesuffix("s"), "triples"), rows)


def _print_found(arguments: argparse.Namespace, knowledge: StoredKnowledge, _: str) -> None:
    terms = [word for text in arguments.text for word in text.split()]
    if not terms:
        raise InputError("nothing to find: give words, such as grice kb find bake cake")
    if arguments.near:
        (heads,) = knowledge.nearest([" ".join(arguments.text)], arguments.k)
        table = Table(("head", "cosine"), [(head.head, f"{head.similarity:.2f}") for head in heads])
        emit_rows((head._asdict() for head in heads), [table], as_json=arguments.json)
        return
    if arguments.exact:
        triples = knowledge.store.exact(" ".join(terms), arguments.k)
    else:
        triples = knowledge.store.find(terms, arguments.k)
    for triple in triples:
        row = {name: getattr(triple, name) for name in ("head", "relation", "tail", "source")}
        emit(row, _triple_view(triple), as_json=arguments.json)
    if not triples:
        sought = " ".join(terms) if arguments.exact else " and ".join(terms)
        nothing = Lines([f"no triple holds {sought}; try --near"], style="yellow")
        emit_rows((), [nothing], as_json=arguments.json)


def _triple_view(triple: Triple) -> View:
    yield Lines([f"{triple.head} —{triple.relation}→ {triple.tail}"])
    yield Lines([triple.source], style="dim", indent=4)


def _print_tails(arguments: argparse.Namespace, knowledge: StoredKnowledge, _: str) -> None:
    from grice.records import Triple

    if arguments.like is None:
        (known,) = knowledge.tails([arguments.head], [arguments.relation], arguments.k)
    else:
        asked = Triple(arguments.head, arguments.relation, arguments.like)
        known = knowledge.nearest_tails(asked, arguments.k)
    emit_rows(known, _tails_view(arguments, known), as_json=arguments.json)


def _tails_view(arguments: argparse.Namespace, known: Sequence[KnownTail]) -> View:
    if not known:
        yield Lines([f"nothing is known under {arguments.relation}"], style="yellow")
    elif arguments.like is None:
        rows = [
            (tail.tail, tail.head, f"{tail.head_similarity:.2f}", tail.source) for tail in known
        ]
        yield Table(("tail", "known for", "cosine", "source"), rows)
    else:
        rows = [
            (tail.tail, f"{tail.tail_similarity:.2f}", tail.head, f"{tail.head_similarity:.2f}")
            for tail in known
        ]
        yield Table(("tail", "cosine", "known for", "cosine"), rows)
