"""A source that is whole becomes a bundle: the run-time format, and a card."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grice.models.bundle import write_card
from grice.models.registry import find_kind
from grice.models.store.index import HubSource

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from grice.models.bundle import CardValue
    from grice.models.conversion.checkpoint import Shape
    from grice.models.store.index import Entry, Source


WINDOW = 768
"""Most tokens that a model reads at once: for each it computes a number per piece of its
vocabulary, 200 KB of SmolLM2's."""


STATES, MIDDLE = "causal-states", 4
"""The kind that keeps the first ``layers`` of a model, and the digit of ``scale`` that is 2**0."""


class Description(NamedTuple):
    """What a card says beside the files."""

    facts: Mapping[str, CardValue]
    training: Mapping[str, CardValue]
    settings: Mapping[str, CardValue]
    quality: Sequence[Mapping[str, CardValue]] = ()


def described(entry: Entry, source: Source) -> Description:
    """Return what a card says of a model of the index."""
    version = source.commit[:12] if isinstance(source, HubSource) else source.version
    facts: dict[str, CardValue] = {
        "name": entry.title,
        "kind": entry.kind,
        "version": version,
        "summary": entry.summary,
        "licence": entry.licence,
        "source": source.reference,
    }
    return Description(facts, {"data": [entry.training]}, entry.settings)


def make_bundle(source: Path, target: Path, description: Description) -> None:
    """Write a bundle of a source.

    Args:
        source: A GGUF file, or a folder in the layout of Hugging Face; only such a folder where the
            kind is one of ONNX Runtime or of transformers.

    Raises:
        BundleError: If the source cannot be converted.
    """
    kind = find_kind(str(description.facts["kind"]), str(source))
    if kind.convert is not None:
        settings = kind.convert(source, target)
    else:
        settings = {"max_tokens": min(WINDOW, _converted(source, target, description).positions)}
    files = sorted(path.name for path in target.iterdir())
    write_card(
        target,
        description.facts,
        description.training,
        {**settings, **description.settings},
        description.quality,
        files=files,
    )


def _converted(source: Path, target: Path, description: Description) -> Shape:
    # Here, not above: naming or listing models needs no engine.
    from grice.models.conversion import convert, convert_states

    if description.facts["kind"] != STATES:
        return convert(source, target)
    layers, scale = int(str(description.settings["layers"])), str(description.settings["scale"])
    return convert_states(source, target, layers, [int(digit) - MIDDLE for digit in scale])
