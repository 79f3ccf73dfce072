"""The actions of ``grice kb`` that look: info, find, tails and verify."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli._kb_open import announce, opened, opened_models, own_file, reference
from grice.cli.output import print_json
from grice.errors import InputError, counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.knowledge.lookup import StoredKnowledge
    from grice.records import Triple

__all__ = ["find", "info", "tails", "verify"]


def info(arguments: argparse.Namespace) -> int:
    """Print what knowledge holds."""
    from grice.cli.tables import print_lines, print_table

    with opened_models() as models:
        knowledge = opened(models, arguments.kb)
        bundle = models.bundle(reference(arguments.kb))
        shelf = knowledge.shelf
        own = own_file(shelf)
        facts = {
            "identity": shelf.identity,
            "schema": f"{shelf.schema.name} (version {shelf.schema.version})",
            "triples": len(shelf),
            **({"licence": bundle.card.licence} if own is None else {}),
            "relations": shelf.counts(),
            "sources": shelf.origins(),
        }
        history = []
        if own is not None:
            history = own.history(arguments.history)
            facts |= {
                "own triples": len(own),
                "taken out below": len(own.hidden()),
                "vectors kept": own.encoded_heads(),
                "on top of": own.base or "nothing",
                "changes": [change._asdict() for change in history],
            }
    if arguments.json:
        print_json(facts)
        return 0
    print_lines([str(facts["identity"])], style="bold")
    print_lines(
        f"{name}: {value:,}" if isinstance(value, int) else f"{name}: {value}"
        for name, value in facts.items()
        if not isinstance(value, (dict, list)) and name != "identity"
    )
    for name in ("relations", "sources"):
        counts = sorted(facts[name].items(), key=lambda entry: -entry[1])  # type: ignore[attr-defined]
        print_table((name[:-1], "triples"), [(one, f"{count:,}") for one, count in counts])
    if history:
        print_lines([f"last changes ({len(history)})"], style="bold")
        print_lines(
            (f"{one.at}  {one.who}  {one.action}  {_words(one)}" for one in history), indent=2
        )
    return 0


def _words(change: object) -> str:
    from grice.knowledge.file import Change

    if not isinstance(change, Change) or change.action == "build":
        return getattr(change, "source", "")
    before = f" (was: {change.before})" if change.before else ""
    return f"{change.head} —{change.relation}→ {change.tail}{before}"


def find(arguments: argparse.Namespace) -> int:
    """Print triples that hold words, or heads like an event."""
    from grice.cli.tables import print_lines, print_table

    with opened_models() as models:
        knowledge = opened(models, arguments.kb)
        if arguments.near:
            announce(knowledge)
            event = " ".join(arguments.text)
            (near,) = knowledge.nearest([event], arguments.k)
            if arguments.json:
                for one in near:
                    print_json(one._asdict())
            else:
                print_table(
                    ("head", "cosine"), [(one.head, f"{one.similarity:.2f}") for one in near]
                )
            return 0
        terms = [word for text in arguments.text for word in text.split()]
        if not terms:
            raise InputError("nothing to find: give words, such as grice kb find bake cake")
        if arguments.exact:
            found = knowledge.shelf.exact(" ".join(terms), arguments.k)
        else:
            found = knowledge.shelf.find(terms, arguments.k)
        _print_triples(arguments, knowledge, found)
    if not found and not arguments.json:
        said = " ".join(terms) if arguments.exact else " and ".join(terms)
        print_lines([f"no triple holds {said}; try --near"], style="yellow")
    return 0


def _print_triples(
    arguments: argparse.Namespace, knowledge: StoredKnowledge, triples: Sequence[Triple]
) -> None:
    from grice.cli.tables import print_lines

    own = own_file(knowledge.shelf)
    for triple in triples:
        change = None if own is None else own.change_of(triple)
        if arguments.json:
            print_json(
                {
                    "head": triple.head,
                    "relation": triple.relation,
                    "tail": triple.tail,
                    "source": triple.source,
                    "change": None if change is None else change._asdict(),
                }
            )
            continue
        print_lines([f"{triple.head} —{triple.relation}→ {triple.tail}"])
        by = "" if change is None else f", {change.action} by {change.who}, {change.at}"
        print_lines([f"{triple.source}{by}"], style="dim", indent=4)


def tails(arguments: argparse.Namespace) -> int:
    """Print the known tails of a head."""
    from grice.cli.tables import print_lines, print_table
    from grice.records import Triple, to_json

    with opened_models() as models:
        knowledge = opened(models, arguments.kb)
        announce(knowledge)
        if arguments.like is None:
            (found,) = knowledge.tails([arguments.head], [arguments.relation], arguments.k)
        else:
            asked = Triple(arguments.head, arguments.relation, arguments.like)
            found = knowledge.nearest_tails(asked, arguments.k)
    if arguments.json:
        sys.stdout.writelines(f"{to_json(one)}\n" for one in found)
    elif found and arguments.like is None:
        rows = [(one.tail, one.head, f"{one.head_similarity:.2f}", one.source) for one in found]
        print_table(("tail", "known for", "cosine", "source"), rows)
    elif found:
        print_table(
            ("tail", "cosine", "known for", "cosine"),
            [
                (one.tail, f"{one.tail_similarity:.2f}", one.head, f"{one.head_similarity:.2f}")
                for one in found
            ],
        )
    else:
        print_lines([f"nothing is known under {arguments.relation}"], style="yellow")
    return 0


def verify(arguments: argparse.Namespace) -> int:
    """Say whether knowledge is whole; 1 if it is not."""
    from grice.cli.tables import print_lines
    from grice.errors import BundleError, ModelError
    from grice.knowledge.edit import check_base, drop_vectors

    problem = None
    try:
        if arguments.drop_vectors and (path := Path(reference(arguments.kb)[5:])).is_file():
            drop_vectors(path)
        with opened_models() as models:
            knowledge = opened(models, arguments.kb)
            shelf = knowledge.shelf
            own = own_file(shelf)
            if own is not None and own.encoded_heads():
                own.check_vectors()
            if own is not None and own.base:
                problem = check_base(own, opened(models, own.base).shelf)
            said = f"{arguments.kb}: whole; {counted(len(shelf), 'triple')}, {shelf.identity}"
    except (BundleError, ModelError) as error:
        problem, said = str(error), ""
    if arguments.json:
        print_json({"kb": arguments.kb, "ok": problem is None, "problem": problem})
    elif problem is None:
        print_lines([said], style="green")
    else:
        print_lines([problem], style="bold red")
    return 0 if problem is None else 1
