"""One process at a time writes a file, on Windows as on other systems."""

import os
import sys
import threading
import types

import pytest

from grice.files import try_lock
from grice.models.store.places import writing_model

fcntl = pytest.importorskip("fcntl", reason="Windows is imitated by it")


def windows(monkeypatch, refuse=None):
    """Imitate the locks of Windows; return where in a file they were taken."""
    places = []

    def locking(descriptor, mode, count):
        assert (mode, count) == ("at once", 1)
        places.append(os.lseek(descriptor, 0, os.SEEK_CUR))
        if refuse:
            raise refuse
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PermissionError(13, "Permission denied") from None

    msvcrt = types.SimpleNamespace(LK_NBLCK="at once", locking=locking)
    monkeypatch.setitem(sys.modules, "msvcrt", msvcrt)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setattr(sys, "platform", "win32")
    return places


@pytest.fixture(params=["here", "windows"])
def system(request, monkeypatch):
    return windows(monkeypatch) if request.param == "windows" else None


def test_a_file_is_locked_once_until_it_is_closed(tmp_path, system):
    path = tmp_path / "file"
    with path.open("ab") as first, path.open("ab") as second:
        assert try_lock(first)
        assert not try_lock(second)
        first.close()
        assert try_lock(second)


def test_what_is_locked_on_windows_can_be_read_and_written(tmp_path, monkeypatch):
    places = windows(monkeypatch)
    path = tmp_path / "file"
    path.write_bytes(b"before ")
    with path.open("r+b") as file:
        file.seek(7)
        assert try_lock(file)
        file.write(b"after")
    assert path.read_bytes() == b"before after"
    assert places == [2**31 - 2]  # nobody may read that byte; it is behind the end


def test_a_file_system_without_locks_keeps_nobody_from_writing(tmp_path, monkeypatch):
    windows(monkeypatch, OSError(22, "Invalid argument"))
    with (tmp_path / "file").open("ab") as file:
        assert try_lock(file)


def test_a_model_is_written_by_one_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setenv("GRICE_MODELS", str(tmp_path))
    messages, done = [], []

    def second():
        with writing_model("medium", messages.append):
            done.append("second")

    with writing_model("medium", messages.append):
        waiting = threading.Thread(target=second)
        waiting.start()
        waiting.join(0.3)
        done.append("first")
    waiting.join(5)
    assert done == ["first", "second"]
    assert messages == ["medium: waiting for another process that writes it"]
