"""Which evaluated texts the models of a metric were trained on: the guard of the locked split.

A metric that is judged on texts its model has learned from is judged too well. Every bundle that a
recipe of this project trained carries a fingerprint of its training texts
(:mod:`grice.evaluation.overlap`); what others trained is ``not recorded``, which is no promise.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice.errors import BundleError, InputError
from grice.evaluation.overlap import Fingerprint, Overlap, fingerprint, overlap
from grice.runtime.bundle import Bundle, file_sha256, open_bundle, shipped_bundles

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from grice.evaluation.datasets import Rated

__all__ = ["Guard", "Model", "TrainedOn", "models_named", "record_texts"]

FILE = "texts.fp"
NOT_RECORDED = "not recorded"
NAMED = re.compile(r"([\w.-]+)@([0-9a-f]{8})")
"""A model in a signature: name and digest."""


class Model(NamedTuple):
    """A model of a metric; without its bundle, nothing is known of its training texts."""

    name: str
    bundle: Bundle | None


class TrainedOn(msgspec.Struct, frozen=True):
    """How far one model was trained on the texts of an evaluated set.

    Attributes:
        model: Its name.
        overlap: What of the set stands among its training texts; None if these are not recorded.
        says: The outcome in words.
    """

    model: str
    overlap: Overlap | None
    says: str

    @property
    def marked(self) -> bool:
        """Whether a text of the set stands there."""
        return self.overlap is not None and self.overlap.found > 0


class Guard:
    """Looks for the texts of a rated set, replies and contexts, in what models were trained on.

    Args:
        rated: The set.
    """

    def __init__(self, rated: Rated) -> None:
        turns = (turn for item in rated.items for turn in item.conversation.turns)
        self._texts = list(dict.fromkeys(turn.text for turn in turns))
        self._found: dict[tuple[str, str], TrainedOn] = {}

    def look(self, models: Iterable[Model]) -> tuple[TrainedOn, ...]:
        """Return what each model was trained on.

        Raises:
            BundleError: If a fingerprint is missing, changed or no fingerprint.
        """
        return tuple(self._look(model) for model in models)

    def _look(self, model: Model) -> TrainedOn:
        known = None if model.bundle is None else _texts_of(model.bundle)
        if known is None:
            return TrainedOn(model.name, None, NOT_RECORDED)
        assert model.bundle is not None
        key = (model.name, model.bundle.card.training.texts_sha256)
        if key not in self._found:
            found = overlap(known, self._texts)
            self._found[key] = TrainedOn(model.name, found, _says(model.name, found))
        return self._found[key]


def _texts_of(bundle: Bundle) -> Fingerprint | None:
    path = bundle.training_texts()
    if path is None:
        return None
    try:
        return Fingerprint.from_bytes(path.read_bytes())
    except InputError as error:
        raise BundleError(f"bundle {bundle.card.name!r}: {path}: {error}") from None


def _says(model: str, found: Overlap) -> str:
    share = found.share
    if not found.found or share is None:
        return found.says
    bounds = ""
    if share.low is not None and share.high is not None:
        bounds = f" ({_percent(share.low)} to {_percent(share.high)})"
    about = f"about {_percent(share.value)} %{bounds}"
    return f"{model} was trained on {about} of the texts of this set"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}" if share >= 0.1 else f"{100 * share:.2g}"


def models_named(signature: str) -> tuple[Model, ...]:
    """Return the models that a signature names, as far as they came with the package."""
    return tuple(Model(name, _shipped(name, digest)) for name, digest in NAMED.findall(signature))


def _shipped(name: str, digest: str) -> Bundle | None:
    folder = shipped_bundles().get(name)
    bundle = None if folder is None else open_bundle(folder)
    return bundle if bundle is not None and bundle.digest == digest else None


def record_texts(folder: Path, texts: Iterable[str]) -> Fingerprint:
    """Write the fingerprint of a bundle's training texts and state it in the card.

    Recipes call it last, once the card stands. Nothing else of the bundle changes.

    Args:
        folder: Folder of the bundle.
        texts: Everything the model was trained on, held-out parts that chose it included.

    Raises:
        BundleError: If the card has no table ``[training]``.
    """
    made = fingerprint(texts)
    (folder / FILE).write_bytes(made.to_bytes())
    card = folder / "card.toml"
    stated = {"texts": FILE, "texts_sha256": file_sha256(folder / FILE)}
    lines = [
        line
        for line in card.read_text("utf-8").split("\n")
        if not line.startswith(tuple(f"{key} = " for key in stated))
    ]
    if "[training]" not in lines:
        raise BundleError(f"{card}: there is no table [training] to state the texts in")
    place = lines.index("[training]") + 1
    lines[place:place] = [f'{key} = "{value}"' for key, value in stated.items()]
    card.write_text("\n".join(lines), "utf-8")
    return made
