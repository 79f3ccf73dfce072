"""A bundle: a folder with a model, its tokenizer and a card that says what it is.

The card (``card.toml``) lists every file with its sha256. Opening a bundle compares them, so
that a changed or half-copied model is refused and never answers quietly with other numbers. A card
may come from a stranger: it names files of its own folder and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
import warnings
import zipfile
from functools import cache
from importlib import resources
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from grice import distributions
from grice.data import Json
from grice.errors import BundleError, OutputError, did_you_mean, os_reason
from grice.files import write_text
from grice.models.loader import reference_scheme

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FOLDER_GROUP = "grice.model_folders"
"""Entry point group of packages that ship models."""

MOST_BYTES = 2**20
"""Length of the longest card that is read; those that ship have some 30 KB."""

RENAMED = {"fit": "context-relevance"}
"""Shipped bundles by the names they had."""

STARTS = {".gz": b"\x1f\x8b", ".npy": b"\x93NUMPY", ".sqlite": b"SQLite"}
"""How files begin, by the end of their name."""

CardValue: TypeAlias = "str | int | float | Sequence[str] | Sequence[int] | Sequence[float]"
"""A value in a card: the types that JSON and TOML share."""


class Training(msgspec.Struct, frozen=True, omit_defaults=True):
    """Training data and command of a model.

    Attributes:
        selection: Sets that were looked at to choose settings.
        excluded: How evaluated texts were kept out.
    """

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


class Bundle(msgspec.Struct, frozen=True):
    """A bundle whose files were compared with its card.

    Attributes:
        digest: Eight hexadecimal digits over the files and settings; part of every signature.
    """

    folder: Path
    card: Card
    digest: str

    @property
    def identity(self) -> str:
        """Name and digest, as signatures give them."""
        return f"{self.card.name}@{self.digest}"

    def path(self, name: str) -> Path:
        """Return the path of one of the bundle's files."""
        if name not in self.card.files:
            raise BundleError(f"bundle {self.card.name!r} has no file {name!r}")
        return self.folder / name


@cache
def shipped_bundles() -> Mapping[str, Path]:
    """Return name and folder of every model that an installed distribution ships.

    A distribution offers a package whose folder ``models`` holds them by the entry point group
    ``grice.model_folders``.
    """
    packages = {entry.value for entry in distributions.entry_points(FOLDER_GROUP)}
    folders = [Path(str(resources.files(package))) / "models" for package in sorted(packages)]
    cards = sorted(card for folder in folders for card in folder.glob("*/card.toml"))
    return MappingProxyType({card.parent.name: card.parent for card in cards})


def open_bundle(place: str | Path) -> Bundle:
    """Open a shipped bundle by name, or any bundle by the path of its folder.

    Raises:
        BundleError: Unknown name, unreadable card, or a file that is missing or changed.
    """
    if isinstance(place, Path):
        folder = place
    else:
        shipped = shipped_bundles()
        if place not in shipped:
            raise BundleError(f"no bundle {place!r} is shipped{did_you_mean(place, shipped)}")
        folder = shipped[place]
    card = read_card(folder)
    for name, expected in card.files.items():
        _check_file(folder, name, expected, card.name)
    return Bundle(folder, card, _digest(card))


@reference_scheme("bundle")
def shipped_model(name: str) -> Bundle:
    """Return the bundle of ``bundle:NAME``; one by a former name with a warning."""
    if name in RENAMED:
        message = f"bundle:{name} is called bundle:{RENAMED[name]} now"
        warnings.warn(message, FutureWarning, stacklevel=2)
    return open_bundle(RENAMED.get(name, name))


