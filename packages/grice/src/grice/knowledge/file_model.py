"""A file that ``grice kb`` made, as a model: ``file:MY.kb``."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from grice.errors import BundleError
from grice.knowledge.file import KnowledgeFile
from grice.knowledge.layout import VERSION
from grice.knowledge.lookup import StoredKnowledge
from grice.knowledge.overlay import Overlay
from grice.knowledge.protocols import KnowledgeBase
from grice.models.bundle import Bundle, Card, open_bundle
from grice.models.protocols import Encoder
from grice.models.registry import (
    Settings,
    encoder_of,
    model_kind,
    reference_scheme,
)

if TYPE_CHECKING:
    from grice.models.registry import Opener


class FileSettings(Settings, frozen=True):
    """What :func:`describe_file` states: what the file lies on; empty if it stands alone."""

    base: str


@reference_scheme("file")
def own_model(place: str) -> Bundle:
    """Return the bundle of ``file:FOLDER`` or ``file:MY.kb``."""
    path = Path(place)
    return describe_file(path) if path.is_file() or path.suffix == ".kb" else open_bundle(path)


def describe_file(path: Path) -> Bundle:
    """Return a file that ``grice kb`` made as a bundle of kind ``knowledge-file``.

    Its digest is the hash of its content, and the setting ``base`` the reference of what it lies
    on; empty if it stands alone.

    Raises:
        BundleError: If it is not such a file, or not a whole one.
    """
    with closing(KnowledgeFile(path)) as file:
        card = Card(
            path.stem,
            "knowledge-file",
            str(VERSION),
            f"{len(file):,} triples of your own",
            "your own",
            {path.name: file.content},
            encoder="encoder",
            settings={"schema": file.schema.name, "base": file.base},
        )
        return Bundle(path.parent, card, file.content[:8])


@model_kind("knowledge-file", answers="knowledge", protocol=KnowledgeBase, settings=FileSettings)
def knowledge_file(bundle: Bundle, settings: FileSettings, opener: Opener) -> StoredKnowledge:
    """Open the triples of a file, on top of other knowledge if it has any.

    Raises:
        BundleError: If the file is not a whole one, or what lies below is no stored knowledge.
    """
    base = None
    if settings.base:
        base = opener.part(bundle, settings.base, KnowledgeBase, "knowledge")
    ((name, whole),) = bundle.card.files.items()
    file = KnowledgeFile(bundle.folder / name, whole)
    encoder = encoder_of(bundle, opener, Encoder)
    if base is None:
        return StoredKnowledge(file, encoder)
    if not isinstance(base, StoredKnowledge):
        raise BundleError(f"{file.path}: {file.base} below it holds no known triples")
    return StoredKnowledge(Overlay(file, base.store), encoder)
