"""Queries and replies, as RUBER and predictive engagement learn from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice_research.training.published.files import TrainingExample, binary, records_of, text_field

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def ruber(path: Path) -> Iterator[TrainingExample]:
    """Yield true pairs: records with ``query`` and ``reply``; the false ones are drawn."""
    for number, record in records_of(path):
        query, reply = (text_field(path, number, record, name) for name in ("query", "reply"))
        yield TrainingExample(query, "1", query, options=(reply,))


def engagement(path: Path) -> Iterator[TrainingExample]:
    """Yield pairs with their label: ``query``, ``reply``, ``label``, perhaps ``conversation``.

    Pairs of one conversation share its label, so they stand on one side of a split.
    """
    for number, record in records_of(path):
        query, reply = (text_field(path, number, record, name) for name in ("query", "reply"))
        label = binary(path, number, record)
        group = str(record.get("conversation", query))
        yield TrainingExample(query, label, group, options=(reply,))
