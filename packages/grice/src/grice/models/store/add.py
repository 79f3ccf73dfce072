"""A model that is in no index: a bundle, a folder, a GGUF file, or a repository at a commit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from grice.errors import InputError, ModelError
from grice.models.bundle import open_bundle
from grice.models.store.contents import bundle_files, copy_files
from grice.models.store.hub import HUB, fetch_files, parse_hub
from grice.models.store.index import HubFile, HubSource, check_licence, known_models
from grice.models.store.make import Description, described, make_bundle
from grice.models.store.pickled import as_safetensors
from grice.models.store.places import (
    CARD,
    check_name,
    downloads_folder,
    find_stored,
    publish,
    workspace,
    writing_model,
)

if TYPE_CHECKING:
    from grice.models.bundle import CardValue
    from grice.models.store.download import Listener
    from grice.models.store.pickled import as_safetensors
from grice.models.store.places import Stored


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
    trust_pickle: bool = False


def add(addition: Addition, listener: Listener, *, accept_licence: bool = False) -> Stored:
    """Take a model that is in no index, and return where it lies.

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
    description = _stated(addition, name, "1", f"file:{path.name}")
    with writing_model(name, listener.say) as store, workspace(store) as folder:
        whole = as_safetensors(path, folder, trusted=addition.trust_pickle)
        return publish(store, name, lambda target: make_bundle(whole, target, description))


def _add_bundle(
    path: Path, addition: Addition, listener: Listener, *, accept_licence: bool
) -> Stored:
    bundle = open_bundle(path)
    name = _name(addition, bundle.card.name)
    check_licence(name, bundle.card.licence, accepted=accept_licence)
    with writing_model(name, listener.say) as store:
        return publish(store, name, lambda to: copy_files(path, to, bundle_files(bundle)))


def _add_repository(addition: Addition, listener: Listener, *, accept_licence: bool) -> Stored:
    source = parse_hub(addition.source.removeprefix(HUB))
    name = _name(addition, source.repo.partition("/")[2].lower())
    _check_stated(addition, accepted=accept_licence)
    entry = known_models().get(name)
    if entry and isinstance(entry.source, HubSource) and entry.source.repo == source.repo:
        description = described(entry, source)
    else:
        description = _stated(addition, name, source.commit[:12], source.reference)
    wanted = HubSource(
        repo=source.repo,
        commit=source.commit,
        files=tuple(HubFile(path=file) for file in addition.files),
    )
    with (
        writing_model(name, listener.say) as store,
        workspace(store) as folder,
        workspace(store) as copy,
    ):
        listener.begin(name, None, {})
        came = fetch_files(wanted, folder, downloads_folder(store), listener)
        listener.end()
        # Nobody knew them: the card says what was taken, so that others can ask for the same.
        files = [
            f"{hub_file.path} sha256 {hub_file.sha256}, {hub_file.bytes} bytes"
            for hub_file in came.files
        ]
        description = description._replace(facts={**description.facts, "source_files": files})
        file = folder / addition.files[0] if len(addition.files) == 1 else folder
        if file == folder:
            file = as_safetensors(folder, copy, trusted=addition.trust_pickle)
        listener.say(f"{name}: converting")
        return publish(store, name, lambda target: make_bundle(file, target, description))


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
