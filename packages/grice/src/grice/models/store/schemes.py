"""References to models that were fetched. Nothing is fetched here: a run opens no connection."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from grice.errors import BundleError, ModelError
from grice.models.bundle import Bundle, open_bundle, read_card
from grice.models.registry import reference_scheme
from grice.models.store.hub import cached_snapshot, parse_hub
from grice.models.store.places import CARD, stored, stored_models

if TYPE_CHECKING:
    from pathlib import Path


@reference_scheme("model")
def stored_model(place: str) -> Bundle:
    """Return the bundle of ``model:NAME``: one that was fetched, or that a package holds."""
    return open_bundle(stored(place).folder)


@reference_scheme("hf")
def hub_model(place: str) -> Bundle:
    """Return the bundle of ``hf:REPO@COMMIT``: added, or whole in the cache."""
    source = parse_hub(place)
    snapshot = cached_snapshot(source)
    if snapshot and (snapshot / CARD).is_file():
        return open_bundle(snapshot)
    for model in stored_models().values():
        if _source(model.folder) == source.reference:
            return open_bundle(model.folder)
    raise ModelError(
        f"{source.reference} is not here; fetch it: grice models add {source.reference} "
        "--licence LICENCE"
    )


def _source(folder: Path) -> str:
    with suppress(BundleError):
        return read_card(folder).source
    return ""
