"""A file over http, resumed where it stopped, and taken only if it is the one that is known.

What came of a file is kept as ``SHA256.part`` (of its URL, where its content is not known) until
all of it is there.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Protocol

from grice.errors import ModelError, plural
from grice.files import cannot_write, open_own
from grice.models.bundle import file_sha256
from grice.models.store.http import (
    FAILURES,
    TRIES,
    TransientError,
    broken,
    open_remote,
    pause,
    redacted,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from http.client import HTTPResponse
    from pathlib import Path

    from grice.models.store.http import Remote

BLOCK = 1 << 18
PARTIAL = 206


class Listener(Protocol):
    """Whoever wants to see how a model is fetched."""

    def say(self, message: str) -> None:
        """Take what is to be known, one line."""

    def begin(self, name: str, total: int | None, done: Mapping[str, int]) -> None:
        """Learn that a model is fetched: bytes in all if known, and those here by file."""

    def received(self, file: str, done: int, total: int | None) -> None:
        """Take how many bytes of a file are there, and how many it has if that is known."""

    def end(self) -> None:
        """Learn that all files are there."""


def download(remote: Remote, folder: Path, listener: Listener) -> Path:
    """Fetch a file and return its path in the folder; the caller moves or removes it.

    A server that is busy, silent or breaks off is asked again, :data:`TRIES` times in all.

    Raises:
        MissingError: If the server has no such file.
        ModelError: If it cannot be had, ends early again and again, or is another one.
        OutputError: If it cannot be written; what came is kept, and the next call goes on.
    """
    name = remote.sha256 or hashlib.sha256(remote.url.encode()).hexdigest()
    part = folder / f"{name}.part"
    for tried in range(TRIES):
        begun = received_before(folder, name)
        try:
            _receive(remote, part, listener)
        except TransientError as error:
            if tried == TRIES - 1:
                raise
            listener.say(f"{remote.name}: {error.reason}; try {tried + 2} of {TRIES}")
            if received_before(folder, name) <= begun:
                pause(tried)
            continue
        if not (problem := _problem(remote, part)):
            return part
        part.unlink()
        if not begun:  # else what was there before may have been the damaged half
            raise ModelError(problem)
    raise ModelError(f"{redacted(remote.url)}: came damaged again and again; try later")


def _receive(remote: Remote, part: Path, listener: Listener) -> None:
    """Append what is missing of a file."""
    with _opened(part) as file:
        size = file.seek(0, os.SEEK_END)
        if size and size == remote.bytes:
            return
        with open_remote(remote, start=size) as answer:
            start = size if _continues(answer, size) else 0
            total = _total(answer, start, remote)
            with _writing(part):
                file.truncate(start)
                file.seek(start)
            listener.received(remote.name, start, total)
            for block in _blocks(answer, remote):
                if total is not None and file.tell() + len(block) > total:
                    raise ModelError(
                        f"{redacted(remote.url)}: is longer than {plural(total, 'byte')}"
                    )
                write_block(file, block, part)
                listener.received(remote.name, file.tell(), total)
        if total is not None and file.tell() < total:
            reached = f"ended after {file.tell():,} of {plural(total, 'byte')}"
            raise _unfinished(remote, reached)


def _blocks(answer: HTTPResponse, remote: Remote) -> Iterator[bytes]:
    try:
        while block := answer.read(BLOCK):
            yield block
    except FAILURES as error:
        raise _unfinished(remote, f"broke off: {broken(error)}") from error


def _unfinished(remote: Remote, what: str) -> TransientError:
    message = f"{redacted(remote.url)}: {what}; what came is kept, and the same command goes on"
    return TransientError(message, what)


def _problem(remote: Remote, part: Path) -> str:
    """Return what is wrong with a file that is complete; empty if nothing is."""
    if not remote.sha256 or (sha256 := file_sha256(part)) == remote.sha256:
        return ""
    return (
        f"{redacted(remote.url)}: is not the {remote.name} that grice knows "
        f"(sha256 {sha256[:12]}…, expected {remote.sha256[:12]}…): it was damaged, changed or "
        "repackaged on its way, and was thrown away; try again, or give the file from another "
        "place with --from FILE"
    )


def _continues(answer: HTTPResponse, size: int) -> bool:
    ranged = answer.headers.get("Content-Range", "")
    return bool(size) and answer.status == PARTIAL and ranged.startswith(f"bytes {size}-")


def _total(answer: HTTPResponse, start: int, remote: Remote) -> int | None:
    """Return the length of the whole file, None if nobody says it.

    Raises:
        ModelError: If it is not that of the file that is known.
    """
    stated = answer.headers.get("Content-Length", "")
    total = start + int(stated) if stated.isdecimal() else remote.bytes
    if remote.bytes not in (None, total):
        raise ModelError(
            f"{redacted(remote.url)}: has {total:,} bytes, where the {remote.name} that grice "
            f"knows has {remote.bytes:,}: it was changed or repackaged on its way; give the file "
            "from another place with --from FILE"
        )
    return total


def write_block(file: BinaryIO, block: bytes, path: Path) -> None:
    """Append to a file that is being received.

    Raises:
        OutputError: If the disk is full, or the file cannot be written otherwise.
    """
    with _writing(path):
        rest = memoryview(block)
        while rest:
            rest = rest[file.write(rest) :]


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        kept = "what came before is kept, and the same command goes on"
        raise cannot_write(path, error, kept) from error


@contextmanager
def _opened(part: Path) -> Iterator[BinaryIO]:
    with _writing(part):
        descriptor = open_own(part, os.O_RDWR | os.O_CREAT)
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        yield file


def received_before(folder: Path, sha256: str) -> int:
    """Return how many bytes of a file an earlier try has left in the folder."""
    part = folder / f"{sha256}.part"
    return part.stat().st_size if part.exists() else 0
