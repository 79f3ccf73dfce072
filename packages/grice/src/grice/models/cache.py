"""What models answered before, kept by content, so that nothing is computed twice.

Answers live in one sqlite file: in a folder that runs share, or in a temporary file that is
gone at the end of the run. Neither grows the memory of the process. Each answer is kept with a
checksum over itself and its key: one that a disk has changed is dropped and computed again.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import warnings
import zlib
from typing import TYPE_CHECKING, TypeVar

import msgspec
import numpy as np

from grice.models.protocols import Generated, TaggedSpan

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
    from pathlib import Path

    from grice.models.embedded import EmbeddedEncoder, EmbeddedGenerator, Hidden
    from grice.models.protocols import SpanTagger, Vector

FILE = "answers-2.sqlite"
"""The number is that of the layout: answers without checksums lay in ``answers.sqlite``."""

LIMIT = 2 * 2**30
"""Size in bytes at which a shared file is emptied when it is opened."""

CHECKSUM = 4
"""Bytes of a CRC-32, which no change of up to 32 neighbouring bits escapes."""


Item = TypeVar("Item", bound="Hashable")
Answer = TypeVar("Answer")


class Memo:
    """Answers by key, in a file.

    A shared file that cannot be used (disk full, read-only, damaged) is left alone with a
    warning and a temporary one takes its place: a cache must never cost a result.
    """

    def __init__(self, folder: Path | None) -> None:
        self._lock = threading.Lock()
        self._connection = _temporary() if folder is None else _shared(folder)

    def close(self) -> None:
        """Release the file."""
        self._connection.close()

    def recall(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return the kept answers among ``keys``; damaged ones are dropped."""
        query = "SELECT value FROM answers WHERE key = ?"
        answers, damaged = {}, []
        with self._lock:
            try:
                for key in keys:
                    row = self._connection.execute(query, (key,)).fetchone()
                    if row is None:
                        continue
                    answer = _opened(key, row[0])
                    if answer is None:
                        damaged.append((key,))
                    else:
                        answers[key] = answer
                if damaged:
                    with self._connection:
                        self._connection.executemany("DELETE FROM answers WHERE key = ?", damaged)
            except sqlite3.Error as error:
                self._give_up(error)
        return answers

    def keep(self, answers: Mapping[bytes, bytes]) -> None:
        """Keep answers for later; the first answer to a key stays."""
        insert = "INSERT OR IGNORE INTO answers (key, value) VALUES (?, ?)"
        rows = [(key, answer + _checksum(key, answer)) for key, answer in answers.items()]
        with self._lock:
            try:
                with self._connection:
                    self._connection.executemany(insert, rows)
            except sqlite3.Error as error:
                self._give_up(error)
                with self._connection:
                    self._connection.executemany(insert, rows)

    def _give_up(self, error: sqlite3.Error) -> None:
        _warn(error)
        self._connection.close()
        self._connection = _temporary()


def _checksum(key: bytes, answer: bytes) -> bytes:
    return zlib.crc32(answer, zlib.crc32(key)).to_bytes(CHECKSUM)


def _opened(key: bytes, kept: object) -> bytes | None:
    """Return the answer that was kept under a key; None if either was changed since."""
    if not isinstance(kept, bytes):
        return None
    answer = kept[:-CHECKSUM]
    return answer if _checksum(key, answer) == kept[-CHECKSUM:] else None


def _warn(error: Exception) -> None:
    warnings.warn(f"the cache cannot be used and is left out: {error}", stacklevel=3)


def cache_files(folder: Path) -> list[Path]:
    """Return the files that a shared memo keeps in a folder, those of earlier layouts too."""
    return sorted(folder.glob("answers*.sqlite*"))


