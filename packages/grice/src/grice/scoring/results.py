"""Scores as a list that shows itself: as text, as a table in a notebook, as rows and as a frame."""

from __future__ import annotations

from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from grice.errors import InputError, excerpt, plural
from grice.records import Score
from grice.tables import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.records import Json

SHOWN = 20
COLUMNS = ("conversation", "turn", "metric", "value", "status", "reason")
FRAMES = {"pandas": "DataFrame", "polars": "DataFrame"}
LONGEST = 60


class Scores(list[Score]):
    """Scores in the order of the conversations and their turns: a list, with ways to look at it."""

    def to_rows(self) -> list[dict[str, Json]]:
        """Return a flat record of each score: what a table holds, with the flags as one text."""
        return [
            {
                **{name: getattr(score, name) for name in COLUMNS},
                "flags": " ".join(score.flags),
                "signature": score.signature,
            }
            for score in self
        ]

    def to_frame(self) -> Any:  # noqa: ANN401 - of a library that may not be installed
        """Return a data frame of :meth:`to_rows`: of pandas, else of polars.

        Raises:
            InputError: If neither is installed.
        """
        for library, frame in FRAMES.items():
            try:
                module = import_module(library)
            except ImportError:
                continue
            return getattr(module, frame)(self.to_rows())
        raise InputError("a data frame needs pandas or polars: pip install pandas")

    def to_json(self) -> list[dict[str, Json]]:
        """Return the scores with all their evidence, as ``grice score`` writes them."""
        rows: list[dict[str, Json]] = msgspec.to_builtins(list(self))
        return rows

    def __repr__(self) -> str:
        """Return the first scores as lines of a table."""
        rows = [COLUMNS, *_cells(self[:SHOWN])]
        widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS) - 1)]
        lines = ["  ".join([*map(str.ljust, row, widths), row[-1]]).rstrip() for row in rows]
        return "\n".join([plural(len(self), "score"), *lines, *self._more()])

    def _repr_html_(self) -> str:
        """Return a table for a notebook; texts are escaped."""
        head = "".join(f"<th>{name}</th>" for name in COLUMNS)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
            for row in _cells(self[:SHOWN])
        )
        more = "".join(f"<p>{line}</p>" for line in self._more())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    def _more(self) -> Iterator[str]:
        if len(self) > SHOWN:
            yield f"… and {len(self) - SHOWN:,} more"


def _cells(scores: Sequence[Score]) -> Iterator[tuple[str, ...]]:
    for score in scores:
        reason = excerpt(score.reason or "", LONGEST)
        yield (
            score.conversation,
            "" if score.turn is None else str(score.turn),
            score.metric,
            number(score.value),
            score.status,
            reason,
        )