def read_card(folder: Path) -> Card:
    """Return the card of a bundle, whose files are not looked at.

    Raises:
        BundleError: If there is none, or it cannot be read.
    """
    path = folder / "card.toml"
    unreadable = f"{path}: the card cannot be read: "
    try:
        if not path.exists():
            raise BundleError(f"{folder}: not a bundle, it has no card.toml")
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            raise BundleError(f"{unreadable}no regular file of at most {MOST_BYTES:,} bytes")
        stated = tomllib.loads(path.read_text("utf-8"))
        card = msgspec.convert(stated, Card)
        _digest(card)
    except RecursionError:
        raise BundleError(f"{unreadable}its tables are nested too deeply") from None
    except OSError as error:
        raise BundleError(unreadable + os_reason(error)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise BundleError(unreadable + str(error)) from None
    # The name stands in signatures, whose parts a bar divides.
    if not card.name or not card.name.isprintable() or "|" in card.name:
        raise BundleError(
            f"{unreadable}{card.name!r} is no name: printable and without | is needed"
        )
    return card


def _check_file(folder: Path, name: str, expected: str, bundle: str) -> None:
    advice = "install grice again, or copy the bundle again from its source"
    path, inside = folder / name, PurePosixPath(name)
    if not name or inside.is_absolute() or ".." in inside.parts or "\\" in name or "\0" in name:
        raise BundleError(f"bundle {bundle!r}: {name!r} is no name of a file in its folder")
    if path.exists() and not path.is_file():
        raise BundleError(f"bundle {bundle!r}: {path} is no regular file; {advice}")
    try:
        digest = file_sha256(path)
    except FileNotFoundError:
        raise BundleError(f"bundle {bundle!r}: {path} is missing; {advice}") from None
    except OSError as error:
        raise BundleError(f"bundle {bundle!r}: {path} cannot be read: {error.strerror}") from None
    if digest != expected:
        raise BundleError(
            f"bundle {bundle!r}: {path} is not the file its card describes "
            f"(sha256 {digest[:12]}…, the card says {expected[:12]}…); {advice}"
        )
    if not _is_what_its_name_says(path):
        raise BundleError(f"bundle {bundle!r}: {path} is no whole {path.suffix} file; {advice}")


def _is_what_its_name_says(path: Path) -> bool:
    """Return false for what would break only later, when the file is first needed."""
    if path.suffix == ".npz":
        return zipfile.is_zipfile(path)
    with path.open("rb") as file:
        return file.read(8).startswith(STARTS.get(path.suffix, b""))


def check_folder(folder: Path) -> None:
    """Let a model be written only where nothing else can be lost.

    Raises:
        OutputError: If it is a file, or a folder that holds something but no model.
    """
    if folder.is_file():
        raise OutputError(f"{folder}: is a file; name an empty or a new folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "card.toml").is_file():
        raise OutputError(f"{folder}: holds files but no model; name an empty or a new folder")


def write_card(
    folder: Path,
    facts: Mapping[str, CardValue],
    training: Mapping[str, CardValue],
    settings: Mapping[str, CardValue],
    quality: Iterable[Mapping[str, CardValue]] = (),
    *,
    files: Iterable[str],
) -> None:
    """Write the card of a bundle beside its files.

    Args:
        folder: The bundle.
        facts: What the card says at its top: name, kind, version, summary, licence and so on.
        training: Its table ``[training]``.
        settings: Its table ``[settings]``.
        quality: Measured figures, a table ``[[quality]]`` each.
        files: The files of the folder that belong to the bundle; the card states their sums.
    """
    tables = [_pairs(facts), "[training]\n" + _pairs(training), "[settings]\n" + _pairs(settings)]
    tables += ["[[quality]]\n" + _pairs(figure) for figure in quality]
    tables.append("[files]\n" + _pairs({f'"{name}"': file_sha256(folder / name) for name in files}))
    write_text(folder / "card.toml", "\n".join(tables))


def _pairs(table: Mapping[str, CardValue]) -> str:
    # JSON's strings, numbers and flat lists are TOML's.
    return "".join(
        f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in table.items()
    )


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest(card: Card) -> str:
    content = msgspec.json.encode(
        (card.kind, card.encoder, card.files, card.settings), order="sorted"
    )
    return hashlib.sha256(content).hexdigest()[:8]
