"""A file of your own knowledge: what it holds, looked up."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

import msgspec
import numpy as np

from grice.errors import BundleError, did_you_mean
from grice.knowledge.layout import check_objects, content, open_checked
from grice.knowledge.lookup import NearHead, encoded, nearest_rows
from grice.knowledge.schema import Schema, load_schema, schema_names
from grice.knowledge.store import like
from grice.knowledge.wording import head_text
from grice.records import Triple
from grice.text.tokens import WORD_CHARACTER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice.models.protocols import Encoder

AT_ONCE = 512
"""Heads encoded, and their vectors kept, at once: what an interruption can cost."""

TRIPLES = (
    "SELECT heads.text, relations.name, tails.text, sources.name FROM triples"
    " JOIN texts AS heads ON heads.id = head JOIN texts AS tails ON tails.id = tail"
    " JOIN names AS relations ON relations.id = relation"
    " JOIN names AS sources ON sources.id = source"
)


class Change(NamedTuple):
    """Something that was done to a file of knowledge.

    Attributes:
        at: When, as stated, such as ``2026-05-01T12:00:00Z``.
        action: ``build``, ``add``, ``remove`` or ``edit``.
        source: Where it came from; the file for ``build``.
        before: The tail before an ``edit``.
    """

    at: str
    who: str
    action: str
    head: str = ""
    relation: str = ""
    tail: str = ""
    source: str = ""
    before: str = ""


class KnowledgeFile:
    """Triples of one file that ``grice kb`` made, checked whole when it is opened.

    Args:
        whole: Hash of its content where it was found whole a moment ago.

    Raises:
        BundleError: If it is not such a file, is of another version, cut off, or was changed by
            anything else.
    """

    def __init__(self, path: Path, whole: str = "") -> None:
        self.path = path
        self._connection = connect(path)
        try:
            about = open_checked(path, self._connection, whole)
        except BaseException:
            self._connection.close()
            raise
        self.schema = _schema(path, about)
        self.base = _from_here(about["base"], path)
        self.base_content = about["base_content"]
        self.content = content(self._connection)
        self.identity = f"{path.stem}@{self.content[:8]}"
        self._vectors: dict[str, NDArray[np.float16]] = {}
        self._heads: NDArray[np.int64] | None = None
        self._having: dict[str, NDArray[np.int64]] = {}

    def close(self) -> None:
        """Release the file."""
        self._connection.close()

    def __len__(self) -> int:
        """Return the number of triples of the file itself."""
        (count,) = self._connection.execute("SELECT count(*) FROM triples").fetchone()
        return int(count)

    def nearest_heads(
        self, texts: Sequence[str], count: int, *, encoder: Encoder, relation: str | None = None
    ) -> list[list[NearHead]]:
        """Return known heads near to worded texts; see :class:`grice.knowledge.lookup.TripleStore`.

        Vectors of heads are computed when they are first needed and kept in the file, if it can
        be written.
        """
        if relation is not None:
            _ = self.schema[relation]
        among = self._places(relation)
        if not len(among) or not texts:
            return [[] for _ in texts]
        vectors = encoded(texts, encoder)
        rows = self._matrix(encoder)
        nearest = nearest_rows(rows, among, [vectors[text] for text in texts], count)
        heads = self._all_heads()
        return [
            [NearHead(self._text(int(heads[place])), similarity) for place, similarity in each]
            for each in nearest
        ]

    def tails_of(self, head: str, relation: str, count: int | None = None) -> list[Triple]:  # noqa: ARG002 - of your own knowledge, all is looked at
        """Return all triples of a head and relation: what was changed last first, in its order."""
        _ = self.schema[relation]
        return self._triples(
            " WHERE heads.text = ? COLLATE NOCASE AND relations.name = ?"
            " ORDER BY change DESC, triples.id",
            (head.strip(), relation),
        )

    def find(self, words: Sequence[str], count: int) -> list[Triple]:
        """Return triples whose head or tail holds each of the words, the last ones first.

        Where SQLite can, words match by their stem: ``bake`` finds ``bakes``.
        """
        terms = [word for word in words if word.strip()]
        if not terms:
            return []
        conditions, given = [], []
        for word in terms:
            stemmed = self._indexed() and WORD_CHARACTER.search(word)
            inside = (
                "SELECT rowid FROM words WHERE words MATCH ?"
                if stemmed
                else "SELECT id FROM texts WHERE ' ' || text LIKE ? ESCAPE '\\'"
            )
            conditions.append(f"(head IN ({inside}) OR tail IN ({inside}))")
            quoted = '"' + word.replace('"', '""') + '"'
            given += [quoted if stemmed else like(word)] * 2
        return self._triples(
            f" WHERE {' AND '.join(conditions)} ORDER BY change DESC, triples.id LIMIT ?",
            (*given, count),
        )

    def exact(self, text: str, count: int) -> list[Triple]:
        """Return triples whose head or tail is exactly this text, in any case."""
        same = "(SELECT id FROM texts WHERE text = ?1 COLLATE NOCASE)"
        return self._triples(
            f" WHERE head IN {same} OR tail IN {same} ORDER BY change DESC, triples.id LIMIT ?2",
            (text.strip(), count),
        )

    def counts(self) -> dict[str, int]:
        """Return how many triples each relation has."""
        return self._counted("relation")

    def origins(self) -> dict[str, int]:
        """Return how many triples come from each source."""
        return self._counted("source")

    def history(self, count: int | None = None) -> list[Change]:
        """Return what was done to the file, the last change first."""
        rows = self._connection.execute(
            "SELECT at, who, action, head, relation, tail, source, before FROM changes"
            " ORDER BY id DESC LIMIT ?",
            (-1 if count is None else count,),
        )
        return [Change(*row) for row in rows]

    def change_of(self, triple: Triple) -> Change | None:
        """Return the change that brought a triple into the file; None if it is not there."""
        row = self._connection.execute(
            "SELECT at, who, action, changes.head, changes.relation, changes.tail,"
            " changes.source, before FROM triples JOIN changes ON changes.id = change"
            " JOIN texts AS heads ON heads.id = triples.head"
            " JOIN texts AS tails ON tails.id = triples.tail"
            " JOIN names ON names.id = triples.relation"
            " WHERE heads.text = ? AND names.name = ? AND tails.text = ?",
            (triple.head, triple.relation, triple.tail),
        ).fetchone()
        return None if row is None else Change(*row)

    def hidden(self) -> list[tuple[str, str, str]]:
        """Return head, relation and tail of what was taken out of the knowledge below."""
        return self._connection.execute(
            "SELECT heads.text, names.name, tails.text FROM hidden"
            " JOIN texts AS heads ON heads.id = head JOIN texts AS tails ON tails.id = tail"
            " JOIN names ON names.id = relation ORDER BY hidden.id"
        ).fetchall()

    def encoded_heads(self) -> int:
        """Return how many vectors of heads are kept in the file."""
        (count,) = self._connection.execute("SELECT count(*) FROM vectors").fetchone()
        return int(count)

    def unread_heads(self) -> int:
        """Return how many heads have no vector in the file yet."""
        return len(self._all_heads()) - self.encoded_heads()

    def check_vectors(self) -> None:
        """Compare every kept vector with its mark.

        Raises:
            BundleError: If one was changed.
        """
        rows = self._connection.execute(
            "SELECT texts.text, encoder, vector, mark FROM vectors JOIN texts ON texts.id = head"
        )
        for text, encoder, vector, mark in rows:
            if mark != _vector_mark(encoder, text, vector):
                raise self._changed_vector(text)

    def _changed_vector(self, text: str) -> BundleError:
        return BundleError(
            f"{self.path}: changed by something other than grice: the vector of {text!r}; drop "
            f"all vectors with grice kb verify {self.path} --drop-vectors"
        )

    def all(self) -> list[Triple]:
        """Return every triple of the file."""
        return self._triples("", ())

    def _triples(self, rest: str, given: Sequence[object]) -> list[Triple]:
        rows = self._connection.execute(TRIPLES + rest, given)
        return [Triple(head, name, tail, source=source) for head, name, tail, source in rows]

    def _counted(self, column: str) -> dict[str, int]:
        return dict(
            self._connection.execute(
                f"SELECT names.name, count(*) FROM triples JOIN names ON names.id = {column}"
                f" GROUP BY {column} ORDER BY count(*) DESC, names.name"
            )
        )

    def _indexed(self) -> bool:
        return (
            self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'words'").fetchone()
            is not None
        )

    def _text(self, number: int) -> str:
        (text,) = self._connection.execute(
            "SELECT text FROM texts WHERE id = ?", (number,)
        ).fetchone()
        return str(text)

    def _all_heads(self) -> NDArray[np.int64]:
        if self._heads is None:
            rows = self._connection.execute("SELECT DISTINCT head FROM triples ORDER BY head")
            self._heads = np.fromiter((head for (head,) in rows), np.int64)
        return self._heads

    def _places(self, relation: str | None) -> NDArray[np.int64]:
        """Return where among all heads those stand that have a tail under a relation."""
        key = relation or ""
        if key not in self._having:
            every = self._all_heads()
            if relation is None:
                self._having[key] = np.arange(len(every))
            else:
                rows = self._connection.execute(
                    "SELECT DISTINCT head FROM triples JOIN names ON names.id = relation"
                    " WHERE name = ? ORDER BY head",
                    (relation,),
                )
                heads = np.fromiter((head for (head,) in rows), np.int64)
                self._having[key] = np.searchsorted(every, heads)
        return self._having[key]

    def _matrix(self, encoder: Encoder) -> NDArray[np.float16]:
        """Return the vectors of all heads in the order of their numbers."""
        if encoder.identity not in self._vectors:
            self._vectors[encoder.identity] = self._read_vectors(encoder)
        return self._vectors[encoder.identity]

    def _read_vectors(self, encoder: Encoder) -> NDArray[np.float16]:
        heads = self._all_heads().tolist()
        texts = dict(
            self._connection.execute(
                "SELECT id, text FROM texts WHERE id IN (SELECT head FROM triples)"
            )
        )
        stored: dict[int, bytes] = {}
        for head, vector, mark in self._connection.execute(
            "SELECT head, vector, mark FROM vectors WHERE encoder = ?", (encoder.identity,)
        ):
            if head in texts:
                if mark != _vector_mark(encoder.identity, texts[head], vector):
                    raise self._changed_vector(texts[head])
                stored[head] = vector
        missing = [head for head in heads if head not in stored]
        for start in range(0, len(missing), AT_ONCE):
            some = missing[start : start + AT_ONCE]
            made = encoder.encode([head_text(texts[head]) for head in some])
            fresh = {
                head: vector.astype(np.float16).tobytes()
                for head, vector in zip(some, made, strict=True)
            }
            self._keep_vectors(encoder, texts, fresh)
            stored |= fresh
        joined = b"".join(stored[head] for head in heads)
        return np.frombuffer(joined, np.float16).reshape(len(heads), -1)

    def _keep_vectors(
        self, encoder: Encoder, texts: dict[int, str], fresh: dict[int, bytes]
    ) -> None:
        rows = [
            (head, encoder.identity, vector, _vector_mark(encoder.identity, texts[head], vector))
            for head, vector in fresh.items()
        ]
        # Kept vectors only save time: a file that cannot be written is read all the same.
        with (
            suppress(sqlite3.Error),
            closing(sqlite3.connect(self.path, timeout=1)) as writing,
            writing,
        ):
            writing.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)", rows)


def stated_base(path: Path) -> str:
    """Return the reference of what a file lies on, without looking through its rows.

    Raises:
        BundleError: If it is not such a file.
    """
    with closing(connect(path)) as connection:
        try:
            whole = content(connection)
        except sqlite3.Error:
            whole = ""  # what is wrong is said below
        return _from_here(open_checked(path, connection, whole)["base"], path)


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection that reads a file.

    Raises:
        BundleError: If there is no such file, or it defines what no file of knowledge has.
    """
    if path.is_dir():
        raise BundleError(f"{path}: a folder, not a file of knowledge")
    if not path.is_file():
        near = [known.name for known in path.parent.glob("*.kb")] if path.parent.is_dir() else []
        raise BundleError(f"{path}: no such file of knowledge{did_you_mean(path.name, near)}")
    if path.with_name(f"{path.name}-journal").exists():
        # A write was interrupted: opened for writing, SQLite puts back what was there before.
        with suppress(sqlite3.Error), closing(sqlite3.connect(path, timeout=10)) as writing:
            writing.execute("SELECT count(*) FROM sqlite_master").fetchone()
    uri = f"file:{quote(str(path.resolve()))}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, check_same_thread=False, isolation_level=None)
    try:
        check_objects(path, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _from_here(base: str, path: Path) -> str:
    """Return the reference of what lies below; a file is stated as seen from the one on top."""
    scheme, _, place = base.partition(":")
    return f"file:{path.parent / place}" if scheme == "file" else base


def _schema(path: Path, about: dict[str, str]) -> Schema:
    """Return the schema the file was made with, if it is still the one of that name."""
    try:
        written = msgspec.json.decode(about["schema"], type=Schema)
    except (KeyError, msgspec.DecodeError) as error:
        raise BundleError(f"{path}: states no schema ({error}); make it again") from None
    if written.name in schema_names():
        known = load_schema(written.name)
        if known.version != written.version:
            raise BundleError(
                f"{path}: made with version {written.version} of the schema {written.name!r}, "
                f"this grice has version {known.version}: relations mean something else; make "
                "the file again from its sources"
            )
    return written


def _vector_mark(encoder: str, text: str, vector: bytes) -> bytes:
    stated = msgspec.msgpack.encode((encoder, head_text(text), vector))
    return hashlib.blake2b(stated, digest_size=8).digest()
