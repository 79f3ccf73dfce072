"""Model folders on this machine, each of them complete or absent.

``GRICE_MODELS`` lists folders of models as ``PATH`` lists programs: all are read, the first is
written. Without it there is one, ``models`` in the user's cache folder.
"""

from __future__ import annotations

import os
import re
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from grice.errors import InputError, ModelError, ModelFolderError, did_you_mean
from grice.files import cache_folder, cannot_write, make_folder
from grice.models.folder import Card, ModelFolder, Quality, open_folder, read_card
from grice.models.loader import reference_scheme
from grice.models.store.index import Source, known_models

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

CARD = "card.toml"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
HUB = "hf:"
HUB_PLACE = re.compile(r"([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)@([0-9a-f]{40})")


def model_folders() -> list[Path]:
    """Return the folders that hold models; the first is the one that is written."""
    stated = [place for place in os.environ.get("GRICE_MODELS", "").split(os.pathsep) if place]
    return [Path(place) for place in stated] or [cache_folder() / "models"]


def check_name(name: str) -> str:
    """Return the name of a model, or refuse it."""
    if not NAME.fullmatch(name):
        raise InputError(
            f"{name!r} is no name of a model: use at most 64 letters, digits, '.', '_' and '-'; "
            "the first must be a letter or a digit"
        )
    return name


def stored_models() -> dict[str, Path]:
    """Return the folder of every model by name; the first of two of one name counts."""
    by_name: dict[str, Path] = {}
    for folder in model_folders():
        for card in sorted(folder.glob(f"*/{CARD}")):
            if NAME.fullmatch(card.parent.name):
                by_name.setdefault(card.parent.name, card.parent)
    return by_name


def find_stored(name: str) -> Path | None:
    """Return the folder of a model by name; None if there is none."""
    if not NAME.fullmatch(name):
        return None
    places = (folder / name for folder in model_folders())
    return next((place for place in places if (place / CARD).is_file()), None)


def stored(name: str) -> Path:
    """Return the folder of a model by name, or say how to fetch it."""
    if folder := find_stored(name):
        return folder
    known = known_models()
    if name in known:
        raise ModelError(f"the model {name!r} is not here; fetch it: {known[name].command}")
    near = did_you_mean(name, {*known, *stored_models()})
    raise ModelError(f"there is no model {name!r}, here or in the index{near} (grice models list)")


def check_stored(names: Sequence[str], preset: str = "") -> None:
    """Check that models are here; a preset is named by the command that fetches them."""
    known = known_models()
    missing = [name for name in names if find_stored(name) is None]
    if missing and all(name in known and known[name].fetchable for name in missing):
        several = len(missing) > 1
        raise ModelError(
            f"the model{'s' * several} {' and '.join(map(repr, missing))} "
            f"{'are' if several else 'is'} not here; fetch {'them' if several else 'it'}: "
            f"grice models get {preset or ' '.join(f'model:{name}' for name in missing)}"
        )
    for name in missing:
        stored(name)


@reference_scheme("model")
def stored_model(place: str) -> ModelFolder:
    """Open the model folder of ``model:NAME``."""
    return open_folder(stored(place))


def parse_hub(place: str) -> Source:
    """Return the repository and commit of ``REPO@COMMIT``, without files."""
    match = HUB_PLACE.fullmatch(place)
    if not match:
        raise InputError(
            f"hf:{place}: write hf:OWNER/NAME@COMMIT, the commit as all 40 of its hexadecimal "
            "digits: a branch may hold another model tomorrow"
        )
    return Source(type="hf", repo=match[1], commit=match[2])


@reference_scheme("hf")
def hub_model(place: str) -> ModelFolder:
    """Open the model folder of ``hf:REPO@COMMIT``: in the Hugging Face cache, or added."""
    from huggingface_hub import try_to_load_from_cache

    source = parse_hub(place)
    card = try_to_load_from_cache(source.repo, CARD, revision=source.commit)
    if isinstance(card, str):
        return open_folder(Path(card).parent)
    for folder in stored_models().values():
        with suppress(ModelFolderError):
            if read_card(folder).source == source.reference:
                return open_folder(folder)
    raise ModelError(
        f"{source.reference} is not here; fetch it: grice models add {source.reference} "
        "--licence LICENCE"
    )


def downloads_folder() -> Path:
    """Return the folder of downloads; it is made if need be."""
    folder = model_folders()[0] / ".downloads"
    make_folder(folder)
    return folder


@contextmanager
def writing_model(name: str, say: Callable[[str], None]) -> Iterator[Path]:
    """Lock a name and yield a scratch folder, whose ``model`` becomes the model of that name.

    The model appears in one step, if a card was written; one of that name is replaced.
    """
    from filelock import FileLock, Timeout

    target, scratch = model_folders()[0] / name, downloads_folder() / name
    locks = target.parent / ".locks"
    make_folder(locks)
    lock = FileLock(locks / name)
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
            _replace(scratch / "model", target, scratch / "old")
    except OSError as error:
        raise cannot_write(target, error) from error
    finally:
        if lock.is_locked:
            shutil.rmtree(scratch, ignore_errors=True)
            lock.release()


def _replace(fresh: Path, target: Path, old: Path) -> None:
    if target.exists():
        target.rename(old)
    try:
        fresh.rename(target)
    except OSError:
        if old.exists():
            old.rename(target)
        raise


def copy_files(source: Path, target: Path, names: Iterable[str]) -> None:
    """Copy files of a folder into another."""
    for name in names:
        try:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, target / name)
        except OSError as error:
            raise cannot_write(target / name, error) from error


def remove(name: str) -> Path:
    """Remove a model in one step; a process that has opened it is not disturbed."""
    folder = stored(name)
    gone = folder.with_name(f".{name}-{os.urandom(4).hex()}")
    try:
        folder.rename(gone)
    except OSError as error:
        raise cannot_write(folder, error) from error
    shutil.rmtree(gone, ignore_errors=True)
    return folder


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A model of the index, or one that is here.

    Attributes:
        command: The command that fetches it; empty if it is here, or in no index.
        disk: Bytes of the model folder; None means not measured.
    """

    name: str
    summary: str
    kind: str
    licence: str
    training: str
    source: str
    folder: str | None = None
    command: str = ""
    download: int | None = None
    disk: int | None = None
    memory: int | None = None
    measured: tuple[Quality, ...] = ()


def list_models(names: Sequence[str] = ()) -> list[ModelInfo]:
    """Return the models of the index in its order, then the others that are here."""
    here = stored_models()
    models: dict[str, ModelInfo] = {}
    same = ("name", "summary", "kind", "licence", "training", "download", "memory", "measured")
    for name, entry in known_models().items():
        folder = here.pop(name, None)
        models[name] = ModelInfo(
            **{fact: getattr(entry, fact) for fact in same},
            source=entry.source.reference,
            folder=str(folder) if folder else None,
            command="" if folder else entry.command,
            disk=_size(folder) if folder else entry.disk,
        )
    for name, folder in here.items():
        try:
            card = read_card(folder)
        except ModelFolderError as error:
            card = Card(name, "?", "", str(error), "?", {})
        models[name] = ModelInfo(
            name=name,
            summary=card.summary,
            kind=card.kind,
            licence=card.licence,
            training="; ".join(card.training.data) or "not stated",
            source=card.source,
            folder=str(folder),
            disk=_size(folder),
            measured=card.quality,
        )
    for name in names:
        if name not in models:
            stored(name)
    return [models[name] for name in names or models]


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
