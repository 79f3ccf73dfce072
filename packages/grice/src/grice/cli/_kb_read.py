"""The actions of ``grice kb`` that look: info, find, tails and verify."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli._kb_models import announce, opened, reference
from grice.cli._status import DONE, UNMET
from grice.cli.models import opened_models
from grice.cli.output import emit, emit_rows
from grice.errors import InputError, plural
from grice.tables import Lines, Table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from grice.knowledge.file import Change
    from grice.knowledge.files import Facts
    from grice.knowledge.lookup import StoredKnowledge
    from grice.records import KnownTail, Triple
    from grice.tables import View


def info(arguments: argparse.Namespace) -> int:
    """Print what knowledge holds."""
    from grice.knowledge.files import describe_knowledge

    with opened_models(workers=1) as models:
        store = opened(models, arguments.kb).store
        licence = models.bundle(reference(arguments.kb)).card.licence
        facts = describe_knowledge(store, licence, changes=arguments.history)
    counts = {"relations": facts.relations, "sources": facts.sources}
    changes = {"changes": [change._asdict() for change in facts.history]} if facts.own else {}
    record = {**facts.facts, **counts, **facts.own, **changes}
    emit(record, _facts_view(facts), as_json=arguments.json)
    return DONE


def _facts_view(facts: Facts) -> View:
    yield Lines([str(facts.facts["identity"])], style="bold")
    yield Lines(
        f"{name}: {value:,}" if isinstance(value, int) else f"{name}: {value}"
        for name, value in {**facts.facts, **facts.own}.items()
        if name != "identity"
    )
    for title, counts in (("relation", facts.relations), ("source", facts.sources)):
        largest_first = sorted(counts.items(), key=lambda entry: -entry[1])
        yield Table((title, "triples"), [(name, f"{count:,}") for name, count in largest_first])
    if facts.history:
        yield Lines([f"last changes ({len(facts.history)})"], style="bold")
        changes = (
            f"{change.at}  {change.who}  {change.action}  {_words(change)}"
            for change in facts.history
        )
        yield Lines(changes, indent=2)


def _words(change: Change) -> str:
    if change.action == "build":
        return change.source
    before = f" (was: {change.before})" if change.before else ""
    return f"{change.head} —{change.relation}→ {change.tail}{before}"


def find(arguments: argparse.Namespace) -> int:
    """Print triples that hold words, or heads like an event."""
    with opened_models(workers=1) as models:
        knowledge = opened(models, arguments.kb)
        if arguments.near:
            _print_nearest(arguments, knowledge)
            return DONE
        terms = [word for text in arguments.text for word in text.split()]
        if not terms:
            raise InputError("nothing to find: give words, such as grice kb find bake cake")
        if arguments.exact:
            triples = knowledge.store.exact(" ".join(terms), arguments.k)
        else:
            triples = knowledge.store.find(terms, arguments.k)
        for triple, change in _with_changes(knowledge, triples):
            fields = {
                name: getattr(triple, name) for name in ("head", "relation", "tail", "source")
            }
            row = {**fields, "change": None if change is None else change._asdict()}
            emit(row, _triple_view(triple, change), as_json=arguments.json)
    if not triples:
        sought = " ".join(terms) if arguments.exact else " and ".join(terms)
        nothing = Lines([f"no triple holds {sought}; try --near"], style="yellow")
        emit_rows((), [nothing], as_json=arguments.json)
    return DONE


def _print_nearest(arguments: argparse.Namespace, knowledge: StoredKnowledge) -> None:
    announce(knowledge)
    (heads,) = knowledge.nearest([" ".join(arguments.text)], arguments.k)
    table = Table(("head", "cosine"), [(head.head, f"{head.similarity:.2f}") for head in heads])
    emit_rows((head._asdict() for head in heads), [table], as_json=arguments.json)


def _with_changes(
    knowledge: StoredKnowledge, triples: Sequence[Triple]
) -> Iterator[tuple[Triple, Change | None]]:
    """Yield each triple with the last change of it in the user's own file, if there is one."""
    from grice.knowledge.files import own_file

    own = own_file(knowledge.store)
    for triple in triples:
        yield triple, None if own is None else own.change_of(triple)


def _triple_view(triple: Triple, change: Change | None) -> View:
    yield Lines([f"{triple.head} —{triple.relation}→ {triple.tail}"])
    by = "" if change is None else f", {change.action} by {change.who}, {change.at}"
    yield Lines([f"{triple.source}{by}"], style="dim", indent=4)


def tails(arguments: argparse.Namespace) -> int:
    """Print the known tails of a head."""
    from grice.records import Triple

    with opened_models(workers=1) as models:
        knowledge = opened(models, arguments.kb)
        announce(knowledge)
        if arguments.like is None:
            (known,) = knowledge.tails([arguments.head], [arguments.relation], arguments.k)
        else:
            asked = Triple(arguments.head, arguments.relation, arguments.like)
            known = knowledge.nearest_tails(asked, arguments.k)
    emit_rows(known, _tails_view(arguments, known), as_json=arguments.json)
    return DONE


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


def verify(arguments: argparse.Namespace) -> int:
    """Say whether knowledge is whole; 1 if it is not."""
    from grice.errors import BundleError, ModelError
    from grice.knowledge.edit import drop_vectors
    from grice.knowledge.files import check_knowledge

    path = Path(reference(arguments.kb).removeprefix("file:"))
    whole = ""
    try:
        if arguments.drop_vectors and path.is_file():
            drop_vectors(path)
        with opened_models(workers=1) as models:
            store = opened(models, arguments.kb).store
            problem = check_knowledge(store, lambda base: opened(models, base).store)
            whole = f"{arguments.kb}: whole; {plural(len(store), 'triple')}, {store.identity}"
    except (BundleError, ModelError) as error:
        problem = str(error)
    row = {"kb": arguments.kb, "ok": problem is None, "problem": problem}
    outcome = Lines([problem or whole], style="bold red" if problem else "green")
    emit(row, [outcome], as_json=arguments.json)
    return DONE if problem is None else UNMET
