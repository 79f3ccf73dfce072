"""Loads models by reference, each once, with everything they depend on.

A reference is ``SCHEME:PLACE``. A scheme is a function from the place to a :class:`ModelFolder`,
whose card states the type of the model. A type is declared by one decorated function:

    @model_type("loud-head", task="relevance", settings=LoudSettings)
    def loud_head(folder: ModelFolder, settings: LoudSettings, loader: ModelLoader) -> LoudHead:
        return LoudHead(folder, settings.weight, loader.encoder_of(folder, Encoder))

Types and schemes are entry points of the groups ``grice.models`` and ``grice.schemes``, as ``name =
"package.module:function"``: those of grice in its ``pyproject.toml``, those of other packages in
theirs (``docs/how-to/add-a-metric.md``). A module is imported when a model of its type is loaded.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cached_property
from importlib import metadata
from pathlib import Path
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NamedTuple,
    Self,
    TypeAlias,
    TypeVar,
    get_args,
    overload,
)

import msgspec

from grice import distributions
from grice.distributions import OWN, owner
from grice.errors import GriceError, ModelError, ModelFolderError, out_of_memory

if TYPE_CHECKING:
    from grice.models.endpoint import ClientOptions, RequestCounter, Usage
    from grice.models.folder import Card, CardValue, ModelFolder

    Convert: TypeAlias = Callable[[Path, Path], dict[str, CardValue]]

Mode: TypeAlias = Literal["exact", "fast"]  # arithmetic: float32 or int8

TYPE_GROUP, SCHEME_GROUP = "grice.models", "grice.schemes"  # groups of entry points

MAX_MODELS = 64  # limit on the size of a model's dependency tree; those of shipped models have 4


class Settings(msgspec.Struct, frozen=True):
    """Settings that a type reads from a card's ``[settings]``; others there are left alone."""


P = TypeVar("P")
S = TypeVar("S", bound=Settings)


class ModelType(NamedTuple):
    """A type of model."""

    name: str
    task: str  # what its models are for, such as ``relevance`` or ``knowledge``
    open: Callable[[ModelFolder, ModelLoader], object]  # after a check of its settings
    like_base: bool = False  # whether one whose card states a ``base`` has the task of that model
    convert: Convert | None = None  # writes its files from a checkpoint; None for decoders


def model_type(
    name: str,
    *,
    task: str,
    settings: type[S],
    like_base: bool = False,
    convert: Convert | None = None,
) -> Callable[[Callable[[ModelFolder, S, ModelLoader], object]], ModelType]:
    """Return a decorator that turns an opening function into a :class:`ModelType`."""

    def declare(function: Callable[[ModelFolder, S, ModelLoader], object]) -> ModelType:
        def opened(folder: ModelFolder, loader: ModelLoader) -> object:
            return function(folder, read_settings(folder, settings), loader)

        return ModelType(name, task, opened, like_base, convert)

    return declare


