"""``grice kb``: look into knowledge, and keep your own in one file."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli._options import _positive as positive
from grice.errors import InputError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from grice.knowledge.edit import Below, Built, Stamp
    from grice.knowledge.file import KnowledgeFile
    from grice.knowledge.lookup import StoredKnowledge
    from grice.records import Triple
    from grice.scoring.models import Models

HELP = "look into the knowledge behind commonsense, and keep your own"

SHIPPED = "bundle:atomic"
MANY = 1000
"""Heads to encode from which on it is worth a word."""


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001
    """Declare the arguments of each action."""
    actions = parser.add_subparsers(metavar="ACTION", required=True, dest="action")

    def action(name: str, about: str) -> argparse.ArgumentParser:
        one = actions.add_parser(name, help=about, description=about)
        one.add_argument("--debug", action="store_true", help="show the trace of an error")
        return one

    build = action("build", "make a file of knowledge from files of triples")
    build.add_argument("files", nargs="+", metavar="FILE", help="triples, gzipped or not")
    build.add_argument("-o", "--output", type=Path, required=True, metavar="MY.kb")
    build.add_argument("--format", default="", metavar="NAME", help="format of the files")
    build.add_argument("--schema", default="", metavar="NAME", help="relations: name or TOML file")
    build.add_argument(
        "--on", metavar="KB", help=f"lie on top of this knowledge, such as {SHIPPED}"
    )
    build.add_argument("--replace", action="store_true", help="replace MY.kb if it is there")

    info = action("info", "what a file of knowledge, or the shipped one, holds")
    info.add_argument("kb", nargs="?", default=SHIPPED, metavar="KB")
    info.add_argument("--history", type=positive, default=5, metavar="N", help="last N changes")

    find = action("find", "triples in which all words stand, or heads like an event")
    find.add_argument("text", nargs="+", metavar="WORD")
    find.add_argument("--near", action="store_true", help="heads nearest to the words as an event")
    find.add_argument("--exact", action="store_true", help="head or tail is exactly the words")
    find.add_argument("-k", type=positive, default=10, metavar="N", help="at most (default 10)")

    tails = action("tails", "the known tails of a head, and of heads like it")
    tails.add_argument("head", metavar="HEAD")
    tails.add_argument("relation", metavar="RELATION")
    tails.add_argument("--like", metavar="TAIL", help="those most like this one")
    tails.add_argument("-k", type=positive, default=10, metavar="N", help="at most (default 10)")

    add = action("add", "add triples to your own file; a new one lies on the shipped knowledge")
    add.add_argument("triple", nargs="*", metavar="HEAD RELATION TAIL")
    add.add_argument("--from", dest="source_file", metavar="FILE", help="a file of triples")
    add.add_argument("--format", default="", metavar="NAME", help="format of that file")
    add.add_argument("--source", default="", metavar="NAME", help="where it comes from")

    remove = action("remove", "take a triple out of your file, or hide one of the shipped ones")
    remove.add_argument("triple", nargs=3, metavar=("HEAD", "RELATION", "TAIL"))
    edit = action("edit", "give a triple another tail")
    edit.add_argument("triple", nargs=3, metavar=("HEAD", "RELATION", "TAIL"))
    edit.add_argument("new", metavar="NEW_TAIL")

    verify = action("verify", "check that knowledge is whole and unchanged; exit status 1 if not")
    verify.add_argument("kb", nargs="?", default=SHIPPED, metavar="KB")
    verify.add_argument(
        "--drop-vectors", action="store_true", help="drop the kept vectors; they are made anew"
    )

    for one in (find, tails):
        one.add_argument("--kb", default=SHIPPED, metavar="KB", help=f"default {SHIPPED}")
    for one in (add, remove, edit):
        one.add_argument("--to", "--kb", dest="to", metavar="MY.kb", help="your own file")
    for one in (build, add, remove, edit):
        one.add_argument("--who", metavar="NAME", help="who does it (default: the user)")
        one.add_argument("--at", metavar="TIME", help="when (default: now, UTC)")
    for one in (build, info, find, tails, verify):
        one.add_argument("--json", action="store_true", help="print JSON lines")


def run(arguments: argparse.Namespace) -> int:
    """Run the chosen action and return its exit status."""
    actions: dict[str, Callable[[argparse.Namespace], int]] = {
        "build": _build,
        "info": _info,
        "find": _find,
        "tails": _tails,
        "add": _add,
        "remove": _remove,
        "edit": _edit,
        "verify": _verify,
    }
    return actions[arguments.action](arguments)


def _reference(kb: str) -> str:
    return kb if kb.startswith(("bundle:", "file:")) else f"file:{kb}"


@contextmanager
def _models() -> Iterator[Models]:
    from grice.cli._options import cache_folder
    from grice.scoring.models import Models

    models = Models(mode="exact", workers=1, cache=cache_folder())
    try:
        yield models
    finally:
        models.close()


def _opened(models: Models, kb: str) -> StoredKnowledge:
    from grice.knowledge.lookup import StoredKnowledge

    found = models.open(_reference(kb))
    if not isinstance(found, StoredKnowledge):
        raise InputError(f"{kb}: holds no known triples")
    return found


def _build(arguments: argparse.Namespace) -> int:
    from grice.knowledge.edit import build
    from grice.knowledge.sources import open_triples

    first = open_triples(arguments.files[0], format=arguments.format, schema=arguments.schema)
    # One file has one inventory: that of the first source, unless another was stated.
    named = arguments.schema or first.schema.name
    rest = (open_triples(one, format=arguments.format, schema=named) for one in arguments.files[1:])
    files = [first, *rest]
    with _models() as models:
        built = build(
            arguments.output,
            files,
            first.schema,
            _by(arguments),
            below=None if arguments.on is None else _below(models, arguments.on),
            replace=arguments.replace,
        )
    return _report(arguments, built, [f"{one.name}: {one.format}" for one in files], named)


def _report(arguments: argparse.Namespace, built: Built, files: Sequence[str], schema: str) -> int:
    from grice.cli._tables import print_lines
    from grice.cli._terminal import warn

    for line in files:
        warn(f"{line}, read with the relations of {schema}")
    if arguments.json:
        _print_json({**built._asdict(), "output": str(arguments.output), "schema": schema})
    else:
        print_lines([f"{arguments.output}: {built.triples:,} triples"], style="bold")
        left_out = {"said twice": built.repeated, **built.skipped}
        print_lines([f"left out, {why}: {count:,}" for why, count in left_out.items() if count])
        print_lines(built.problems, style="yellow")
    if built.broken:
        warn(f"{built.broken:,} rows could not be used")
    return 2 if built.broken else 0


def _by(arguments: argparse.Namespace) -> Stamp:
    from grice.knowledge.edit import stamp

    return stamp(arguments.who, arguments.at)


def _below(models: Models, kb: str) -> Below:
    from grice.knowledge.edit import Below

    return Below(_reference(kb), _opened(models, kb).shelf)


def _info(arguments: argparse.Namespace) -> int:
    from grice.cli._tables import print_lines, print_table

    with _models() as models:
        knowledge = _opened(models, arguments.kb)
        bundle = models.bundle(_reference(arguments.kb))
        shelf = knowledge.shelf
        own = _own(shelf)
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
        _print_json(facts)
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


def _own(shelf: object) -> KnowledgeFile | None:
    from grice.knowledge.file import KnowledgeFile
    from grice.knowledge.stack import Stack

    if isinstance(shelf, Stack):
        return shelf.file
    return shelf if isinstance(shelf, KnowledgeFile) else None


def _find(arguments: argparse.Namespace) -> int:
    from grice.cli._tables import print_lines, print_table

    with _models() as models:
        knowledge = _opened(models, arguments.kb)
        if arguments.near:
            _announce(knowledge)
            event = " ".join(arguments.text)
            (near,) = knowledge.nearest([event], arguments.k)
            if arguments.json:
                for one in near:
                    _print_json(one._asdict())
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


def _announce(knowledge: StoredKnowledge) -> None:
    """Say that it will take a while, if it will."""
    from grice.cli._terminal import warn

    own = _own(knowledge.shelf)
    if own is not None and own.unread_heads() > MANY:
        warn(f"{own.unread_heads():,} heads are encoded once and kept; this takes a while")


def _print_triples(
    arguments: argparse.Namespace, knowledge: StoredKnowledge, triples: Sequence[Triple]
) -> None:
    from grice.cli._tables import print_lines

    own = _own(knowledge.shelf)
    for triple in triples:
        change = None if own is None else own.change_of(triple)
        if arguments.json:
            _print_json(
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


def _tails(arguments: argparse.Namespace) -> int:
    from grice.cli._tables import print_lines, print_table
    from grice.records import Triple, to_json

    with _models() as models:
        knowledge = _opened(models, arguments.kb)
        _announce(knowledge)
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


def _target(arguments: argparse.Namespace) -> Path:
    if arguments.to is None or arguments.to.startswith("bundle:"):
        raise InputError(
            "the shipped knowledge is never changed: name a file of your own with --to MY.kb; if "
            "it is not there, it is made on top of the shipped one"
        )
    return Path(arguments.to.removeprefix("file:"))


def _beneath(models: Models, path: Path) -> Below | None:
    """Return what a file lies on, or would if it were made now."""
    from grice.knowledge.file import stated_base

    base = stated_base(path) if path.exists() else SHIPPED
    return _below(models, base) if base else None


def _add(arguments: argparse.Namespace) -> int:
    from grice.cli._tables import print_lines
    from grice.errors import RecordError
    from grice.knowledge.edit import add
    from grice.knowledge.sources import open_triples
    from grice.records import Triple

    path, by = _target(arguments), _by(arguments)
    if bool(arguments.triple) == bool(arguments.source_file):
        raise InputError("give either HEAD RELATION TAIL or --from FILE")
    if arguments.triple and len(arguments.triple) != 3:
        raise InputError(
            f"HEAD RELATION TAIL are three, found {len(arguments.triple)}: put quotes around each"
        )
    with _models() as models:
        below = _beneath(models, path)
        if arguments.source_file:
            schema = _schema_of(path, below)
            opened = open_triples(arguments.source_file, format=arguments.format, schema=schema)
            triples = []
            for row in opened.rows:
                if isinstance(row, RecordError):
                    opened.close()
                    raise row
                if not row.skipped:
                    triples.append(row.triple)
        else:
            head, relation, tail = arguments.triple
            triples = [Triple(head, relation, tail, source=arguments.source)]
        new = add(path, triples, by, below=below)
    print_lines([f"{path}: {new:,} added, {len(triples) - new:,} were there"])
    return 0


def _schema_of(path: Path, below: Below | None) -> str:
    from contextlib import closing

    from grice.knowledge.file import KnowledgeFile

    if not path.exists() and below is not None:
        return below.shelf.schema.name
    with closing(KnowledgeFile(path)) as file:
        return file.schema.name


def _remove(arguments: argparse.Namespace) -> int:
    from grice.cli._tables import print_lines
    from grice.knowledge.edit import remove
    from grice.records import Triple

    path = _target(arguments)
    with _models() as models:
        remove(path, Triple(*arguments.triple), _by(arguments), below=_beneath(models, path))
    print_lines([f"{path}: taken out"])
    return 0


def _edit(arguments: argparse.Namespace) -> int:
    from grice.cli._tables import print_lines
    from grice.knowledge.edit import edit
    from grice.records import Triple

    path = _target(arguments)
    with _models() as models:
        below = _beneath(models, path)
        edit(path, Triple(*arguments.triple), arguments.new, _by(arguments), below=below)
    print_lines([f"{path}: changed"])
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    from grice.cli._tables import print_lines
    from grice.errors import BundleError, ModelError
    from grice.knowledge.edit import check_base, drop_vectors

    problem = None
    try:
        if arguments.drop_vectors and (path := Path(_reference(arguments.kb)[5:])).is_file():
            drop_vectors(path)
        with _models() as models:
            knowledge = _opened(models, arguments.kb)
            shelf = knowledge.shelf
            own = _own(shelf)
            if own is not None and own.encoded_heads():
                own.check_vectors()
            if own is not None and own.base:
                problem = check_base(own, _opened(models, own.base).shelf)
            said = f"{arguments.kb}: whole; {len(shelf):,} triples, {shelf.identity}"
    except (BundleError, ModelError) as error:
        problem, said = str(error), ""
    if arguments.json:
        _print_json({"kb": arguments.kb, "ok": problem is None, "problem": problem})
    elif problem is None:
        print_lines([said], style="green")
    else:
        print_lines([problem], style="bold red")
    return 0 if problem is None else 1


def _print_json(record: object) -> None:
    import msgspec

    sys.stdout.write(msgspec.json.encode(record).decode() + "\n")
