"""Files of Hugging Face repositories, by the rules that users of them know.

What the cache holds is taken from there: ``HF_HUB_CACHE``, else ``hub`` in ``HF_HOME``, else in
``~/.cache/huggingface``. It is read, never written. Everything else comes from ``GRICE_MIRROR``,
where that is set, or from ``HF_ENDPOINT``, and not at all under ``HF_HUB_OFFLINE``. Both serve a
file as ``REPO/resolve/COMMIT/PATH``; a mirror may be a folder.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from grice.errors import InputError, ModelError
from grice.files import cannot_write, make_folder
from grice.models.bundle import file_sha256
from grice.models.store.download import download
from grice.models.store.http import MissingError, Remote
from grice.models.store.index import HubFile, HubSource

if TYPE_CHECKING:
    from grice.models.store.download import Listener

HUB = "hf:"
ENDPOINT = "https://huggingface.co"
REFERENCE = re.compile(r"(?P<repo>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)@(?P<commit>[0-9a-f]{40})")
NEEDED = ("config.json", "tokenizer.json")
USEFUL = ("tokenizer_config.json", "special_tokens_map.json", "generation_config.json")
WEIGHTS, SHARDS = "model.safetensors", "model.safetensors.index.json"
OFF = ("", "0", "false", "no", "off")


def parse_hub(place: str) -> HubSource:
    """Return what ``REPO@COMMIT`` names, without files.

    Raises:
        InputError: If it is not of that form; a branch or a tag is no commit.
    """
    match = REFERENCE.fullmatch(place)
    if not match:
        raise InputError(
            f"hf:{place}: write hf:OWNER/NAME@COMMIT, the commit as all 40 of its hexadecimal "
            "digits: a branch may hold another model tomorrow"
        )
    return HubSource(repo=match["repo"], commit=match["commit"])


def cached_snapshot(source: HubSource) -> Path | None:
    """Return the folder of a commit in the Hugging Face cache; None if there is none."""
    home = os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface"
    cache = Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub")
    name = f"models--{source.repo.replace('/', '--')}"
    snapshot = cache / name / "snapshots" / source.commit
    return snapshot if source.commit and snapshot.is_dir() else None


def mirror_url() -> str:
    """Return ``GRICE_MIRROR`` as a URL without a slash at its end; empty if it is not set.

    Raises:
        InputError: If it is neither a URL that can be read nor a folder.
    """
    stated = os.environ.get("GRICE_MIRROR", "").rstrip("/")
    if not stated or urlsplit(stated).scheme in ("http", "https", "file"):
        return stated
    if not Path(stated).is_dir():
        raise InputError(f"GRICE_MIRROR={stated}: neither a URL (https, http, file) nor a folder")
    return Path(stated).resolve().as_uri()


def fetch_files(source: HubSource, folder: Path, downloads: Path, listener: Listener) -> HubSource:
    """Put the files of a source into a folder, under their paths in the repository.

    Args:
        source: The repository and its commit. Without files, those that a causal language model
            is converted from: configuration, tokenizer, and weights as safetensors.

    Returns:
        The source with the files that were fetched, and the sha256 of each.

    Raises:
        ModelError: If a file cannot be had or is not the one that is known.
        OutputError: If it cannot be written.
    """
    files = _Files(source, folder, downloads, listener)
    if source.files:
        fetched = [files.fetch(file) for file in source.files]
    else:
        fetched = [files.fetch(HubFile(path=path)) for path in NEEDED]
        fetched += files.weights()
        fetched += [file for path in USEFUL if (file := files.optional(path))]
    return HubSource(repo=source.repo, commit=source.commit, files=tuple(fetched))


class _Files:
    """The files of a repository at a commit, one after the other."""

    def __init__(
        self, source: HubSource, folder: Path, downloads: Path, listener: Listener
    ) -> None:
        self._source = source
        self._folder = folder
        self._downloads = downloads
        self._listener = listener
        self._cache = cached_snapshot(source)

    def fetch(self, file: HubFile) -> HubFile:
        """Put a file in its place."""
        target = self._folder / _checked(file.path)
        make_folder(target.parent)
        cached = self._cache and self._cache / file.path
        if cached and cached.is_file() and (not file.sha256 or file_sha256(cached) == file.sha256):
            _place(cached, target)
        else:
            part = download(self._remote(file), self._downloads, self._listener)
            try:
                part.replace(target)
            except OSError as error:
                raise cannot_write(target, error) from error
        return HubFile(path=file.path, sha256=file_sha256(target), bytes=target.stat().st_size)

    def optional(self, path: str) -> HubFile | None:
        """Put a file in its place that a repository may lack."""
        if _closed() and not (self._cache and (self._cache / path).is_file()):
            return None
        try:
            return self.fetch(HubFile(path=path))
        except MissingError:
            return None

    def weights(self) -> list[HubFile]:
        """Put the weights in their place: one file, or the parts that an index names."""
        if self._cache and (self._cache / SHARDS).is_file():
            return self._parts(self.fetch(HubFile(path=SHARDS)))
        if file := self.optional(WEIGHTS):
            return [file]
        try:
            index = self.fetch(HubFile(path=SHARDS))
        except MissingError:
            raise ModelError(
                f"{self._source.reference}: has no weights as safetensors; name a file that can "
                "be converted, such as --file MODEL.gguf"
            ) from None
        return self._parts(index)

    def _parts(self, index: HubFile) -> list[HubFile]:
        try:
            content = json.loads((self._folder / index.path).read_bytes())
            names = sorted({str(name) for name in content["weight_map"].values()})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ModelError(
                f"{self._source.reference}: its {SHARDS} names no parts: {error}"
            ) from error
        return [index, *(self.fetch(HubFile(path=name)) for name in names)]

    def _remote(self, file: HubFile) -> Remote:
        mirror, reference = mirror_url(), self._source.reference
        if _closed():
            raise ModelError(
                f"{reference}: {file.path} is not in the Hugging Face cache, and HF_HUB_OFFLINE is "
                "set; unset it to fetch, or bring the model: grice models import FILE.tar"
            )
        base = mirror or os.environ.get("HF_ENDPOINT", "").rstrip("/") or ENDPOINT
        url = f"{base}/{self._source.repo}/resolve/{self._source.commit}/{quote(file.path)}"
        token = "" if mirror else os.environ.get("HF_TOKEN", "")
        return Remote(url, file.path, file.sha256, file.bytes, token)


def _closed() -> bool:
    """Return whether nothing but folders may be asked."""
    offline = os.environ.get("HF_HUB_OFFLINE", "").lower() not in OFF
    return offline and not mirror_url().startswith("file:")


def _checked(path: str) -> str:
    """Return the path of a file in a repository; an index of weights may name anything."""
    inside = PurePosixPath(path)
    if not path or inside.is_absolute() or ".." in inside.parts or "\\" in path or "\0" in path:
        raise ModelError(f"{path!r} is no path of a file in a repository")
    return path


def _place(cached: Path, target: Path) -> None:
    """Let a file of the cache stand at a place: as a link, where the system allows that."""
    try:
        target.symlink_to(cached.resolve())
    except OSError:
        try:
            shutil.copyfile(cached, target)
        except OSError as error:
            raise cannot_write(target, error) from error
