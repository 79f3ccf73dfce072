"""What the actions of ``grice kb`` share: opening knowledge, and saying what it is."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from grice.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice.knowledge.edit import Below
    from grice.knowledge.file import KnowledgeFile
    from grice.knowledge.lookup import StoredKnowledge
    from grice.runtime.models import Models

__all__ = [
    "SHIPPED",
    "announce",
    "below_of",
    "opened",
    "opened_models",
    "own_file",
    "reference",
]

SHIPPED = "bundle:atomic"
MANY = 1000
"""Heads to encode from which on it is worth a word."""


def reference(kb: str) -> str:
    """Return a knowledge base as a model reference."""
    return kb if kb.startswith(("bundle:", "file:")) else f"file:{kb}"


@contextmanager
def opened_models() -> Iterator[Models]:
    """Open models as scoring does, and close them."""
    from grice.cli.options import cache_folder
    from grice.runtime.models import Models

    with Models(mode="fast", workers=1, cache=cache_folder()) as models:
        yield models


def opened(models: Models, kb: str) -> StoredKnowledge:
    """Return known triples.

    Raises:
        InputError: If the model holds none.
    """
    from grice.knowledge.lookup import StoredKnowledge

    found = models.open(reference(kb))
    if not isinstance(found, StoredKnowledge):
        raise InputError(f"{kb}: holds no known triples")
    return found


def below_of(models: Models, kb: str) -> Below:
    """Return what a file may lie on."""
    from grice.knowledge.edit import Below

    return Below(reference(kb), opened(models, kb).shelf)


def own_file(shelf: object) -> KnowledgeFile | None:
    """Return the file of your own that a shelf is or has on top, if any."""
    from grice.knowledge.file import KnowledgeFile
    from grice.knowledge.stack import Stack

    if isinstance(shelf, Stack):
        return shelf.file
    return shelf if isinstance(shelf, KnowledgeFile) else None


def announce(knowledge: StoredKnowledge) -> None:
    """Say that it will take a while, if it will."""
    from grice.cli.terminal import warn

    own = own_file(knowledge.shelf)
    if own is not None and own.unread_heads() > MANY:
        warn(f"{own.unread_heads():,} heads are encoded once and kept; this takes a while")
