"""Recorded figures of versions that no longer ship.

The signature of a figure names the version of each metric and the digest of each bundle it was
computed with. A figure is outdated if one of them is not what ships now. Pages mark such figures
and say which versions they are of; their counts leave them out.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from grice.metrics.registry import find_metrics
from grice.models.bundle import open_bundle, shipped_bundles

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from grice_research.figures import Figure

MARK = "†"
"""Stands behind the name of a row that is outdated."""
UNKNOWN = "of an unknown version"
METRIC = re.compile(r"(?:^|\+)([a-z_]+):(\d+)(?=[|+]|$)")
"""A metric with its version, as a signature, or one of several joined by +, begins."""
BUNDLE = re.compile(r"(?<![\w.-])([a-z0-9][\w.-]*)@([0-9a-f]{8})(?![0-9a-f])")
DATA = re.compile(r"\|on:[^|+]*")
LESS = " less "
FIRST = re.compile(r"[a-z_]+")


class Shipped(NamedTuple):
    """Version by metric and digest by bundle."""

    versions: Mapping[str, str]
    bundles: Mapping[str, str]


class Change(NamedTuple):
    """A metric or bundle that was recorded as one thing and ships as another."""

    recorded: str
    ships: str


@cache
def shipped() -> Shipped:
    """Return the versions of metrics and the digests of shipped bundles."""
    versions = {name: metric.version for name, metric in find_metrics().metrics.items()}
    return Shipped(versions, {name: open_bundle(name).digest for name in shipped_bundles()})


def changes(signature: str, ships: Shipped | None = None) -> list[Change]:
    """Return what a signature names that does not ship: metrics, or bundles if there are none.

    A metric whose version moved is enough to say so; its models have often moved with it.

    >>> changes("relevance:3|history:4", Shipped({"relevance": "4"}, {}))
    [Change(recorded='relevance 3', ships='relevance 4')]
    """
    versions, bundles = ships or shipped()
    metrics = [
        Change(f"{name} {version}", f"{name} {versions[name]}" if name in versions else "")
        for name, version in METRIC.findall(signature)
        if versions.get(name) != version
    ]
    return metrics or [
        Change(f"{name}@{digest}", f"{name}@{bundles[name]}")
        for name, digest in BUNDLE.findall(DATA.sub("", signature))
        if bundles.get(name, digest) != digest
    ]


def outdated(
    figures: Sequence[Figure], ships: Shipped | None = None
) -> dict[Figure, tuple[Change, ...]]:
    """Return the outdated figures of a run, each with what differs from what ships.

    A figure without a signature has those of its row: a difference, those of its two rows. One of
    ours that has none either, though its row names a metric, is of an unknown version.
    """
    versions = (ships or shipped()).versions
    by_row: dict[tuple[str, str], dict[str, None]] = {}
    for figure in figures:
        if figure.signature:
            for on in (figure.on, ""):
                by_row.setdefault((figure.row, on), {})[figure.signature] = None
    found = {}
    for figure in figures:
        signatures = [figure.signature] if figure.signature else _of_rows(figure, by_row)
        differ = dict.fromkeys(each for text in signatures for each in changes(text, ships))
        named = FIRST.match(figure.metric or figure.row)
        if not signatures and figure.kind == "ours" and named and named[0] in versions:
            differ[Change(f"{named[0]} {UNKNOWN}", f"{named[0]} {versions[named[0]]}")] = None
        if differ:
            found[figure] = tuple(differ)
    return found


def _of_rows(figure: Figure, by_row: Mapping[tuple[str, str], Mapping[str, None]]) -> Sequence[str]:
    """Return the signatures of the rows that a figure without one is of."""
    names = [figure.row] if (figure.row, "") in by_row else figure.row.split(LESS)
    return [
        signature
        for name in names
        for signature in by_row.get((name, figure.on), by_row.get((name, ""), {}))
    ]


def notice(differ: Iterable[Change], commands: Iterable[str], figures: str) -> str:
    """Return in Markdown which versions figures are of, and what measures them again."""
    given = sorted(dict.fromkeys(differ))
    if not given:
        return ""
    ships = dict.fromkeys(each.ships for each in given if each.ships)
    now = f"what ships is {_listed(ships)}" if ships else "none of them ships"
    recorded = _listed(each.recorded for each in given)
    again = _listed(f"`{command}`" for command in dict.fromkeys(commands))
    return (
        f"**Recorded for {recorded}; {now}.** {figures} may differ from what ships; measure them "
        f"again with {again}."
    )


def _listed(items: Iterable[str]) -> str:
    *first, last = items
    return f"{', '.join(first)} and {last}" if first else last
