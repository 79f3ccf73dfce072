"""One tar of a model, to carry it where no network reaches, and back.

A tar may come from anybody: only regular files inside one folder are taken, only those that the
card states, and only if they are what it says.
"""

from __future__ import annotations

import shutil
import tarfile
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from grice.errors import BundleError, InputError
from grice.files import writing
from grice.models.bundle import open_bundle
from grice.models.store.contents import bundle_files
from grice.models.store.index import check_licence
from grice.models.store.places import (
    CARD,
    check_name,
    find_stored,
    publish,
    stored,
    writing_model,
)

if TYPE_CHECKING:
    from pathlib import Path

    from grice.models.store.download import Listener
    from grice.models.store.places import Stored

MOST_FILES = 1000
PLAIN = (tarfile.REGTYPE, tarfile.AREGTYPE)


def export_model(name: str, output: Path) -> None:
    """Write a model as a tar; the same model gives the same bytes.

    Raises:
        ModelError: If it is not here.
        BundleError: If it is damaged.
        OutputError: If the tar cannot be written.
    """
    folder = stored(name).folder
    names = bundle_files(open_bundle(folder))
    with writing(output) as file, tarfile.open(fileobj=file, mode="w|") as archive:
        for inside in names:
            # Nothing of whoever exports it, and no date.
            member = tarfile.TarInfo(f"{name}/{inside}")
            member.size = (folder / inside).stat().st_size
            with (folder / inside).open("rb") as content:
                archive.addfile(member, content)


def import_model(path: Path, listener: Listener, *, accept_licence: bool = False) -> Stored:
    """Take a model out of a tar that :func:`export_model` wrote, and return where it lies.

    Raises:
        InputError: If it is no such tar, cut off, or the name is taken.
        BundleError: If what it holds is no whole bundle.
        ModelError: If its licence was not accepted.
        OutputError: If the model cannot be written.
    """
    try:
        with tarfile.open(path, "r:") as archive:
            name, members = _members(archive, path)
            with writing_model(name, listener.say) as store:
                if here := find_stored(name):
                    raise InputError(f"{name}: is in {here.folder}; grice models rm {name} first")
                return publish(
                    store,
                    name,
                    lambda target: _unpack(archive, members, target, accepted=accept_licence),
                )
    except (tarfile.TarError, EOFError) as error:
        raise InputError(f"{path}: no tar of a model, or cut off: {error}") from error
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None


def _members(archive: tarfile.TarFile, path: Path) -> tuple[str, dict[str, tarfile.TarInfo]]:
    """Return the name of the model in a tar, and its files by their paths in its folder.

    Raises:
        InputError: If there is anything else in it.
    """
    members: dict[str, tarfile.TarInfo] = {}
    names = set()
    for member in archive:
        if member.isdir():
            continue
        inside = PurePosixPath(member.name)
        if not _is_inside(member, inside):
            raise InputError(
                f"{path}: {member.name!r} is no plain file in the folder of a model; nothing was "
                "unpacked"
            )
        names.add(inside.parts[0])
        members[str(inside.relative_to(inside.parts[0]))] = member
        if len(names) > 1 or len(members) > MOST_FILES:
            raise InputError(f"{path}: holds more than the folder of one model")
    if CARD not in members:
        raise InputError(f"{path}: no tar of a model: it holds no {CARD}")
    return check_name(names.pop()), members


def _is_inside(member: tarfile.TarInfo, inside: PurePosixPath) -> bool:
    """Return whether a member is a regular file in a folder, by whichever system's rules."""
    plain = member.type in PLAIN and not member.issparse()
    foreign = set(member.name) & set("\\:\0")
    nested = len(inside.parts) > 1 and not inside.is_absolute() and ".." not in inside.parts
    return plain and nested and not foreign


def _unpack(
    archive: tarfile.TarFile,
    members: dict[str, tarfile.TarInfo],
    target: Path,
    *,
    accepted: bool,
) -> None:
    for inside, member in members.items():
        content = archive.extractfile(member)
        if content is None:
            raise BundleError(f"{member.name}: cannot be unpacked")
        (target / inside).parent.mkdir(parents=True, exist_ok=True)
        with content, (target / inside).open("wb") as file:
            shutil.copyfileobj(content, file)
    bundle = open_bundle(target)
    if further := members.keys() - set(bundle_files(bundle)):
        raise BundleError(f"{sorted(further)[0]}: is no file that the card states")
    check_licence(bundle.card.name, bundle.card.licence, accepted=accepted)
