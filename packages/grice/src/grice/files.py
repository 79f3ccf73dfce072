"""Output files, complete under their name or absent; and files of stores by URL.

A regular file is written to a temporary file next to it, synced, and renamed: an interruption or
a full disk leaves the earlier file. Symbolic links are followed. Character devices, pipes and open
descriptors such as ``/dev/stdout`` are written directly, and ``-`` is standard output. Anything
else is refused. Temporary files next to an output are never opened through a link.

URLs are opened with fsspec (``grice[stores]``). Object stores write an output completely or not at
all.
"""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from grice.errors import GriceError, InputError, OutputError, excerpt, os_reason

NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
NONBLOCK = getattr(os, "O_NONBLOCK", 0)
NOCTTY = getattr(os, "O_NOCTTY", 0)
BINARY = getattr(os, "O_BINARY", 0)
"""Flags of ``os.open``; 0 on systems without them (Windows)."""

STDOUT = 1
"""Its descriptor."""
NAME_LENGTH = 40
"""Characters of a name that its temporary name repeats; systems bound names to 255 bytes."""
LOCKED_BYTE = 2**31 - 2
ATOMIC = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "oci"})
"""Stores that write objects atomically, and in which a rename would be a copy."""
TAGS = ("ETag", "etag", "md5Hash", "content_md5", "checksum")
"""Metadata keys of the hash of an object, by store."""


def destination(path: Path) -> Path | None:
    """Return the regular file of an output, existing or not; None for a stream."""
    if _descriptor(path) is not None:
        return None
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return _resolved(path)  # a new file, or a link to one
    except OSError as error:
        raise cannot_write(path, error) from error
    if stat.S_ISCHR(mode) or stat.S_ISFIFO(mode):
        return None
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "neither a file nor a pipe"
        raise OutputError(f"{path}: cannot be written: it is {what}; name a file")
    if not os.access(path, os.W_OK):
        raise OutputError(f"{path}: cannot be written: it is write-protected; name another output")
    return _resolved(path)


def check_not_input(output: Path, inputs: Iterable[Path]) -> None:
    """Refuse to write over a file that is read."""
    if not output.is_file():
        return
    for source in inputs:
        if source.is_file() and output.samefile(source):
            raise OutputError(f"{output}: is an input of this command; name another output")
        if source.is_dir() and source.resolve() in output.resolve().parents:
            raise OutputError(f"{output}: is inside {source}, an input; name another output")


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _descriptor(path: Path) -> int | None:
    """Return the number of an open descriptor that a path names, if it names one."""
    named = {"-": STDOUT, "/dev/stdout": STDOUT, "/dev/stderr": 2}
    numbered = re.fullmatch(r"/(?:dev|proc/self)/fd/(\d{1,9})", str(path))
    return int(numbered[1]) if numbered else named.get(str(path))


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """Open an output; a regular file appears under its name when the block has ended."""
    if destination(path) is not None:
        with replacing(path) as temporary, temporary.open("wb") as file:
            yield file
        return
    with streaming(path) as file:
        yield file