class ModelLoader:
    """Loads models by reference, each once.

    ``cache`` is a folder; None caches outputs for this run only. ``terms`` are client options of
    endpoints.
    """

    def __init__(
        self,
        *,
        mode: Mode = "exact",
        workers: int = 1,
        cache: Path | None = None,
        terms: ClientOptions | None = None,
    ) -> None:
        # Here, not above: reading a signature or a help text needs no engine.
        from grice.models.cache import Cache

        if mode not in ("exact", "fast"):
            raise ModelError(f"mode {mode!r}: write exact or fast")
        if workers < 1:
            raise ModelError(f"{workers} workers: at least one is needed")
        self.mode: Mode = mode
        self.workers = workers
        self.cache = Cache(cache)
        self._terms = terms
        self._folders: dict[str, ModelFolder] = {}
        self._dependencies: dict[str, tuple[str, ...]] = {}
        self._loaded: dict[str, object] = {}

    @cached_property
    def requests(self) -> RequestCounter:
        """The requests to endpoints, of all models together."""
        from grice.models.endpoint import RequestCounter

        return RequestCounter(self._terms)

    @property
    def usage(self) -> tuple[Usage, ...]:
        """The usage of each endpoint model."""
        return self.requests.usage() if "requests" in vars(self) else ()

    def close(self) -> None:
        """Close the cache, and the connections of models that have some."""
        for model in self._loaded.values():
            close = getattr(model, "close", None)
            if close is not None:
                close()
        self.cache.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def folder(self, reference: str) -> ModelFolder:
        """Return the folder of a model, after a check of all it depends on."""
        self.dependencies(reference)
        return self._folders[reference]

    def dependencies(self, reference: str, above: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return a reference with those of its dependency tree, depth first."""
        if reference in above:
            raise ModelFolderError(
                f"{reference}: depends on itself: {' → '.join((*above, reference))}"
            )
        if reference not in self._dependencies:
            self._folders[reference] = find_folder(reference)
            found = [reference]
            for dependency in dependencies_of(self._folders[reference].card):
                found += self.dependencies(dependency, (*above, reference))
                if len(found) + len(above) > MAX_MODELS:
                    raise ModelFolderError(f"{reference}: depends on more than {MAX_MODELS} models")
            self._dependencies[reference] = tuple(found)
        return self._dependencies[reference]

    def fingerprint(self, reference: str) -> str:
        """Return name and hash of a model and of all it depends on."""
        return "+".join(self.folder(name).identity for name in self.dependencies(reference))

    def task(self, reference: str) -> str:
        """Return the task of a model, such as ``relevance`` or ``knowledge``."""
        card = self.folder(reference).card
        declared = find_model_type(card.kind, reference)
        base = card.settings.get("base")
        return self.task(str(base)) if declared.like_base and base else declared.task

    @overload
    def load(self, reference: str, protocol: UnionType | None = None) -> object: ...
    @overload
    def load(self, reference: str, protocol: type[P]) -> P: ...
    def load(self, reference: str, protocol: type[P] | UnionType | None = None) -> P | object:
        """Return the model of a reference, which must have a protocol, or be of a class.

        Raises ModelError for a reference or a type that is unknown or does not fit, and
        ModelFolderError for a folder that is missing, changed or damaged.
        """
        folder = self.folder(reference)
        declared = find_model_type(folder.card.kind, reference)
        try:
            if reference not in self._loaded:
                self._loaded[reference] = declared.open(folder, self)
        except (GriceError, ImportError, MemoryError):
            raise
        except Exception as error:
            if out_of_memory(error):
                raise MemoryError(f"{reference}: {error}") from error
            # The files have the checksums of the card, but not the contents that the type needs.
            raise ModelFolderError(
                f"{reference}: lacks content that a model of type {declared.name!r} needs: "
                f"{type(error).__name__}: {error}"
            ) from error
        model = self._loaded[reference]
        if protocol is not None and not isinstance(model, protocol):
            needed = " or ".join(each.__name__ for each in get_args(protocol) or (protocol,))
            raise ModelError(
                f"{reference}: a model of type {declared.name!r}, where a {needed} is needed"
            )
        return model

    def dependency(self, folder: ModelFolder, reference: str, protocol: type[P], *tasks: str) -> P:
        """Load a model that another one depends on, after a check of its task."""
        if (task := self.task(reference)) not in tasks:
            raise ModelFolderError(
                f"{folder.path}: depends on {reference}, a model of {task}, where one of "
                f"{' or '.join(tasks)} is needed"
            )
        return self.load(reference, protocol)

    def encoder_of(self, folder: ModelFolder, protocol: type[P]) -> P:
        """Load the encoder that a card names."""
        return self.dependency(folder, encoder_reference(folder.card), protocol, "sentence vectors")


def default_workers() -> int:
    """Return the number of processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def find_model_type(name: str, reference: str) -> ModelType:
    """Return a model type by name; ``reference`` names the model in errors."""
    entries = find_entries(TYPE_GROUP)
    if name not in entries:
        known = ", ".join(sorted(entries))
        raise ModelError(f"{reference}: a model of type {name!r}; this version supports {known}")
    declared: ModelType = _loaded(entries[name])
    return declared


def find_folder(reference: str) -> ModelFolder:
    """Return the model folder of a reference."""
    if ":" not in reference and reference.endswith((".tsv", ".jsonl")):
        reference = f"file:{reference}"
    name, _, place = reference.partition(":")
    entries = find_entries(SCHEME_GROUP)
    if not place or name not in entries:
        further = [f"{entry.name}:PLACE" for entry in entries.values() if owner(entry) != OWN]
        raise ModelError(
            f"model reference {reference!r}: write builtin:NAME for a model of the package, "
            "model:NAME for one that was fetched (grice models list), file:PATH for a model folder "
            "or MY.tsv of your own, or openai:MODEL@URL for a model of an endpoint"
            + (f"; installed packages add {', '.join(further)}" if further else "")
        )
    try:
        folder: ModelFolder = _loaded(entries[name])(place)
    except (GriceError, ImportError, MemoryError):
        raise
    except Exception as error:
        raise ModelFolderError(f"{reference}: {type(error).__name__}: {error}") from error
    return folder


def read_settings(folder: ModelFolder, wanted: type[S]) -> S:
    """Return the settings of a card, checked against a record of settings."""
    settings = folder.card.settings
    where = f"{folder.path / 'card.toml'}: settings"
    try:
        json.dumps(settings, allow_nan=False)
        return msgspec.convert(settings, wanted)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$")
        problem = problem[0].lower() + problem[1:]
        raise ModelFolderError(f"{where}{place.removesuffix('`')}: {problem}") from None
    except ValueError:
        raise ModelFolderError(f"{where}: only finite numbers are allowed") from None


def dependencies_of(card: Card) -> tuple[str, ...]:
    """Return the references a card depends on: its parts, else its base, else its encoder."""
    parts = card.settings.get("parts")
    if isinstance(parts, list):
        return tuple(str(part) for part in parts)
    if base := card.settings.get("base"):
        return (str(base),)
    return (encoder_reference(card),) if card.encoder else ()


def encoder_reference(card: Card) -> str:
    """Return the reference of the encoder that a card names."""
    if not card.encoder:
        raise ModelFolderError("the card of a head must name the encoder whose vectors it reads")
    return f"builtin:{card.encoder}"


def plugin_problems() -> tuple[str, ...]:
    """Return a line for each model type or scheme of other packages that cannot be used."""
    problems = []
    for group in (TYPE_GROUP, SCHEME_GROUP):
        entries = find_entries(group)
        for entry in distributions.entry_points(group):
            first = entries[entry.name]
            if first is not entry:
                problems.append(f"{_title(entry)} is left out: {owner(first)} has one of that name")
            elif owner(entry) != OWN:
                try:
                    _loaded(entry)
                except ModelError as error:
                    problems.append(str(error))
    return tuple(problems)


def find_entries(group: str) -> dict[str, metadata.EntryPoint]:
    """Return model types or schemes by name; of two of one name that of grice, else the first."""
    entries = {entry.name: entry for entry in reversed(distributions.entry_points(group))}
    if OWN not in map(owner, entries.values()):
        entries |= distributions.of_checkout(group)
    return entries


def _loaded(entry: metadata.EntryPoint) -> Any:  # noqa: ANN401 - a type or a scheme
    try:
        loaded = distributions.load(entry)
    except Exception as error:
        if owner(entry) == OWN:
            raise
        raise ModelError(f"{_title(entry)}: {type(error).__name__}: {error}") from error
    is_type = isinstance(loaded, ModelType) and loaded.name == entry.name
    if not is_type if entry.group == TYPE_GROUP else not callable(loaded):
        raise ModelError(f"{_title(entry)}: {entry.value} is not one")
    return loaded


def _title(entry: metadata.EntryPoint) -> str:
    what = "model type" if entry.group == TYPE_GROUP else "reference scheme"
    return f"{what} {entry.name!r} of {owner(entry)}"
