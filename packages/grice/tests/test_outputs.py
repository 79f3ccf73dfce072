"""Output files: complete or absent, through devices, never through a planted link."""

import os
import re
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import grice
from grice.errors import OutputError
from grice.files import (
    cache_folder,
    config_folder,
    replacing,
    try_lock,
    write_lines,
    write_text,
    writing,
)
from grice.models.store import writing_model

PACKAGE = Path(grice.__file__).parent

pytestmark = pytest.mark.skipif(os.name != "posix", reason="devices and links are those of POSIX")


@pytest.fixture
def null(tmp_path):
    """Return a node of our own of the null device: the system's must survive these tests."""
    path = tmp_path / "null"
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except OSError:
        pytest.skip("device nodes can be made by root alone")
    return path


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def test_a_file_appears_complete_or_what_was_there_stays(tmp_path):
    path = tmp_path / "out.txt"
    with writing(path) as file:
        file.write(b"be")
        assert not path.exists()
        file.write(b"fore")

    def lines():
        yield b"after"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_lines(path, lines())
    assert (path.read_text(), leftovers(tmp_path)) == ("before", [])


def test_a_replaced_file_keeps_its_permissions(tmp_path):
    path = tmp_path / "private.txt"
    path.write_text("before")
    path.chmod(0o600)
    write_text(path, "after")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("after", 0o600)


def test_a_device_is_written_through(null):
    write_text(null, "gone")
    assert stat.S_ISCHR(null.stat().st_mode)


def test_a_link_stands_for_its_file(tmp_path):
    target, link = tmp_path / "real" / "target.txt", tmp_path / "link.txt"
    target.parent.mkdir()
    link.symlink_to(target)
    for text in ("new", "replaced"):
        write_text(link, text)
        assert link.is_symlink()
        assert target.read_text() == text
    assert leftovers(tmp_path) == leftovers(target.parent) == []


def test_what_cannot_be_replaced_is_refused(tmp_path, monkeypatch):
    with pytest.raises(OutputError, match="it is a folder; name a file"):
        write_text(tmp_path, "x")
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(tmp_path)  # the name of a socket is bounded to a hundred bytes
        listening.bind("socket")
        with pytest.raises(OutputError, match="it is neither a file nor a pipe"):
            write_text(tmp_path / "socket", "x")
    with pytest.raises(OutputError, match="there is no folder"):
        write_text(tmp_path / "nowhere" / "out", "x")


def test_a_write_protected_file_stays(tmp_path):
    path = tmp_path / "kept.txt"
    path.write_text("before")
    path.chmod(0o444)
    if os.access(path, os.W_OK):
        pytest.skip("root may write everything")
    with pytest.raises(OutputError, match="write-protected"):
        write_text(path, "after")
    assert path.read_text() == "before"


def test_a_data_base_cannot_be_written_to_a_device(null):
    with pytest.raises(OutputError, match="it is a device or a pipe"), replacing(null):
        pass


def test_standard_output_by_its_path_is_written_in_order(tmp_path):
    code = (
        "from pathlib import Path; from grice.files import write_text; print('first', flush=True)\n"
        "write_text(Path('/dev/stdout'), 'second\\n'); print('third')\n"
    )
    with (tmp_path / "out.txt").open("wb") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out.txt").read_text() == "first\nsecond\nthird\n"


ELSEWHERE = {
    "readers/_reading.py": "in the example of a docstring",
    "models/mlp.py": "writes where its caller made room with grice.files",
    "models/conversion.py": "into an empty folder that its caller has made",
    "models/download.py": "into the scratch folder of a model, which appears in one step",
}
WRITES = re.compile(
    r"\.(write_text|write_bytes|touch|rename)\(|\bnp\.savez?\w*\(|open\([^)]*[\"'][wax]\+?b?[\"']"
)


def test_whatever_writes_files_does_so_through_the_helper():
    sources = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    texts = {name: path.read_text("utf-8") for name, path in sources.items()}
    writing_alone = {
        name
        for name, text in texts.items()
        if WRITES.search(text) and not re.search(r"^ *from grice\.files import", text, re.MULTILINE)
    }
    assert writing_alone - ELSEWHERE.keys() == {"files.py"}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
def test_folders_are_those_of_the_system_unless_variables_name_others(tmp_path, monkeypatch):
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "GRICE_CACHE", "GRICE_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    expected = tmp_path / ".cache" / "grice", tmp_path / ".config" / "grice"
    assert (cache_folder(), config_folder()) == expected
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "kept"))
    assert cache_folder() == tmp_path / "kept" / "grice"
    monkeypatch.setenv("GRICE_CACHE", str(tmp_path / "here"))
    monkeypatch.setenv("GRICE_CONFIG", str(tmp_path / "there"))
    assert (cache_folder(), config_folder()) == (tmp_path / "here", tmp_path / "there")


def test_a_file_is_locked_once_until_it_is_closed(tmp_path):
    path = tmp_path / "file"
    with path.open("ab") as first, path.open("ab") as second:
        assert try_lock(first)
        assert not try_lock(second)
        first.close()
        assert try_lock(second)


@pytest.mark.parametrize(("error", "locked"), [(22, True), (11, False)])
def test_without_locks_of_files_all_may_write(tmp_path, monkeypatch, error, locked):
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
