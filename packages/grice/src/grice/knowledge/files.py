"""Files of knowledge as ``grice kb`` handles them: built, added to, described, checked."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from grice.errors import InputError, RecordError
from grice.knowledge.build import build
from grice.knowledge.edit import check_base
from grice.knowledge.file import KnowledgeFile
from grice.knowledge.overlay import Overlay
from grice.knowledge.schema import schema_names
from grice.knowledge.sources import open_triples

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from grice.knowledge.build import Author, Below, Built
    from grice.knowledge.file import Change
    from grice.knowledge.lookup import TripleStore
    from grice.records import Triple


class BuiltFile(NamedTuple):
    """A file of knowledge that was made.

    Attributes:
        formats: Name and format of each file that was read.
    """

    built: Built
    formats: list[tuple[str, str]]
    schema: str


class ReadTriples(NamedTuple):
    """The triples of a file, and what became of its other rows.

    Attributes:
        renamed: How many rows had another name for their relation, by ``theirs as ours``.
    """

    triples: list[Triple]
    renamed: Counter[str]
    skipped: Counter[str]


class Facts(NamedTuple):
    """What knowledge holds.

    Attributes:
        own: Facts of the file of your own, if it is or has one.
    """

    facts: dict[str, str | int]
    relations: dict[str, int]
    sources: dict[str, int]
    own: dict[str, str | int]
    history: list[Change]


def build_files(
    output: Path,
    paths: Sequence[str],
    by: Author,
    *,
    format: str = "",  # noqa: A002 - the flag's name
    schema: str = "",
    below: Below | None = None,
    replace: bool = False,
) -> BuiltFile:
    """Make a file of knowledge from files of triples.

    What lies on other knowledge has its relations. Else all files have one inventory: that of the
    first file, unless another is stated.

    Args:
        below: What the file lies on top of; by default it stands alone.

    Raises:
        InputError: If a file cannot be used, or the knowledge below has other relations.
        OutputError: If there is a file already, or it cannot be written.
    """
    theirs = "" if below is None else below.store.schema.name
    into = theirs if theirs in schema_names() and not schema else ""
    first = open_triples(paths[0], format=format, schema=schema, into=into)
    if below is not None and first.schema.name != theirs:
        first.close()
        named = below.reference.removeprefix("file:")
        raise InputError(
            f"{named} has the relations of {theirs}, not of {first.schema.name}: leave out "
            "--schema, or --on for a file that stands alone"
        )
    name = schema or first.schema.name
    stated = "" if into else name
    rest = (open_triples(path, format=format, schema=stated, into=into) for path in paths[1:])
    files = [first, *rest]
    built = build(output, files, first.schema, by, below=below, replace=replace)
    return BuiltFile(built, [(file.name, file.format) for file in files], name)


def read_triples(
    path: str,
    schema: str,
    *,
    format: str = "",  # noqa: A002 - the flag's name
) -> ReadTriples:
    """Return the triples of a file in the relations of a schema.

    Raises:
        InputError: If the file cannot be used.
        RecordError: For the first row that cannot be used.
    """
    read = ReadTriples([], Counter(), Counter())
    with closing(open_triples(path, format=format, into=schema)) as opened:
        for row in opened.rows:
            if isinstance(row, RecordError):
                raise row
            if row.skipped:
                read.skipped[row.skipped] += 1
                continue
            if row.renamed:
                read.renamed[f"{row.renamed} as {row.triple.relation}"] += 1
            read.triples.append(row.triple)
    return read


def schema_name(path: Path, below: Below | None = None) -> str:
    """Return the name of the inventory of a file, or of the one that it would be made on."""
    if not path.exists() and below is not None:
        return below.store.schema.name
    with closing(KnowledgeFile(path)) as file:
        return file.schema.name


def own_file(store: TripleStore) -> KnowledgeFile | None:
    """Return the file of your own that knowledge is or has on top, if any."""
    if isinstance(store, Overlay):
        return store.file
    return store if isinstance(store, KnowledgeFile) else None


def describe_knowledge(store: TripleStore, licence: str, *, changes: int) -> Facts:
    """Return what knowledge holds."""
    own = own_file(store)
    facts: dict[str, str | int] = {
        "identity": store.identity,
        "schema": f"{store.schema.name} (version {store.schema.version})",
        "triples": len(store),
    }
    if own is None:
        facts["licence"] = licence
        return Facts(facts, store.counts(), store.origins(), {}, [])
    about: dict[str, str | int] = {
        "own triples": len(own),
        "taken out below": len(own.hidden()),
        "vectors kept": own.encoded_heads(),
        "on top of": own.base or "nothing",
    }
    return Facts(facts, store.counts(), store.origins(), about, own.history(changes))


def check_knowledge(store: TripleStore, open_below: Callable[[str], TripleStore]) -> str | None:
    """Return what is wrong with knowledge that could be opened, if anything is.

    Raises:
        BundleError: If the kept vectors of a file of your own are not whole.
        ModelError: If what it lies on cannot be opened.
    """
    own = own_file(store)
    if own is None:
        return None
    if own.encoded_heads():
        own.check_vectors()
    return check_base(own, open_below(own.base)) if own.base else None
