"""Sources of data sets: origin, licence, and the sha256 of the files that grice reads.

Most sets may not be passed on, and ours are made from what their authors released: `layout` says
how. A set whose files have these sums is the one that recorded figures were measured on.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from grice.errors import InputError, did_you_mean

BLOCK = 1 << 20

State: TypeAlias = Literal["ok", "missing", "differs"]


class DataSet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Facts about a data set."""

    origin: str  # where it is published
    commit: str  # the version that our files were made from; empty if it is not known
    licence: str  # as stated there
    layout: str  # what of it became our files, and how
    files: dict[str, str]
    name: str = ""


def known_data() -> dict[str, DataSet]:
    """Return the data sets that grice knows, by name."""
    text = (resources.files("grice_research") / "data" / "sets.toml").read_bytes()
    entries = msgspec.toml.decode(text, type=dict[str, DataSet])
    return {name: msgspec.structs.replace(entry, name=name) for name, entry in entries.items()}


def named_data(names: Sequence[str]) -> list[DataSet]:
    """Return data sets by name; all of them if none is named."""
    known = known_data()
    for name in names:
        if name not in known:
            raise InputError(f"no data set {name!r}{did_you_mean(name, known)}")
    return [known[name] for name in dict.fromkeys(names)] or list(known.values())


def states(data_set: DataSet, folder: Path) -> dict[str, State]:
    """Return by file of a set whether it is there and the one that grice knows."""
    found: dict[str, State] = {}
    for file, sha256 in data_set.files.items():
        path = folder / file
        right = path.is_file() and _content_sha256(path) == sha256
        found[file] = "ok" if right else "differs" if path.is_file() else "missing"
    return found


def _content_sha256(path: Path) -> str:
    """Return the sha256 of what a file holds; empty if it cannot be unpacked."""
    digest = hashlib.sha256()
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            while block := file.read(BLOCK):
                digest.update(block)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return ""
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    return digest.hexdigest()
