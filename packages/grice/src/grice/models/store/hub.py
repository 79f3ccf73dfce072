"""Files of Hugging Face repositories, by ``huggingface_hub``: its cache, endpoint and tokens."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from grice.errors import BundleError, InputError, ModelError
from grice.files import cannot_write, make_folder
from grice.models.bundle import file_sha256, open_bundle, read_card
from grice.models.loader import reference_scheme
from grice.models.store.index import HubFile, HubSource
from grice.models.store.places import CARD, stored_models

if TYPE_CHECKING:
    from grice.models.bundle import Bundle

HUB = "hf:"
REFERENCE = re.compile(r"(?P<repo>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)@(?P<commit>[0-9a-f]{40})")
NEEDED = ("config.json", "tokenizer.json")
USEFUL = ("tokenizer_config.json", "special_tokens_map.json", "generation_config.json")
WEIGHTS, SHARDS = "model.safetensors", "model.safetensors.index.json"


def parse_hub(place: str) -> HubSource:
    """Return what ``REPO@COMMIT`` names, without files."""
    match = REFERENCE.fullmatch(place)
    if not match:
        raise InputError(
            f"hf:{place}: write hf:OWNER/NAME@COMMIT, the commit as all 40 of its hexadecimal "
            "digits: a branch may hold another model tomorrow"
        )
    return HubSource(repo=match["repo"], commit=match["commit"])


@reference_scheme("hf")
def hub_model(place: str) -> Bundle:
    """Return the bundle of ``hf:REPO@COMMIT``: added, or whole in the cache."""
    from huggingface_hub import try_to_load_from_cache

    source = parse_hub(place)
    card = try_to_load_from_cache(source.repo, CARD, revision=source.commit)
    if isinstance(card, str):
        return open_bundle(Path(card).parent)
    for model in stored_models().values():
        with suppress(BundleError):
            if read_card(model.folder).source == source.reference:
                return open_bundle(model.folder)
    raise ModelError(
        f"{source.reference} is not here; fetch it: grice models add {source.reference} "
        "--licence LICENCE"
    )


def fetch_files(source: HubSource, folder: Path) -> HubSource:
    """Put the files of a source into a folder, under their paths in the repository."""
    if source.files:
        fetched = [_needed(source, file, folder) for file in source.files]
    else:
        fetched = [_needed(source, HubFile(path=path), folder) for path in NEEDED]
        fetched += _weights(source, folder)
        useful = (_fetch(source, HubFile(path=path), folder) for path in USEFUL)
        fetched += [file for file in useful if file]
    return HubSource(repo=source.repo, commit=source.commit, files=tuple(fetched))


def _needed(source: HubSource, file: HubFile, folder: Path) -> HubFile:
    fetched = _fetch(source, file, folder)
    if fetched is None:
        raise ModelError(f"{source.reference}: has no {file.path}")
    return fetched


def _fetch(source: HubSource, file: HubFile, folder: Path) -> HubFile | None:
    """Put a file in its place; None if the repository has none of that path."""
    import httpx2
    from huggingface_hub import errors, hf_hub_download

    inside = PurePosixPath(file.path)
    if (
        not file.path
        or inside.is_absolute()
        or ".." in inside.parts
        or set(file.path) & set("\\\0")
    ):
        raise ModelError(f"{file.path!r} is no path of a file in a repository")
    try:
        cached = Path(hf_hub_download(source.repo, file.path, revision=source.commit))
        if file.sha256 and file_sha256(cached) != file.sha256:  # of the cache, it may be damaged
            again = hf_hub_download(
                source.repo, file.path, revision=source.commit, force_download=True
            )
            cached = Path(again)
    except errors.RemoteEntryNotFoundError:
        return None
    except (errors.EntryNotFoundError, httpx2.HTTPError, errors.OfflineModeIsEnabled) as error:
        reason = str(error).strip().partition("\n")[0]
        raise ModelError(
            f"{source.reference}: {file.path} cannot be fetched: {reason}\n"
            "  Without a connection, fetch the files elsewhere, then: grice models add FOLDER"
        ) from error
    except OSError as error:
        raise cannot_write(folder / file.path, error) from error
    found = file_sha256(cached)
    if file.sha256 and found != file.sha256:
        raise ModelError(
            f"{source.reference}: {file.path} is not the file that grice knows (sha256 "
            f"{found[:12]}…, expected {file.sha256[:12]}…)"
        )
    target = folder / file.path
    make_folder(target.parent)
    try:
        target.symlink_to(cached.resolve())
    except OSError:  # a system without links
        try:
            shutil.copyfile(cached, target)
        except OSError as error:
            raise cannot_write(target, error) from error
    return HubFile(path=file.path, sha256=found, bytes=target.stat().st_size)


def _weights(source: HubSource, folder: Path) -> list[HubFile]:
    """Put the weights in their place: one file, or the parts that an index names."""
    if file := _fetch(source, HubFile(path=WEIGHTS), folder):
        return [file]
    index = _fetch(source, HubFile(path=SHARDS), folder)
    if index is None:
        raise ModelError(
            f"{source.reference}: has no weights as safetensors; name a file that can be "
            "converted, such as --file MODEL.gguf"
        )
    try:
        content = json.loads((folder / index.path).read_bytes())
        names = sorted({str(name) for name in content["weight_map"].values()})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{source.reference}: its {SHARDS} names no parts: {error}") from error
    return [index, *(_needed(source, HubFile(path=name), folder) for name in names)]
