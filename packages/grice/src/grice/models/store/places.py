"""Folders that hold models, each model in a folder of its own, there whole or not at all.

``GRICE_MODELS`` lists such folders as ``PATH`` lists programs: all are read, the first is written.
Without it there is one, ``models`` in the user's cache folder.
"""

from __future__ import annotations

import os
import re
import shutil
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice.errors import BundleError, InputError, ModelError, did_you_mean
from grice.files import cache_folder, cannot_write, make_folder
from grice.models.bundle import Bundle, Card, Quality, open_bundle, read_card
from grice.models.loader import reference_scheme
from grice.models.store.index import known_models

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from grice.models.store.index import Entry

CARD = "card.toml"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Stored(NamedTuple):
    """A model that is here: its name and its folder."""

    name: str
    folder: Path


def model_folders() -> list[Path]:
    """Return the folders that hold models, the one that is written first."""
    stated = [place for place in os.environ.get("GRICE_MODELS", "").split(os.pathsep) if place]
    return [Path(place) for place in stated] or [cache_folder() / "models"]


def check_name(name: str) -> str:
    """Return the name of a model."""
    if not NAME.fullmatch(name):
        raise InputError(
            f"{name!r} is no name of a model: letters, digits, '.', '_' and '-' are, at most 64, "
            "the first a letter or a digit"
        )
    return name


def stored_models() -> dict[str, Stored]:
    """Return every model that is here by name; of two of one name the first that is looked at."""
    by_name: dict[str, Stored] = {}
    for folder in model_folders():
        for card in sorted(folder.glob(f"*/{CARD}")):
            if NAME.fullmatch(name := card.parent.name):
                by_name.setdefault(name, Stored(name, card.parent))
    return by_name


def find_stored(name: str) -> Stored | None:
    """Return a model that is here by name; None if it is not."""
    if not NAME.fullmatch(name):
        return None
    for folder in model_folders():
        if (folder / name / CARD).is_file():
            return Stored(name, folder / name)
    return None


def stored(name: str) -> Stored:
    """Return a model that is here by name."""
    if whole := find_stored(name):
        return whole
    known = known_models()
    if name in known:
        raise ModelError(f"the model {name!r} is not here; fetch it: {known[name].command}")
    near = did_you_mean(name, {*known, *stored_models()})
    raise ModelError(f"there is no model {name!r}, here or in the index{near} (grice models list)")


def check_stored(names: Sequence[str], preset: str = "") -> None:
    """Check that models are here by name."""
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
def stored_model(place: str) -> Bundle:
    """Return the bundle of ``model:NAME``: one that was fetched."""
    return open_bundle(stored(place).folder)


def downloads_folder(store: Path) -> Path:
    """Return where unfinished downloads of a folder of models are kept; made if need be."""
    folder = store / ".downloads"
    make_folder(folder)
    return folder


@contextmanager
def writing_model(name: str, say: Callable[[str], None]) -> Iterator[Path]:
    """Yield the folder of models that is written, where no other process writes that model."""
    from filelock import FileLock, Timeout

    store = model_folders()[0]
    make_folder(store / ".locks")
    lock = FileLock(store / ".locks" / name)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        say(f"{name}: waiting for another process that writes it")
        lock.acquire()
    except OSError as error:
        raise cannot_write(store / ".locks" / name, error) from error
    try:
        yield store
    finally:
        lock.release()


@contextmanager
def workspace(store: Path) -> Iterator[Path]:
    """Yield an empty folder beside the models, which is removed at the end."""
    with TemporaryDirectory(dir=downloads_folder(store)) as folder:
        yield Path(folder)


def publish(store: Path, name: str, write: Callable[[Path], None]) -> Stored:
    """Write a model and give it its name when it is whole; one of that name is replaced."""
    make_folder(store)
    target, temporary = store / name, store / f".{name}-{os.urandom(4).hex()}"
    for left in store.glob(f".{name}-????????"):  # by a process that was killed
        shutil.rmtree(left, ignore_errors=True)
    try:
        temporary.mkdir()
        write(temporary)
        open_bundle(temporary)
        _replace(temporary, target)
    except OSError as error:
        raise cannot_write(target, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return Stored(name, target)


def _replace(fresh: Path, target: Path) -> None:
    if not target.exists():
        fresh.rename(target)
        return
    old = target.with_name(f".{target.name}-{os.urandom(4).hex()}")
    target.rename(old)
    try:
        fresh.rename(target)
    except OSError:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def copy_files(source: Path, target: Path, names: Iterable[str]) -> None:
    """Copy files of a folder into another."""
    for name in names:
        try:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, target / name)
        except OSError as error:
            raise cannot_write(target / name, error) from error


