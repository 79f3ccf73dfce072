"""The models that grice knows by name: ``data/models/index.toml``.

What nobody has looked up, such as the commit of a repository, or measured, is absent. A file
``models.toml`` of the same form, in the user's folder of settings, adds models by their own names.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from grice.errors import InputError, ModelError, did_you_mean, os_reason
from grice.files import config_folder
from grice.models.bundle import Quality

OWN = "models.toml"

PERMISSIVE = frozenset(
    ("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC-BY-4.0", "CC0-1.0", "ISC", "MIT",
     "Unlicense", "Zlib")
)  # fmt: skip
"""Licences, by their SPDX names, that ask for no more than that their text is kept."""


class Wheel(NamedTuple):
    """A wheel on a package index, and the file in it that is a model or a part of one."""

    package: str
    version: str
    file: str
    sha256: str
    bytes: int
    member: str


class PackageSource(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="package"
):
    """A file inside a wheel on a package index.

    Attributes:
        member: Path of the model in the wheel.
    """

    package: str
    version: str
    file: str
    sha256: str
    bytes: int
    member: str
    member_sha256: str
    member_bytes: int

    @property
    def reference(self) -> str:
        """The source as one string, such as ``package:NAME==VERSION``."""
        return f"package:{self.package}=={self.version}"

    @property
    def wheels(self) -> tuple[Wheel, ...]:
        """The one wheel."""
        return (Wheel(self.package, self.version, self.file, self.sha256, self.bytes, self.member),)


class PackagesSource(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="packages"
):
    """A file whose parts lie in wheels of several packages, for registries that limit a wheel.

    ``{part}`` in a name stands for the number of the part, from 1; ``{part:02}`` for two digits.

    Attributes:
        parts: sha256 and length of each wheel, in the order of the parts.
    """

    package: str
    version: str
    file: str
    member: str
    parts: tuple[tuple[str, int], ...]
    member_sha256: str
    member_bytes: int

    @property
    def reference(self) -> str:
        """The source as one string, such as ``packages:NAME-part{part}==VERSION``."""
        return f"packages:{self.package}=={self.version}"

    @property
    def wheels(self) -> tuple[Wheel, ...]:
        """The wheels in the order of their parts."""
        return tuple(
            Wheel(
                self.package.format(part=part),
                self.version,
                self.file.format(part=part),
                sha256,
                length,
                self.member.format(part=part),
            )
            for part, (sha256, length) in enumerate(self.parts, 1)
        )


class HubFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of a repository: path, and sha256 and length where they are known."""

    path: str
    sha256: str = ""
    bytes: int | None = None


class HubSource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="hf"):
    """Files of a Hugging Face repository at a commit; both are empty until somebody looks."""

    repo: str
    commit: str = ""
    files: tuple[HubFile, ...] = ()

    @property
    def reference(self) -> str:
        """The source as one string: ``hf:REPO@COMMIT``."""
        return f"hf:{self.repo}@{self.commit or 'COMMIT'}"

    @property
    def wheels(self) -> tuple[Wheel, ...]:
        """No wheels."""
        return ()


Source: TypeAlias = PackageSource | PackagesSource | HubSource


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model of the index.

    Attributes:
        title: Name of the model, which its card and so every signature repeats.
        origin: Repository of the authors, where the source is another one.
        disk: Bytes of the bundle; None means not measured.
        settings: What the card states for those who run it.
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
        """Whether the source is known to the byte."""
        source = self.source
        return not isinstance(source, HubSource) or bool(
            source.commit and source.files and all(file.sha256 for file in source.files)
        )

    @property
    def command(self) -> str:
        """The command that fetches it; ``COMMIT`` stands for what the index does not know.

        With ``model:``, since a preset may have the same name.
        """
        if self.fetchable:
            return f"grice models get model:{self.name}"
        source = f"{self.source.reference} --name {self.name} --licence {self.licence}"
        return f"grice models add {source}"

    @property
    def download(self) -> int | None:
        """Bytes that are fetched; None if they are not known."""
        files = self.source.files if isinstance(self.source, HubSource) else self.source.wheels
        sizes = [file.bytes for file in files]
        return None if not sizes or None in sizes else sum(size or 0 for size in sizes)


def known_models() -> dict[str, Entry]:
    """Return the models of the index by name: the package's, then those of the user's own file."""
    shipped = _read(Path(str(resources.files("grice"))) / "data" / "models" / "index.toml")
    own = config_folder() / OWN
    return {**shipped, **{k: v for k, v in _read(own).items() if k not in shipped}}


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
    """Return a model of the index by name."""
    known = known_models()
    if name not in known:
        raise ModelError(
            f"the index has no model {name!r}{did_you_mean(name, known)}\n"
            "  any other comes by: grice models add FOLDER|hf:REPO@COMMIT --licence LICENCE"
        )
    entry = known[name]
    if not entry.fetchable:
        raise ModelError(
            f"{name}: the index knows no commit and no sha256 of {entry.source.reference} yet; "
            f"look up the commit you trust on the page of the repository, then\n  {entry.command}"
        )
    return entry


def check_licence(name: str, licence: str, *, accepted: bool) -> None:
    """Refuse a licence with conditions of its own that nobody has accepted."""
    if accepted or licence in PERMISSIVE:
        return
    raise ModelError(
        f"{name}: its licence, {licence}, may restrict what you do with it; read it, and give "
        "--accept-licence if you agree"
    )
