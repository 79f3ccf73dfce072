"""A wheel of a model: locked networks mirror package registries, and nothing else.

Installed, it is found by the entry point group ``grice.bundles``, without a setting and without a
copy: ``model:NAME`` opens the files where ``pip`` has put them.
"""

from __future__ import annotations

import base64
import hashlib
import re
import zipfile
from typing import IO, TYPE_CHECKING

from grice.files import make_folder, replacing
from grice.models.bundle import open_bundle
from grice.models.store.contents import bundle_files
from grice.models.store.places import GROUP, stored

if TYPE_CHECKING:
    from pathlib import Path

    from grice.models.bundle import Bundle, Card

BLOCK = 1 << 20
DATE = (1980, 1, 1, 0, 0, 0)
"""Of every file, the earliest that a zip can hold: the same model gives the same wheel."""

VERSION = re.compile(r"\d+(\.\d+){0,3}")
WHEEL = "Wheel-Version: 1.0\nGenerator: grice\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def build_wheel(name: str, folder: Path) -> Path:
    """Write a wheel of a model into a folder, and return its path.

    Raises:
        ModelError: If the model is not here.
        BundleError: If it is damaged.
        OutputError: If the wheel cannot be written.
    """
    bundle = open_bundle(stored(name).folder)
    package = "grice_model_" + re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    version = _version(bundle)
    about = f"{package}-{version}.dist-info"
    make_folder(folder)
    path = folder / f"{package}-{version}-py3-none-any.whl"
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        rows = [_copy(archive, bundle, package, inside) for inside in bundle_files(bundle)]
        texts = {
            f"{package}/__init__.py": f'"""The model {name}, for grice."""\n',
            f"{about}/METADATA": _metadata(package, version, bundle.card),
            f"{about}/WHEEL": WHEEL,
            f"{about}/entry_points.txt": f"[{GROUP}]\n{name} = {package}\n",
        }
        rows += [_write(archive, inside, text.encode()) for inside, text in texts.items()]
        _write(archive, f"{about}/RECORD", "".join([*rows, f"{about}/RECORD,,\n"]).encode())
    return path


def _version(bundle: Bundle) -> str:
    """Return a version that installers understand: the card's, else one that names the content."""
    stated = bundle.card.version
    return stated if VERSION.fullmatch(stated) else f"0+{bundle.digest}"


def _metadata(package: str, version: str, card: Card) -> str:
    summary = " ".join(card.summary.split())
    return (
        f"Metadata-Version: 2.1\nName: {package.replace('_', '-')}\nVersion: {version}\n"
        f"Summary: {summary}\nLicense: {' '.join(card.licence.split())}\n"
    )


def _copy(archive: zipfile.ZipFile, bundle: Bundle, package: str, inside: str) -> str:
    """Add a file of a bundle, and return its row of RECORD."""
    digest, size = hashlib.sha256(), 0
    name = f"{package}/{inside}"
    with (bundle.folder / inside).open("rb") as file, _opened(archive, name) as member:
        while block := file.read(BLOCK):
            digest.update(block)
            size += len(block)
            member.write(block)
    return _row(name, digest.digest(), size)


def _write(archive: zipfile.ZipFile, name: str, content: bytes) -> str:
    with _opened(archive, name) as member:
        member.write(content)
    return _row(name, hashlib.sha256(content).digest(), len(content))


def _opened(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    about = zipfile.ZipInfo(name, DATE)
    about.compress_type = zipfile.ZIP_DEFLATED
    about.external_attr = 0o644 << 16
    return archive.open(about, "w", force_zip64=True)


def _row(name: str, digest: bytes, size: int) -> str:
    encoded = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    return f"{name},sha256={encoded},{size}\n"
