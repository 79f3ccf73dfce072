"""Which evaluated texts the models of a metric were trained on: the guard of the locked split.

A metric that is judged on texts its model has learned from is judged too well, and somewhat too
well on texts that only chose its settings. Every bundle that a recipe of this
project trained carries a fingerprint of its training texts (:mod:`grice.evaluation.overlap`) and,
where other texts chose its settings, a second one of these; what others trained is ``not
recorded``, which is no promise.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec

from grice.errors import BundleError, InputError
from grice.evaluation.overlap import Fingerprint, Overlap, fingerprint, overlap
from grice.files import write_bytes, write_text
from grice.models.bundle import Bundle, file_sha256, open_bundle, shipped_bundles

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from grice.evaluation.datasets import Rated

Mark: TypeAlias = Literal["", "!", "~"]


FILE, SELECTION = "texts.fp", "selection.fp"
NOT_RECORDED = "not recorded"
NAMED = re.compile(r"([\w.-]+)@([0-9a-f]{8})")
"""A model in a signature: name and digest."""


class Model(NamedTuple):
    """A model of a metric; without its bundle, nothing is known of its training texts."""

    name: str
    bundle: Bundle | None


class TrainedOn(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far one model was trained, or its settings chosen, on the texts of an evaluated set.

    Attributes:
        overlap: What of the set stands among its training texts; None if these are not recorded.
        chosen: What of the set stands among further texts that chose its settings; None if no such
            texts are recorded.
    """

    model: str
    overlap: Overlap | None
    says: str
    chosen: Overlap | None = None

    @property
    def mark(self) -> Mark:
        """``!`` if it was trained on a text of the set, ``~`` if settings were chosen on one."""
        if self.overlap is not None and self.overlap.matches > 0:
            return "!"
        return "~" if self.chosen is not None and self.chosen.matches > 0 else ""


def worst_mark(models: Iterable[TrainedOn]) -> Mark:
    """Return the mark of a metric with these models: ``!`` before ``~`` before none."""
    marks = {model.mark for model in models}
    return "!" if "!" in marks else "~" if "~" in marks else ""


def trained_share(models: Iterable[Model], texts: Iterable[str]) -> float:
    """Return the largest share of some texts that one model was trained or chosen on, 0 to 1.

    Too short texts tell nothing, and a model whose training texts are not recorded counts as 0.

    Raises:
        BundleError: If a fingerprint is missing, changed or no fingerprint.
    """
    different = list(dict.fromkeys(texts))
    overlaps = (
        _overlap(bundle, path, different)
        for bundle in (model.bundle for model in models)
        if bundle is not None
        for path in (bundle.training_texts(), bundle.selection_texts())
    )
    shares = (each.share for each in overlaps if each is not None)
    return max((share.value for share in shares if share is not None), default=0.0)


class Guard:
    """Looks for the texts of a rated set, replies and contexts, in what models were trained on."""

    def __init__(self, rated: Rated) -> None:
        turns = (turn for item in rated.items for turn in item.conversation.turns)
        self._texts = list(dict.fromkeys(turn.text for turn in turns))
        self._compared_with: dict[tuple[str, str], TrainedOn] = {}

    def look(self, models: Iterable[Model]) -> tuple[TrainedOn, ...]:
        """Return what each model was trained on.

        Raises:
            BundleError: If a fingerprint is missing, changed or no fingerprint.
        """
        return tuple(self._look(model) for model in models)

    def _look(self, model: Model) -> TrainedOn:
        if model.bundle is None:
            return TrainedOn(model.name, None, NOT_RECORDED)
        training = model.bundle.card.training
        key = (model.name, training.texts_sha256 + training.selection_texts_sha256)
        if key not in self._compared_with:
            self._compared_with[key] = self._compared(model.name, model.bundle)
        return self._compared_with[key]

    def _compared(self, name: str, bundle: Bundle) -> TrainedOn:
        learned = _overlap(bundle, bundle.training_texts(), self._texts)
        chosen = _overlap(bundle, bundle.selection_texts(), self._texts)
        says = NOT_RECORDED if learned is None else _says(f"{name} was trained on", learned)
        if chosen is not None and chosen.matches:
            settings = _says(f"settings of {name} were chosen on", chosen)
            says = f"{says}; {settings}" if learned is not None and learned.matches else settings
        return TrainedOn(name, learned, says, chosen)


def _overlap(bundle: Bundle, path: Path | None, texts: Sequence[str]) -> Overlap | None:
    """Return what of the texts stands in a fingerprint; None if there is none."""
    if path is None:
        return None
    try:
        return overlap(Fingerprint.from_bytes(path.read_bytes()), texts)
    except InputError as error:
        raise BundleError(f"bundle {bundle.card.name!r}: {path}: {error}") from None


def _says(what: str, overlapping: Overlap) -> str:
    share = overlapping.share
    if not overlapping.matches or share is None:
        return overlapping.says
    bounds = ""
    if share.interval:
        bounds = " ({} to {})".format(*map(_percent, share.interval))
    about = f"about {_percent(share.value)} %{bounds}"
    return f"{what} {about} of the texts of this set"


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
        texts: Everything the model was trained on, held-out parts that chose it included.

    Raises:
        BundleError: If the card has no table ``[training]``.
    """
    return _record(folder, texts, FILE, "texts")


def record_selection(folder: Path, texts: Iterable[str]) -> Fingerprint:
    """Write the fingerprint of further texts that chose a bundle's settings, likewise.

    Args:
        texts: What chose settings beside the training texts: development sets, outputs read by eye.

    Raises:
        BundleError: If the card has no table ``[training]``.
    """
    return _record(folder, texts, SELECTION, "selection_texts")


def _record(folder: Path, texts: Iterable[str], file: str, key: str) -> Fingerprint:
    made = fingerprint(texts)
    write_bytes(folder / file, made.to_bytes())
    card = folder / "card.toml"
    stated = {key: file, f"{key}_sha256": file_sha256(folder / file)}
    lines = [
        line
        for line in card.read_text("utf-8").split("\n")
        if not line.startswith(tuple(f"{name} = " for name in stated))
    ]
    if "[training]" not in lines:
        raise BundleError(f"{card}: there is no table [training] to state the texts in")
    place = lines.index("[training]") + 1
    lines[place:place] = [f'{name} = "{value}"' for name, value in stated.items()]
    write_text(card, "\n".join(lines))
    return made
