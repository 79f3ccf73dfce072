"""Output files: complete under their name, or absent.

- A regular file is written beside its place under a random name, made durable, and renamed: an
  interruption or a full disk leaves the earlier file.
- A symbolic link is followed to its file, unless the system forbids it.
- A character device, a pipe, or an open descriptor such as ``/dev/stdout`` is written through, and
  ``-`` is standard output. Anything else is refused.
- Working files of grice beside an output are never reached through a link.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from grice.errors import OutputError, os_reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
            raise OutputError(f"{output}: is read by this command; name another output")
        if source.is_dir() and source.resolve() in output.resolve().parents:
            raise OutputError(f"{output}: lies in {source}, which is read; name another output")


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
        try:
            yield file
        except OSError as error:
            if isinstance(error, BrokenPipeError) and _descriptor(path) == STDOUT:
                raise  # the reader has closed it
            raise cannot_write(path, error) from error


@contextmanager
def streaming(path: Path) -> Iterator[BinaryIO]:
    """Open a device, a pipe or a descriptor, to be written through."""
    number = _descriptor(path)
    try:
        # A duplicate shares its position with other writers to the descriptor.
        flags = os.O_WRONLY | os.O_APPEND | NOCTTY
        file = os.fdopen(os.open(path, flags) if number is None else os.dup(number), "wb")
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        yield file
    finally:
        try:
            file.close()
        except OSError as error:
            if isinstance(error, BrokenPipeError) and number == STDOUT:
                raise
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

    A link of that name is itself replaced. The file keeps the permissions of the one it replaces.
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
        f"{path}: is a link or no regular file, and nothing that grice has left there; remove it, "
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
    """Return the error of an output that cannot be written."""
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
