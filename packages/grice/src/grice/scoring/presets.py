"""Presets: the models and weights of all metrics at once, by a name.

A preset is a TOML file:

    summary = "Its purpose."
    models = ["medium"]               # to be fetched: grice models get NAME
    metrics = ["likelihood"]          # run beside the default ones, unless a run names its own

    [options.relevance]               # a metric, and its options by their names
    model = "model:medium"

``small`` is the preset that ships and sets nothing. Others are in the package and in the folder
``presets`` of the user's settings. An option that is given by itself replaces that of a preset.
Every value is in the signature of its metric.
"""

from __future__ import annotations

import tomllib
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from grice.errors import InputError, did_you_mean, os_reason
from grice.files import config_folder, make_folder, write_text

if TYPE_CHECKING:
    from collections.abc import Iterable

SMALL = "small"
CONFIG = "config.toml"
ENDPOINT = "openai:"
MODEL = "model:"
T = TypeVar("T")


class Preset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of metrics, by a name."""

    summary: str
    models: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    options: dict[str, dict[str, str | int | float]] = {}
    name: str = ""

    def check_models(self) -> None:
        """Check that the models it needs are here."""
        if self.models:
            from grice.models.store import check_stored

            check_stored(self.models, self.name if self.name in find_presets() else "")


class Config(msgspec.Struct, frozen=True):
    """The user's choices for all runs: the name of a preset."""

    models: str = SMALL


def find_presets() -> dict[str, Path]:
    """Return the files of all presets by name; of two of one name the one of the package."""
    shipped = Path(str(resources.files("grice"))) / "data" / "presets"
    return {
        path.stem: path for folder in (_own(), shipped) for path in sorted(folder.glob("*.toml"))
    }


def named_preset(name: str) -> Preset:
    """Return a preset by name, by the path of a file ``NAME.toml``, or by a model of an endpoint.

    ``openai:MODEL@URL`` runs all judges by that model beside the default metrics.
    """
    if name.startswith(ENDPOINT):
        from grice.metrics.judges import JUDGES, MODEL

        return Preset(
            "Judges by a model of an endpoint.",
            metrics=JUDGES,
            options={judge: {MODEL: name} for judge in JUDGES},
            name=name,
        )
    files = find_presets()
    path = Path(name) if name.endswith(".toml") else files.get(name)
    if path is not None:
        return msgspec.structs.replace(_read(path, Preset), name=path.stem)
    raise InputError(
        f"no preset {name!r}{did_you_mean(name, files)}\n"
        f"  one of your own is a file NAME.toml, in {_own()} or anywhere by its path"
    )


def models_of(names: Iterable[str]) -> list[str]:
    """Return the models that names of presets or models stand for, each once."""
    presets = find_presets()
    models = (
        named_preset(name).models if name in presets else (name.removeprefix(MODEL),)
        for name in names
    )
    return list(dict.fromkeys(chain.from_iterable(models)))


def _own() -> Path:
    return config_folder() / "presets"


def default_preset() -> str:
    """Return the name of the preset that the user has chosen, ``small`` if none."""
    path = config_folder() / CONFIG
    return _read(path, Config).models if path.exists() else SMALL


def set_default(name: str) -> Path:
    """Choose the preset of all runs that name none, and return the file that says so."""
    if name.endswith(".toml"):
        raise InputError(f"{name}: a preset is chosen by name; copy it to {_own()}")
    named_preset(name).check_models()
    path = config_folder() / CONFIG
    make_folder(path.parent)
    write_text(path, f"models = {msgspec.json.encode(name).decode()}\n")
    return path


def check_not_chosen(model: str) -> None:
    """Refuse to remove a model of the chosen preset."""
    preset = default_preset()
    if model in named_preset(preset).models:
        raise InputError(
            f"{model}: the preset of all runs, {preset}, needs it; choose another one before: "
            f"grice models use {SMALL}"
        )


def _read(path: Path, kind: type[T]) -> T:
    try:
        return msgspec.convert(tomllib.loads(path.read_text("utf-8")), kind)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {os_reason(error)}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise InputError(f"{path}: {error}") from error
