"""Which files a bundle is, and a copy of them."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from grice.files import cannot_write

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from grice.models.bundle import Bundle


def bundle_files(bundle: Bundle) -> list[str]:
    """Return the paths of all files that belong to a bundle, its card first.

    Raises:
        BundleError: If one that its card states is missing or changed.
    """
    texts = (bundle.training_texts(), bundle.selection_texts())
    stated = {path.relative_to(bundle.folder).as_posix() for path in texts if path}
    return ["card.toml", *sorted(stated | set(bundle.card.files))]


def copy_files(source: Path, target: Path, names: Iterable[str]) -> None:
    """Copy files of a folder into another.

    Raises:
        OutputError: If one cannot be read or written.
    """
    for name in names:
        try:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, target / name)
        except OSError as error:
            raise cannot_write(target / name, error) from error
