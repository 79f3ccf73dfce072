"""A model folder: the files of a model, and its model card.

The card (``card.toml``) lists every file with its sha256. Opening a folder compares them, so that
a changed or half-copied model is refused. Cards are not trusted: a card can name only
files of its own folder.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TypeAlias

import msgspec

from grice import distributions
from grice.data import Json
from grice.errors import ModelFolderError, OutputError, did_you_mean, os_reason
from grice.files import write_text

BASE = "builtin:atomic"  # the knowledge that triples of your own are merged with
TABLES = (".tsv", ".jsonl")  # suffixes of the files that hold triples
FOLDER_GROUP = "grice.model_folders"
"""Entry point group of packages that ship models in a folder ``models``."""

MOST_BYTES, MOST_DOTS = 2**17, 200
"""Length of the longest card that is read (those that ship have some 30 KB), and of dotted keys in
it: the parser's time and memory grow with their square."""

CardValue: TypeAlias = "str | int | float | Sequence[str] | Sequence[int] | Sequence[float]"
"""A value in a card: the types that JSON and TOML share."""


class Training(msgspec.Struct, frozen=True, omit_defaults=True):
    """Training data and command of a model; ``selection`` are sets that chose settings."""

    data: tuple[str, ...] = ()
    selection: tuple[str, ...] = ()
    excluded: str = ""
    command: str = ""
    seeds: tuple[int, ...] = ()


class Quality(msgspec.Struct, frozen=True, omit_defaults=True):
    """One measured figure with its 95 % interval."""

    on: str
    measure: str
    value: float
    low: float
    high: float
    n: int
    command: str = ""
    note: str = ""


class Card(msgspec.Struct, frozen=True, omit_defaults=True):
    """The content of ``card.toml``; ``source`` names where a fetched model is published."""

    name: str
    kind: str
    version: str
    summary: str
    licence: str
    files: dict[str, str]
    encoder: str = ""
    inputs: str = ""
    outputs: str = ""
    training: Training = Training()
    settings: dict[str, Json] = {}
    quality: tuple[Quality, ...] = ()
    source: str = ""


class ModelFolder(msgspec.Struct, frozen=True):
    """A model folder whose files were compared with its card."""

    path: Path
    card: Card
    digest: str  # eight hexadecimal digits over files and settings, part of every signature

    @property
    def identity(self) -> str:
        """Name and digest, as signatures give them."""
        return f"{self.card.name}@{self.digest}"

    def file(self, name: str) -> Path:
        """Return the path of one of the model's files."""
        if name not in self.card.files:
            raise ModelFolderError(f"model {self.card.name!r} has no file {name!r}")
        return self.path / name


@cache
def shipped_models() -> Mapping[str, Path]:
    """Return name and folder of every model that an installed distribution ships."""
    packages = {entry.value for entry in distributions.entry_points(FOLDER_GROUP)}
    folders = [Path(str(resources.files(package))) / "models" for package in sorted(packages)]
    cards = sorted(card for folder in folders for card in folder.glob("*/card.toml"))
    return MappingProxyType({card.parent.name: card.parent for card in cards})


def open_folder(place: str | Path) -> ModelFolder:
    """Open the folder of a shipped model by name, or any other by path.

    Raises ModelFolderError for an unknown name, a bad card, and a missing or changed file.
    """
    if isinstance(place, Path):
        path = place
    else:
        shipped = shipped_models()
        if place not in shipped:
            raise ModelFolderError(f"no model {place!r} is shipped{did_you_mean(place, shipped)}")
        path = shipped[place]
    card = read_card(path)
    for name, expected in card.files.items():
        if problem := _file_problem(path, name, expected):
            advice = "install grice again, or copy the model again from its source"
            raise ModelFolderError(f"model {card.name!r}: {problem}; {advice}")
    return ModelFolder(path, card, _digest(card))


def own_model(place: str) -> ModelFolder:
    """Return the model of ``file:FOLDER``, or the triples of ``file:MY.tsv``."""
    path = Path(place)
    if path.suffix not in TABLES or path.is_dir():
        return open_folder(path)
    if not path.is_file():
        near = [known.name for suffix in TABLES for known in path.parent.glob(f"*{suffix}")]
        raise ModelFolderError(f"{path}: no such file of triples{did_you_mean(path.name, near)}")
    digest = file_sha256(path)
    facts = path.stem, "own-triples", "1", "Triples of your own.", "your own", {path.name: digest}
    card = Card(*facts, encoder="encoder", settings={"base": BASE})
    return ModelFolder(path.parent, card, digest[:8])


