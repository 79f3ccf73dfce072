"""Files of object stores and other systems by URL, through fsspec (``grice[stores]``)."""

from __future__ import annotations

import io
import os
import re
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from grice.errors import GriceError, InputError, OutputError, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

ATOMIC = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "oci"})
"""Stores in which an object is there whole or not at all, and a rename would be a copy."""
TAGS = ("ETag", "etag", "md5Hash", "content_md5", "checksum")
"""Names of the hash of an object, by store."""


def is_url(place: str) -> bool:
    """Return whether a place is a URL, and not a path of this machine."""
    return re.match(r"[a-z][a-z0-9+.-]*://", place) is not None


def is_folder(url: str) -> bool:
    """Return whether a URL names a folder or a prefix of objects."""
    with _reading(url):
        system, path = _located(url)
        return bool(system.isdir(path))


def files_under(url: str) -> list[str]:
    """Return the URLs of the files under a folder, sorted, hidden ones left out."""
    with _reading(url):
        system, path = _located(url)
        system.invalidate_cache()  # include files that were written since
        files = sorted(map(str, system.find(path))) if system.exists(path) else []
        below = {file: file[len(path) :].lstrip("/") for file in files}
        return [
            str(system.unstrip_protocol(file)) for file in files if "/." not in f"/{below[file]}"
        ]


def version_of(url: str) -> str:
    """Return size and hash of a file as its store states them, or its time; nothing is read."""
    with _reading(url):
        system, path = _located(url)
        about = system.info(path)
        tag = next((about[name] for name in TAGS if about.get(name)), None)
        return f"{about['size']} {tag or system.modified(path)}"


def open_url(url: str) -> io.BufferedReader:
    """Open a file to be read; its errors are those of a file of this machine."""
    with _reading(url):
        system, path = _located(url)
        return io.BufferedReader(_Remote(system.open(path, "rb")), 1 << 20)


@contextmanager
def writing_url(url: str) -> Iterator[BinaryIO]:
    """Open an output, which appears under its URL when the block has ended.

    An object store puts one whole or not at all; other systems rename it from a place beside.
    """
    with tempfile.NamedTemporaryFile() as file:
        yield cast("BinaryIO", file)
        file.flush()
        try:
            system, path = _located(url)
            protocols = [system.protocol] if isinstance(system.protocol, str) else system.protocol
            if ATOMIC.intersection(protocols):
                system.put_file(file.name, path)
                return
            folder, _, name = path.rpartition("/")
            system.makedirs(folder, exist_ok=True)
            fresh = f"{folder}/.{os.urandom(4).hex()}-{name}"
            system.put_file(file.name, fresh)
            system.mv(fresh, path)
        except Exception as error:  # of the library of the URL
            missing = isinstance(error, FileNotFoundError)
            reason = "there is no such bucket or folder" if missing else _reason(error)
            raise OutputError(f"{url}: cannot be written: {reason}") from error


class _Remote(io.RawIOBase):
    """A file of a store; every error of its library is an OSError."""

    def __init__(self, file: Any) -> None:  # noqa: ANN401 - of any library
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        return int(self._file.seek(offset, whence))

    def readinto(self, buffer: Any, /) -> int:  # noqa: ANN401 - any writable buffer
        try:
            data = self._file.read(len(buffer))
        except Exception as error:
            raise OSError(_reason(error)) from error
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def _located(url: str) -> tuple[Any, str]:
    """Return the file system of a URL and the path in it."""
    try:
        import fsspec
    except ImportError:
        raise InputError(
            f'{url}: reading stores needs fsspec, which is not installed: pip install "grice'
            '[stores]", and the library of the store, such as s3fs'
        ) from None
    system, path = fsspec.core.url_to_fs(url)
    return system, str(path)


@contextmanager
def _reading(url: str) -> Iterator[None]:
    try:
        yield
    except GriceError:
        raise
    except Exception as error:  # noqa: BLE001 - of the library of the URL
        raise InputError(f"{url}: cannot be read: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    return excerpt(str(error) or type(error).__name__, 300)
