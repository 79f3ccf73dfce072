"""What the actions of ``grice kb`` share: opening knowledge, and saying what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.errors import InputError

if TYPE_CHECKING:
    from grice.knowledge.build import Below
    from grice.knowledge.lookup import StoredKnowledge
    from grice.models.models import Models

SHIPPED = "bundle:atomic"
MANY = 1000
"""Heads to encode from which on it is worth a word."""


def reference(kb: str) -> str:
    """Return a knowledge base as a model reference."""
    from grice.models.registry import SCHEMES

    return kb if kb.partition(":")[0] in SCHEMES else f"file:{kb}"


def opened(models: Models, kb: str) -> StoredKnowledge:
    """Return known triples.

    Raises:
        InputError: If the model holds none.
    """
    from grice.knowledge.lookup import StoredKnowledge

    knowledge = models.open(reference(kb))
    if not isinstance(knowledge, StoredKnowledge):
        raise InputError(f"{kb}: holds no known triples")
    return knowledge


def below_of(models: Models, kb: str) -> Below:
    """Return what a file may lie on."""
    from grice.knowledge.build import Below

    return Below(reference(kb), opened(models, kb).store)


def announce(knowledge: StoredKnowledge) -> None:
    """Say that it will take a while, if it will."""
    from grice.cli.terminal import note
    from grice.knowledge.files import own_file

    own = own_file(knowledge.store)
    if own is not None and own.unread_heads() > MANY:
        note(f"{own.unread_heads():,} heads are encoded once and kept; this takes a while")
