"""One process at a time writes a file."""

import threading

import pytest

from grice.files import try_lock
from grice.models.store import writing_model

pytest.importorskip("fcntl", reason="this system has other locks")


def test_a_file_is_locked_once_until_it_is_closed(tmp_path):
    path = tmp_path / "file"
    with path.open("ab") as first, path.open("ab") as second:
        assert try_lock(first)
        assert not try_lock(second)
        first.close()
        assert try_lock(second)


@pytest.mark.parametrize(("error", "locked"), [(22, True), (11, False)])
def test_a_file_system_without_locks_keeps_nobody_from_writing(
    tmp_path, monkeypatch, error, locked
):
    def flock(descriptor, operation):
        raise OSError(error, "as the system says")

    monkeypatch.setattr("fcntl.flock", flock)
    with (tmp_path / "file").open("ab") as file:
        assert try_lock(file) is locked


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
