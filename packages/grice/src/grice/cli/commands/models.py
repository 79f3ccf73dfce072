"""``grice models``: the models that are here, and those that can be fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli.output import Output
from grice.cli.streams import DONE, UNMET, note
from grice.tables import Lines, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from grice.models.store import ModelInfo
    from grice.tables import View

HELP = "list, fetch, verify and choose models"
EXTRAS = ("onnx", "transformers")
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
    view: list[Lines | Table] = []
    for model in models if names else ():
        details = (f"{label}: {value}" for label, value in _details(model))
        view += [Lines([model.name], style="bold"), Lines(details, indent=2)]
    rows = [_row(model) for model in models]
    return Output(models, view if names else [Table(COLUMNS, rows, words=3), Lines(MORE)])


def get(names: Sequence[str], *, accept_licence: bool = False) -> Output:
    """Fetch a preset's models, or single ones.

    Args:
        names (NAME): a preset, with all its models, or a model (grice models list); model:NAME is
            the model where a preset has the same name
        accept_licence: you have read a licence with conditions of its own, and agree
    """
    from grice.models.download import get_models
    from grice.scoring.presets import find_presets, models_of, named_preset

    places = get_models(models_of(names), note, accept_licence=accept_licence)
    presets = [name for name in names if name in find_presets()]
    came = (
        f"the preset {name} "
        f"{'is here' if named_preset(name).models else 'needs nothing that is fetched'}: "
        f"grice score FILE --models {name}"
        for name in presets
    )
    return Output(*_places(places, came))


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
        source,
        note,
        licence=licence,
        name=name,
        files=file,
        kind=kind,
        accept_licence=accept_licence,
    )
    return Output(*_places({name: folder}))


def verify(names: Sequence[str] = ()) -> Output:
    """Compare models with the sha256 of their cards.

    Args:
        names (NAME): models; none means all
    """
    from grice.errors import ModelFolderError
    from grice.models.store import stored_model, stored_models

    rows, lines = [], []
    for name in names or stored_models():
        problem = ""
        try:
            stored_model.find(name)
        except ModelFolderError as error:
            problem = str(error)
        rows.append({"name": name, "ok": not problem, "problem": problem})
        lines.append(f"{name}: {problem or 'ok'}")
    return Output(rows, [Lines(lines)], DONE if all(row["ok"] for row in rows) else UNMET)


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
    rows = [
        {"name": each.name, "about": each.summary, "chosen": each.name == chosen}
        for each in presets
    ]
    lines = [
        f"{'*' if each.name == chosen else ' '} {each.name}  {each.summary}" for each in presets
    ]
    return Output(rows, [Lines(lines)])


ACTIONS = (list_, get, add, verify, path, rm, use)


def _places(models: Mapping[str, Path], more: Iterable[str] = ()) -> tuple[list[object], View]:
    rows: list[object] = [{"name": name, "folder": str(models[name])} for name in models]
    lines = [
        line
        for name, folder in models.items()
        for line in (f"{name}: {folder}", f"use it as model:{name}")
    ]
    return rows, [Lines([*lines, *more])]


def _row(model: ModelInfo) -> tuple[str, ...]:
    sizes = (_megabytes(size, "–", 0) for size in (model.download, model.disk, model.memory))
    return (model.name, "yes" if model.folder else "no", model.licence, *sizes)


def _details(model: ModelInfo) -> Iterator[tuple[str, str]]:
    yield "what", f"{model.summary} ({model.kind})"
    yield "here" if model.folder else "fetch it", model.folder or model.command
    yield "source", model.source or "not stated"
    yield "licence", model.licence
    yield "training data", model.training
    fetched = "" if model.download is None else f", {_megabytes(model.download)} to fetch"
    yield "on disk", f"{_megabytes(model.disk)}{fetched}"
    yield "in memory", _megabytes(model.memory)
    for one in model.measured:
        figure = f"{one.on}, {one.measure}: {one.value:g} [{one.low:g}, {one.high:g}]"
        command = f" ({one.command})" if one.command else ""
        yield "measured", f"{figure}, n {one.n:,}{command}"
    if not model.measured:
        about = "not measured of the model alone; of presets in docs/presets.md"
        yield "agreement with people", about


def _megabytes(size: int | None, unknown: str = "not measured", digits: int = 1) -> str:
    return unknown if size is None else f"{size / 1e6:,.{digits}f} MB"