@contextmanager
def streaming(path: Path) -> Iterator[BinaryIO]:
    """Open a device, a pipe or a descriptor, to be written through."""
    number = _descriptor(path)
    try:
        # A duplicated descriptor shares its position with other writers.
        flags = os.O_WRONLY | os.O_APPEND | NOCTTY
        opened = os.open(path, flags) if number is None else os.dup(number)
        with os.fdopen(opened, "wb") as file:
            yield file
    except OSError as error:
        of_another_file = error.filename is not None and str(error.filename) != str(path)
        if of_another_file or (isinstance(error, BrokenPipeError) and number == STDOUT):
            raise  # such as a closed standard output
        raise cannot_write(path, error) from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield the path of an empty file that replaces an output when the block has ended.

    For libraries that write by path, such as SQLite; see :func:`writing`.
    """
    target = destination(path)
    if target is None:
        raise OutputError(f"{path}: cannot be written: it is a device or a pipe; name a file")
    try:
        with renaming(target) as temporary:
            yield temporary
    except OSError as error:
        raise cannot_write(path, error) from error


@contextmanager
def renaming(target: Path) -> Iterator[Path]:
    """Yield the path of an empty file that is renamed to ``target`` when the block has ended.

    A link of that name is replaced. The file keeps the permissions of the one it replaces.
    """
    name = f".{target.stem[:NAME_LENGTH]}-{os.urandom(4).hex()}{target.suffix}"
    temporary = target.with_name(name)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW | BINARY
    os.close(os.open(temporary, flags, 0o666))
    try:
        keep_permissions(temporary, target)
        yield temporary
        with temporary.open("r+b") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def keep_permissions(fresh: Path, replaced: Path) -> None:
    """Give a new file the permissions of the one it is to replace, if there is one."""
    if replaced.is_file() and not replaced.is_symlink():
        fresh.chmod(stat.S_IMODE(replaced.stat().st_mode) & 0o777)


def open_own(path: Path, flags: int) -> int:
    """Open a working file of grice, and return its descriptor."""
    planted = OutputError(
        f"{path}: is a link or a special file, not a temporary file of grice; remove it, "
        "or name another output"
    )
    try:
        opened = os.open(path, flags | NOFOLLOW | NONBLOCK | BINARY, 0o666)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR) or path.is_symlink():
            raise planted from None
        raise
    status = os.fstat(opened)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        os.close(opened)
        raise planted
    return opened


def make_folder(folder: Path) -> None:
    """Make a folder for outputs if it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written: {os_reason(error)}") from error


def write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write an output line by line."""
    with writing(path) as file:
        file.writelines(lines)


def write_bytes(path: Path, content: bytes) -> None:
    """Write an output."""
    write_lines(path, [content])


def write_text(path: Path, text: str) -> None:
    """Write an output as UTF-8."""
    write_bytes(path, text.encode("utf-8", "replace"))


def cannot_write(path: Path, error: Exception, advice: str = "") -> OutputError:
    """Build the error of an output that cannot be written."""
    missing = not path.parent.is_dir()
    reason = f"there is no folder {path.parent}" if missing else os_reason(error)
    return OutputError(f"{path}: cannot be written: {reason}{advice and f'; {advice}'}")


def try_lock(file: BinaryIO) -> bool:
    """Lock a file until it is closed; return false if another process has locked it.

    Without locks in the file system it is true: the last writer wins.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            place = file.tell()
            try:
                # A locked byte cannot be read or written by others: the last possible one.
                os.lseek(file.fileno(), LOCKED_BYTE, os.SEEK_SET)
                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            finally:
                os.lseek(file.fileno(), place, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        pass
    return True


def _user_folder(variable: str, kind: str) -> Path:
    if stated := os.environ.get(variable):
        return Path(stated)
    from platformdirs import PlatformDirs

    return Path(getattr(PlatformDirs("grice", appauthor=False, roaming=True), kind))


def cache_folder() -> Path:
    """Return the cache folder: ``GRICE_CACHE``, or that of the user."""
    return _user_folder("GRICE_CACHE", "user_cache_path")


def config_folder() -> Path:
    """Return the settings folder: ``GRICE_CONFIG``, or that of the user."""
    return _user_folder("GRICE_CONFIG", "user_config_path")


def state_folder() -> Path:
    """Return the folder of what grice remembers: ``GRICE_STATE``, or that of the user."""
    return _user_folder("GRICE_STATE", "user_state_path")


def is_url(place: str) -> bool:
    """Return whether a location is a URL rather than a local path."""
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
    """Return size and hash, or time, of a file from the metadata of its store."""
    with _reading(url):
        system, path = _located(url)
        about = system.info(path)
        tag = next((about[name] for name in TAGS if about.get(name)), None)
        return f"{about['size']} {tag or system.modified(path)}"


def open_url(url: str) -> io.BufferedReader:
    """Open a file for reading; errors are those of a local file."""
    with _reading(url):
        system, path = _located(url)
        return io.BufferedReader(_Remote(system.open(path, "rb")), 1 << 20)


@contextmanager
def writing_url(url: str) -> Iterator[BinaryIO]:
    """Open an output, which appears under its URL when the block has ended."""
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
    """A file of a store; errors of its library are raised as OSError."""

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