def read_card(folder: Path) -> Card:
    """Return the card of a model folder, without checking its files."""
    path = folder / "card.toml"
    try:
        if not path.exists():
            raise ModelFolderError(f"{folder}: not a model folder, it has no card.toml")
        if check_regular(path).stat().st_size > MOST_BYTES:
            raise ValueError(f"longer than {MOST_BYTES:,} bytes")
        text = path.read_text("utf-8")
        keys = (key for line in text.splitlines() for key in line.split("=")[:-1])
        if any(key.count(".") > MOST_DOTS for key in keys):
            raise ValueError(f"a key of more than {MOST_DOTS} parts")
        # Cards written before this version name models of the package bundle:NAME.
        stated = tomllib.loads(text.replace('"bundle:', '"builtin:'))
        card = msgspec.convert(stated, Card)
        _digest(card)
        # The name is part of signatures, whose parts a bar divides.
        if not card.name or not card.name.isprintable() or "|" in card.name:
            raise ValueError(f"{card.name!r} is no valid name: printable, without |")
    except (OSError, RecursionError, ValueError) as error:
        raise ModelFolderError(f"{path}: the card cannot be read: {os_reason(error)}") from None
    return card


def _file_problem(folder: Path, name: str, expected: str) -> str:
    """Return how a file differs from its entry in the card; empty if it is as stated."""
    path = folder / name
    if not is_inside(name):
        return f"{name!r} is not the name of a file in its folder"
    if not path.exists():
        return f"{path} is missing"
    try:
        digest = file_sha256(path)
    except ModelFolderError as error:
        return str(error)
    except OSError as error:
        return f"{path} cannot be read: {os_reason(error)}"
    return "" if digest == expected else f"{path} is not the file its card describes"


def is_inside(name: str) -> bool:
    """Return whether a file's name stays in its folder, on every system."""
    path = PurePosixPath(name)
    foreign = {"..", "\\", ":", "\0"} & {*path.parts, *name}
    # A card may name a file once only: else one of a few KB has a large file read for ever.
    return bool(path.name) and not path.is_absolute() and not foreign and str(path) == name


def check_folder(folder: Path) -> None:
    """Refuse to write a model over anything but an empty folder or another model."""
    if folder.is_file():
        raise OutputError(f"{folder}: is a file; give an empty or a new folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "card.toml").is_file():
        raise OutputError(f"{folder}: contains files but no model; give an empty or a new folder")


def write_card(
    folder: Path,
    facts: Mapping[str, CardValue],
    training: Mapping[str, CardValue],
    settings: Mapping[str, CardValue],
    quality: Iterable[Mapping[str, CardValue]] = (),
    *,
    files: Iterable[str],
) -> None:
    """Write the card of a model, with the checksums of its ``files``.

    ``facts`` are the values at its top: name, kind, version, summary, licence and so on.
    """
    sums = {f'"{name}"': file_sha256(folder / name) for name in files}
    tables = [("", facts), ("[training]\n", training), ("[settings]\n", settings)]
    tables += [("[[quality]]\n", figure) for figure in quality]
    text = "\n".join(title + _pairs(table) for title, table in [*tables, ("[files]\n", sums)])
    write_text(folder / "card.toml", text)


def _pairs(table: Mapping[str, CardValue]) -> str:
    # Strings, numbers and flat lists have the same syntax in JSON and TOML.
    return "".join(
        f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in table.items()
    )


def check_regular(path: Path) -> Path:
    """Return the path of a file; refuse a pipe, a device or a folder, which may never end."""
    if path.exists() and not path.is_file():
        raise ModelFolderError(f"{path}: no regular file; a model has no pipe, device or folder")
    return path


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file as hexadecimal digits."""
    with check_regular(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest(card: Card) -> str:
    content = msgspec.json.encode(
        (card.kind, card.encoder, card.files, card.settings), order="sorted"
    )
    # Digests in recorded signatures were made when the scheme builtin: was called bundle:.
    return hashlib.sha256(content.replace(b'"builtin:', b'"bundle:')).hexdigest()[:8]