def remove(name: str) -> Path:
    """Remove a model; a process that has opened it is not disturbed."""
    model = stored(name)
    # Gone in one step: nobody sees a model of which a part is missing.
    gone = model.folder.with_name(f".{name}-{os.urandom(4).hex()}")
    try:
        model.folder.rename(gone)
    except OSError as error:
        raise cannot_write(model.folder, error) from error
    shutil.rmtree(gone, ignore_errors=True)
    return model.folder


UNMEASURED = "not measured"
UNMEASURED_ALONE = "not measured of the model alone; of presets in docs/presets.md"


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """A model of the index, or one that is here.

    Attributes:
        command: What fetches it; empty if it is here, or in no index.
        disk: Bytes of the bundle; None means not measured.
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

    def row(self) -> tuple[str, ...]:
        """Return what a person reads of it beside others: name, whether it is here, and sizes."""
        sizes = (_short(size) for size in (self.download, self.disk, self.memory))
        return (self.name, "yes" if self.folder else "no", self.licence, *sizes)

    def details(self) -> Iterator[tuple[str, str]]:
        """Yield all that a person reads of it: label and value."""
        yield "what", f"{self.summary} ({self.kind})"
        yield "here" if self.folder else "fetch it", self.folder or self.command
        yield "source", self.source or "not stated"
        yield "licence", self.licence
        yield "training data", self.training
        fetched = "" if self.download is None else f", {_megabytes(self.download)} to fetch"
        yield "on disk", f"{_megabytes(self.disk)}{fetched}"
        yield "in memory", _megabytes(self.memory)
        yield from (("measured", _figure(quality)) for quality in self.measured)
        if not self.measured:
            yield "agreement with people", UNMEASURED_ALONE


def _figure(quality: Quality) -> str:
    interval = f"[{quality.low:g}, {quality.high:g}]"
    figure = f"{quality.on}, {quality.measure}: {quality.value:g} {interval}, n {quality.n:,}"
    return f"{figure} ({quality.command})" if quality.command else figure


def _short(size: int | None) -> str:
    return "–" if size is None else f"{size / 1e6:,.0f} MB"


def _megabytes(size: int | None) -> str:
    return UNMEASURED if size is None else f"{size / 1e6:,.1f} MB"


def known_and_stored(names: Sequence[str] = ()) -> list[Known]:
    """Return the models of the index in its order, then the others that are here."""
    here, known = stored_models(), known_models()
    models = {name: _known(entry, here.get(name)) for name, entry in known.items()}
    models |= {name: _described(model) for name, model in here.items() if name not in known}
    for name in names:
        if name not in models:
            stored(name)
    return [models[name] for name in names or models]


def _known(entry: Entry, here: Stored | None) -> Known:
    same = ("name", "summary", "kind", "licence", "training", "download", "memory", "measured")
    return Known(
        **{name: getattr(entry, name) for name in same},
        source=entry.source.reference,
        folder=str(here.folder) if here else None,
        command="" if here else entry.command,
        disk=_size(here) if here else entry.disk,
    )


def _described(model: Stored) -> Known:
    """Return a model that is in no index, as its card describes it."""
    try:
        card = read_card(model.folder)
    except BundleError as error:
        card = Card(model.name, "?", "", str(error), "?", {})
    return Known(
        name=model.name,
        summary=card.summary,
        kind=card.kind,
        licence=card.licence,
        training="; ".join(card.training.data) or "not stated",
        source=card.source,
        folder=str(model.folder),
        disk=_size(model),
        measured=card.quality,
    )


def _size(model: Stored) -> int:
    return sum(path.stat().st_size for path in model.folder.rglob("*") if path.is_file())
