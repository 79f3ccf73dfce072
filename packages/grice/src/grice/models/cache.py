"""Cache of model answers by content, so that nothing is computed twice.

Answers are rows of one SQLite file: in a folder that runs share, or in a temporary file for one
run. Each row has a checksum over key and answer; a damaged answer is deleted and computed again.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import warnings
import zlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

FILE = "answers-2.sqlite"  # the number is the version of the layout
LIMIT = 2 * 2**30  # size in bytes at which a shared file is emptied when it is opened
CHECKSUM = 4  # bytes of a CRC-32

Item = TypeVar("Item", bound="Hashable")
Answer = TypeVar("Answer")


class Cache:
    """Answers by key, in a file.

    A shared file that cannot be used is replaced by a temporary one with a warning.
    """

    def __init__(self, folder: Path | None) -> None:
        self._lock = threading.Lock()
        try:
            self._connection = _connect(folder)
        except (OSError, sqlite3.Error) as error:
            _warn(error)
            self._connection = _connect(None)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return the cached answers, and delete damaged ones."""
        answers, damaged = {}, []
        for key, value in self._run(
            "SELECT key, value FROM answers WHERE key = ?", [(key,) for key in keys]
        ):
            answer = value[:-CHECKSUM] if isinstance(value, bytes) else b""
            if value == answer + _checksum(key, answer):
                answers[key] = answer
            else:
                damaged.append((key,))
        if damaged:
            self._run("DELETE FROM answers WHERE key = ?", damaged)
        return answers

    def put(self, answers: Mapping[bytes, bytes]) -> None:
        """Add answers; the first answer to a key stays."""
        rows = [(key, answer + _checksum(key, answer)) for key, answer in answers.items()]
        self._run("INSERT OR IGNORE INTO answers (key, value) VALUES (?, ?)", rows)

    def _run(self, statement: str, rows: Sequence[tuple[bytes, ...]]) -> list[tuple[bytes, object]]:
        def execute(connection: sqlite3.Connection) -> list[tuple[bytes, object]]:
            with connection:
                return [found for row in rows for found in connection.execute(statement, row)]

        with self._lock:
            try:
                return execute(self._connection)
            except sqlite3.Error as error:
                _warn(error)
                self._connection.close()
                self._connection = _connect(None)
                return execute(self._connection)

    def cached(
        self,
        identity: str,
        items: Sequence[Item],
        compute: Callable[[list[Item]], Sequence[Answer]],
        form: type[Answer],
    ) -> list[Answer]:
        """Return one answer per item; only missing ones are computed. They are stored as JSON."""
        decoder = msgspec.json.Decoder(form)
        return self._cached(identity, items, compute, msgspec.json.encode, decoder.decode)

    def cached_arrays(
        self,
        identity: str,
        items: Sequence[Item],
        compute: Callable[[list[Item]], Sequence[ArrayLike]],
        dtype: DTypeLike,
    ) -> list[NDArray[np.float32]]:
        """Return one float array per item, flat, float32; they are stored as ``dtype``."""
        arrays = self._cached(
            identity,
            items,
            compute,
            lambda array: np.asarray(array, dtype).tobytes(),
            lambda data: np.frombuffer(data, dtype),
        )
        return [np.asarray(array, np.float32).reshape(-1) for array in arrays]

    def _cached(
        self,
        identity: str,
        items: Sequence[Item],
        compute: Callable[[list[Item]], Sequence[Answer]],
        encode: Callable[[Answer], bytes],
        decode: Callable[[bytes], Answer],
    ) -> list[Answer]:
        keys = {item: cache_key(identity, item) for item in dict.fromkeys(items)}
        stored = self.get(keys.values())
        answers = {item: decode(stored[key]) for item, key in keys.items() if key in stored}
        missing = [item for item in keys if item not in answers]
        if missing:
            fresh = dict(zip(missing, compute(missing), strict=True))
            self.put({keys[item]: encode(answer) for item, answer in fresh.items()})
            answers.update(fresh)
        return [answers[item] for item in items]


def cache_files(folder: Path) -> list[Path]:
    """Return the cache files of a folder, those of earlier layouts too."""
    return sorted(folder.glob("answers*.sqlite*"))


def cache_key(identity: str, item: Hashable) -> bytes:
    """Return the key of a model's answer to an item."""
    content = msgspec.json.encode((identity, _encodable(item)))
    return hashlib.blake2b(content, digest_size=16).digest()


def _encodable(item: object) -> object:
    # Text may hold lone surrogates, which UTF-8 cannot encode; they must differ from "?".
    if isinstance(item, str):
        return item if item.isascii() else item.encode("utf-8", "surrogatepass").hex()
    return [_encodable(part) for part in item] if isinstance(item, tuple) else item


def _checksum(key: bytes, answer: bytes) -> bytes:
    return zlib.crc32(answer, zlib.crc32(key)).to_bytes(CHECKSUM)


def _warn(error: Exception) -> None:
    warnings.warn(f"the cache cannot be used and is ignored: {error}", stacklevel=3)


def _connect(folder: Path | None) -> sqlite3.Connection:
    """Open the file of a folder, or a private one on disk that SQLite deletes when closed."""
    if folder is None:
        connection = sqlite3.connect("", check_same_thread=False)
    else:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / FILE
        if path.exists() and path.stat().st_size > LIMIT:
            for file in cache_files(folder):
                file.unlink()
        connection = sqlite3.connect(path, timeout=30, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
    with connection:
        connection.execute("CREATE TABLE IF NOT EXISTS answers (key BLOB UNIQUE, value BLOB)")
    return connection