def _shared(folder: Path) -> sqlite3.Connection:
    path = folder / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > LIMIT:
            for file in cache_files(folder):
                file.unlink()
        connection = sqlite3.connect(path, timeout=30, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        return _with_table(connection)
    except (OSError, sqlite3.Error) as error:
        _warn(error)
        return _temporary()


def _temporary() -> sqlite3.Connection:
    # The empty name is sqlite's for a private file on disk that it deletes when closed.
    return _with_table(sqlite3.connect("", check_same_thread=False))


def _with_table(connection: sqlite3.Connection) -> sqlite3.Connection:
    with connection:
        connection.execute("CREATE TABLE IF NOT EXISTS answers (key BLOB UNIQUE, value BLOB)")
    return connection


def remember(
    memo: Memo,
    identity: str,
    items: Sequence[Item],
    compute: Callable[[list[Item]], Sequence[Answer]],
    write: Callable[[Answer], bytes],
    read: Callable[[bytes], Answer],
) -> list[Answer]:
    """Return one answer per item: the kept ones, and the others computed once and kept."""
    keys = {item: answer_key(identity, item) for item in dict.fromkeys(items)}
    kept = memo.recall(keys.values())
    answers = {item: read(kept[key]) for item, key in keys.items() if key in kept}
    missing = [item for item in keys if item not in answers]
    if missing:
        fresh = dict(zip(missing, compute(missing), strict=True))
        memo.keep({keys[item]: write(answer) for item, answer in fresh.items()})
        answers.update(fresh)
    return [answers[item] for item in items]


def answer_key(identity: str, item: Hashable) -> bytes:
    """Return the key of a model's answer to an item."""
    content = msgspec.json.encode((identity, _without_surrogates(item)))
    return hashlib.blake2b(content, digest_size=16).digest()


def _without_surrogates(item: object) -> object:
    # Text may hold lone surrogates, which no encoding accepts; they are kept apart from "?".
    if isinstance(item, str):
        return item if item.isascii() else item.encode("utf-8", "surrogatepass").hex()
    if isinstance(item, tuple):
        return [_without_surrogates(part) for part in item]
    return item


class MemoEncoder:
    """An encoder that answers each distinct text once."""

    def __init__(self, encoder: EmbeddedEncoder, memo: Memo) -> None:
        self.identity = encoder.identity
        self._encoder = encoder
        self._memo = memo
        self._readers: list[Callable[[Sequence[str], Sequence[Hidden]], None]] = []

    def read_along(self, reader: Callable[[Sequence[str], Sequence[Hidden]], None]) -> None:
        """Show a reader all states that somebody asks for: they are too large to be kept."""
        self._readers.append(reader)

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        """Return one unit vector per text; see :class:`~grice.models.protocols.Encoder`."""
        return remember(
            self._memo, self.identity, texts, self._encoder.encode, _write_vector, _read_vector
        )

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is too long to be read whole."""
        return self._encoder.truncated(texts)

    def hidden(self, texts: Sequence[str]) -> list[Hidden]:
        """Return token states, and keep what comes with them: vectors, what readers find."""
        kept = self.states(texts)
        for reader in self._readers:
            reader(texts, kept)
        return kept

    def states(self, texts: Sequence[str]) -> list[Hidden]:
        """Return token states, and keep the vectors that come with them for :meth:`encode`."""
        answers = self._encoder.hidden(texts)
        self._memo.keep(
            {
                answer_key(self.identity, text): _write_vector(vector)
                for text, (_, vector) in zip(texts, answers, strict=True)
            }
        )
        return [hidden for hidden, _ in answers]


class MemoSpanTagger:
    """A span tagger that answers each distinct text once."""

    def __init__(self, tagger: SpanTagger, memo: Memo) -> None:
        self.identity = tagger.identity
        self._tagger = tagger
        self._memo = memo

    def tag(self, texts: Sequence[str]) -> list[tuple[TaggedSpan, ...]]:
        """Return the spans of each text."""
        return remember(
            self._memo,
            self.identity,
            texts,
            self._tagger.tag,
            msgspec.json.encode,
            msgspec.json.Decoder(tuple[TaggedSpan, ...]).decode,
        )


class MemoGenerator:
    """A generator that continues and scores each distinct prompt once."""

    def __init__(self, generator: EmbeddedGenerator, memo: Memo) -> None:
        self.identity = generator.identity
        self._generator = generator
        self._memo = memo

    def generate(
        self, prompts: Sequence[str], *, count: int, begin: Sequence[str] | None = None
    ) -> list[tuple[Generated, ...]]:
        """Return texts per prompt; see :class:`~grice.models.embedded.EmbeddedGenerator`."""

        def compute(items: list[tuple[str, ...]]) -> list[tuple[Generated, ...]]:
            return self._generator.generate(
                [item[0] for item in items], count=count, begin=_beginnings(items)
            )

        return remember(
            self._memo,
            f"{self.identity}/generate {count}",
            _items([prompts], begin),
            compute,
            msgspec.json.encode,
            msgspec.json.Decoder(tuple[Generated, ...]).decode,
        )

    def log_probabilities(
        self, prompts: Sequence[str], texts: Sequence[str], *, begin: Sequence[str] | None = None
    ) -> list[float]:
        """Return one number per text; see :class:`~grice.models.protocols.TextScorer`."""

        def compute(items: list[tuple[str, ...]]) -> list[float]:
            return self._generator.log_probabilities(
                [item[0] for item in items],
                [item[1] for item in items],
                begin=_beginnings(items),
            )

        return remember(
            self._memo,
            f"{self.identity}/score",
            _items([prompts, texts], begin),
            compute,
            msgspec.json.encode,
            msgspec.json.Decoder(float).decode,
        )


def _items(columns: list[Sequence[str]], begin: Sequence[str] | None) -> list[tuple[str, ...]]:
    first = [""] * len(columns[0]) if begin is None else begin
    return list(zip(*columns, first, strict=True))


def _beginnings(items: list[tuple[str, ...]]) -> list[str] | None:
    begin = [item[-1] for item in items]
    return begin if any(begin) else None


def _write_vector(vector: Vector) -> bytes:
    return vector.astype(np.float16).tobytes()


def _read_vector(data: bytes) -> Vector:
    return np.frombuffer(data, np.float16).astype(np.float32)
