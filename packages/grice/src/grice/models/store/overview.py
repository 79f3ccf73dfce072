"""The models of the index, and those that are here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from grice.errors import BundleError
from grice.models.bundle import Card, Quality, read_card
from grice.models.store.index import known_models
from grice.models.store.places import stored, stored_models

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.models.store.index import Entry
    from grice.models.store.places import Stored

UNMEASURED = "not measured"
UNMEASURED_ALONE = "not measured of the model alone; of presets in docs/presets.md"


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """A model of the index, or one that is here.

    Attributes:
        command: What fetches it; empty if it is here, or in no index.
        disk: Bytes of the bundle; None means not measured.
    """

    name: str
    summary: str
    kind: str
    licence: str
    training: str
    source: str
    folder: str | None = None
    command: str = ""
    download: int | None = None
    disk: int | None = None
    memory: int | None = None
    measured: tuple[Quality, ...] = ()

    def row(self) -> tuple[str, ...]:
        """Return what a person reads of it beside others: name, whether it is here, and sizes."""
        sizes = (_short(size) for size in (self.download, self.disk, self.memory))
        return (self.name, "yes" if self.folder else "no", self.licence, *sizes)

    def details(self) -> Iterator[tuple[str, str]]:
        """Yield all that a person reads of it: label and value."""
        yield "what", f"{self.summary} ({self.kind})"
        yield "here" if self.folder else "fetch it", self.folder or self.command
        yield "source", self.source or "not stated"
        yield "licence", self.licence
        yield "training data", self.training
        fetched = "" if self.download is None else f", {_megabytes(self.download)} to fetch"
        yield "on disk", f"{_megabytes(self.disk)}{fetched}"
        yield "in memory", _megabytes(self.memory)
        yield from (("measured", _figure(quality)) for quality in self.measured)
        if not self.measured:
            yield "agreement with people", UNMEASURED_ALONE


def _figure(quality: Quality) -> str:
    interval = f"[{quality.low:g}, {quality.high:g}]"
    figure = f"{quality.on}, {quality.measure}: {quality.value:g} {interval}, n {quality.n:,}"
    return f"{figure} ({quality.command})" if quality.command else figure


def _short(size: int | None) -> str:
    return "–" if size is None else f"{size / 1e6:,.0f} MB"


def _megabytes(size: int | None) -> str:
    return UNMEASURED if size is None else f"{size / 1e6:,.1f} MB"


def known_and_stored(names: Sequence[str] = ()) -> list[Known]:
    """Return the models of the index in its order, then the others that are here.

    Args:
        names: Those that are wanted; none means all.
    """
    here, known = stored_models(), known_models()
    models = {name: _known(entry, here.get(name)) for name, entry in known.items()}
    models |= {name: _described(model) for name, model in here.items() if name not in known}
    for name in names:
        if name not in models:
            stored(name)
    return [models[name] for name in names or models]


def _known(entry: Entry, here: Stored | None) -> Known:
    same = ("name", "summary", "kind", "licence", "training", "download", "memory", "measured")
    return Known(
        **{name: getattr(entry, name) for name in same},
        source=entry.source.reference,
        folder=str(here.folder) if here else None,
        command="" if here else entry.command,
        disk=_size(here) if here else entry.disk,
    )


def _described(model: Stored) -> Known:
    """Return a model that is in no index, as its card describes it."""
    try:
        card = read_card(model.folder)
    except BundleError as error:
        card = Card(model.name, "?", "", str(error), "?", {})
    return Known(
        name=model.name,
        summary=card.summary,
        kind=card.kind,
        licence=card.licence,
        training="; ".join(card.training.data) or "not stated",
        source=card.source,
        folder=str(model.folder),
        disk=_size(model),
        measured=card.quality,
    )


def _size(model: Stored) -> int:
    return sum(path.stat().st_size for path in model.folder.rglob("*") if path.is_file())
