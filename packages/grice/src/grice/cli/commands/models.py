"""``grice models``: the models that are here, and those that can be fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli.output import DONE, UNMET, Output, listing, note
from grice.tables import Lines, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from grice.models.store import ModelInfo

HELP = "list, fetch, verify and choose models"
COLUMNS = ("model", "here", "licence", "to fetch", "on disk", "in memory")
MORE = (
    "grice models list NAME says more, and how to fetch one; – is not known or not measured",
    "get medium or get large fetches what that preset needs; get model:NAME one model",
)


def list_(names: Sequence[str] = ()) -> Output:
    """Models of the index and those that are here.

    Args:
        names (NAME): models; none means all
    """
    from grice.models.store import list_models

    models = list_models(names)
    if names:
        return Output(models, [piece for model in models for piece in _details(model)])
    rows = []
    for model in models:
        sizes = map(_megabytes, (model.download, model.disk, model.memory))
        rows.append((model.name, "yes" if model.folder else "no", model.licence, *sizes))
    return Output(models, [Table(COLUMNS, rows, words=3), Lines(MORE)])


def _megabytes(size: int | None, form: str = ",.0f", unknown: str = "–") -> str:
    return unknown if size is None else f"{size / 1e6:{form}} MB"


def _details(model: ModelInfo) -> Iterator[Lines]:
    yield Lines([model.name], style="bold")
    disk, memory = (_megabytes(size, ",.1f", "not measured") for size in (model.disk, model.memory))
    fetched = f", {_megabytes(model.download, ',.1f')} to fetch" if model.download else ""
    measured = [
        f"measured: {one.on}, {one.measure}: {one.value:g} [{one.low:g}, {one.high:g}], "
        f"n {one.n:,}{f' ({one.command})' if one.command else ''}"
        for one in model.measured
    ]
    unmeasured = "agreement with people: not measured of the model alone; of presets in "
    lines = [
        f"what: {model.summary} ({model.kind})",
        f"here: {model.folder}" if model.folder else f"fetch it: {model.command}",
        f"source: {model.source or 'not stated'}",
        f"licence: {model.licence}",
        f"training data: {model.training}",
        f"on disk: {disk}{fetched}",
        f"in memory: {memory}",
        *(measured or [f"{unmeasured}docs/presets.md"]),
    ]
    yield Lines(lines, indent=2)


def get(names: Sequence[str], *, accept_licence: bool = False) -> Output:
    """Fetch a preset's models, or single ones.

    Args:
        names (NAME): a preset, with all its models, or a model (grice models list); model:NAME is
            the model where a preset has the same name
        accept_licence: you have read a licence with conditions of its own, and agree
    """
    from grice.models.download import get_models
    from grice.scoring.presets import find_presets, models_of

    models = get_models(models_of(names), note, accept_licence=accept_licence)
    presets = find_presets()
    here = [name for name in names if name in presets]
    return _places(models, [f"use the preset: grice score FILE --models {name}" for name in here])


def add(
    source: str,
    *,
    licence: str = "",
    name: str = "",
    file: Sequence[str] = (),
    kind: str = "causal-lm",
    accept_licence: bool = False,
) -> Output:
    """Take a model that is in no index.

    Args:
        source (SOURCE): a model, a folder with config.json, *.safetensors and tokenizer.json, a
            GGUF file, or hf:OWNER/NAME@COMMIT
        licence (SPDX): licence of the weights; default: that of a model
        name (NAME): name of the new model; default: as its source
        file (PATH): hf: take this file of the repository, such as a GGUF file; may be repeated
        kind (KIND): type of the new model, such as transformers-nli or onnx-encoder
        accept_licence: you have read a licence with conditions of its own, and agree
    """
    from grice.models.download import add_model

    name, folder = add_model(
        source, note, licence=licence, name=name, files=file, kind=kind,
        accept_licence=accept_licence,
    )  # fmt: skip
    return _places({name: folder})


def _places(models: Mapping[str, Path], more: Iterable[str] = ()) -> Output:
    """Show the folders of models, and how they are named in options."""
    lines = [f"{name}: {folder}\nuse it as model:{name}\n" for name, folder in models.items()]
    rows = [{"name": name, "folder": str(folder)} for name, folder in models.items()]
    return Output(rows, [*lines, Lines(more)])


def verify(names: Sequence[str] = ()) -> Output:
    """Compare models with the sha256 of their cards.

    Args:
        names (NAME): models; none means all
    """
    from grice.errors import ModelFolderError
    from grice.models.store import stored_model, stored_models

    problems = dict.fromkeys(names or stored_models(), "")
    for name in problems:
        try:
            stored_model(name)
        except ModelFolderError as error:
            problems[name] = str(error)
    rows = [{"name": name, "ok": not why, "problem": why} for name, why in problems.items()]
    view = [Lines(f"{name}: {why or 'ok'}" for name, why in problems.items())]
    return Output(rows, view, UNMET if any(problems.values()) else DONE)


def path(name: str) -> Output:
    """Print the folder of a model.

    Args:
        name (NAME): the model (grice models list)
    """
    from grice.models.store import stored

    folder = str(stored(name))
    return Output([{"name": name, "folder": folder}], [f"{folder}\n"])


def rm(names: Sequence[str]) -> Output:
    """Remove models.

    Args:
        names (NAME): models
    """
    from grice.models.store import remove
    from grice.scoring.presets import check_not_chosen

    rows = []
    for name in names:
        check_not_chosen(name)
        rows.append({"name": name, "removed": str(remove(name))})
    return Output(rows, [Lines(f"{row['removed']}: removed" for row in rows)])


def use(preset: str | None = None) -> Output:
    """Choose the preset of all runs.

    Args:
        preset (PRESET): small, medium, large or your own; none: show
    """
    from grice.scoring.presets import default_preset, find_presets, named_preset, set_default

    if preset is not None:
        file = set_default(preset)
        line = f"models: {preset}, for every run that says nothing else ({file})"
        return Output([{"name": preset, "file": str(file)}], [Lines([line])])
    chosen = default_preset()
    presets = [named_preset(name) for name in sorted(find_presets())]
    return listing(
        {"name": each.name, "about": each.summary, "chosen": each.name == chosen}
        for each in presets
    )


ACTIONS = (list_, get, add, verify, path, rm, use)
