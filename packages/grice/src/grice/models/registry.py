"""Kinds of models and schemes of references, found by name.

A bundle's card states its kind. What runs that kind declares it with one decorated function:

    class LoudSettings(Settings, frozen=True):
        weight: float = 1.0

    @model_kind("loud-head", answers="relevance", protocol=PairClassifier, settings=LoudSettings)
    def loud_head(bundle: Bundle, settings: LoudSettings, opener: Opener) -> LoudHead:
        return LoudHead(bundle, settings.weight, encoder_of(bundle, opener, Encoder))

A reference is ``SCHEME:PLACE``; a scheme turns the place into a bundle:

    @reference_scheme("team")
    def team_model(place: str) -> Bundle:
        return open_bundle(SHARED / place)

Grice's own stand in :data:`KINDS` and :data:`SCHEMES`, other people's in the entry point groups
``grice.models`` and ``grice.schemes``, as ``name = "package.module:function"``. A module is
imported when a model of its kind is opened, so that one that fails leaves the others alone.
"""

from __future__ import annotations

import math
import re
from importlib import metadata
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec

from grice import distributions
from grice.errors import BundleError, GriceError, ModelError, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from grice.models.bundle import Bundle, Card, CardValue
    from grice.models.embedded import Mode
    from grice.models.endpoint.spending import Spending
    from grice.models.memo import Memo

    Convert: TypeAlias = Callable[[Path, Path], dict[str, CardValue]]

KIND_GROUP, SCHEME_GROUP = "grice.models", "grice.schemes"
"""Entry point groups of other people's packages."""

KINDS = {
    "bare-pair-head": "grice.metrics.relevance.pairs:bare_pair_head",
    "causal-lm": "grice.models.causal:causal_lm",
    "causal-states": "grice.models.causal:causal_states",
    "decomposable-attention": "grice.metrics.contradiction.attention:decomposable_attention",
    "encoder": "grice.models.embedded:encoder",
    "extractor": "grice.knowledge.extraction.cues:extractor",
    "flaw-heads": "grice.metrics.sense.heads:flaw_heads",
    "fluency": "grice.metrics.relevance.pairs:fluency_model",
    "fluent-pair-head": "grice.metrics.relevance.pairs:fluent_pair_head",
    "generative-knowledge": "grice.knowledge.generative:generative_knowledge",
    "generator": "grice.models.embedded:generator",
    "knowledge": "grice.knowledge.store:knowledge",
    "onnx-classifier": "grice.models.onnx:onnx_classifier",
    "onnx-encoder": "grice.models.onnx:onnx_encoder",
    "onnx-nli": "grice.models.onnx:onnx_nli",
    "openai-chat": "grice.models.endpoint.models:endpoint_chat",
    "openai-logprobs": "grice.models.endpoint.models:endpoint_likelihood",
    "own-triples": "grice.knowledge.own:own_triples",
    "pair-head": "grice.metrics.relevance.pairs:pair_head",
    "reply-head": "grice.metrics.engagement.replies:reply_head",
    "span-head": "grice.models.spans:span_head",
    "thread-head": "grice.metrics.coherence.dialogues:thread_head",
    "transformers-classifier": "grice.models.transformers:transformers_classifier",
    "transformers-lm": "grice.models.transformers:transformers_causal_lm",
    "transformers-nli": "grice.models.transformers:transformers_nli",
    "triple-head": "grice.knowledge.plausibility:triple_head",
    "word-encoder": "grice.models.word_vectors:word_encoder",
}
"""Where each kind is declared."""

SCHEMES = {
    "bundle": "grice.models.bundle:shipped_model",
    "file": "grice.knowledge.own:own_model",
    "hf": "grice.models.store.hub:hub_model",
    "model": "grice.models.store.places:stored_model",
    "openai": "grice.models.endpoint.models:openai_model",
    "openai-logprobs": "grice.models.endpoint.models:openai_logprobs_model",
}
"""Where each scheme is declared."""


class Settings(msgspec.Struct, frozen=True):
    """What a kind reads of a card's ``[settings]``; a card may state more, for its readers."""


class NoSettings(Settings, frozen=True):
    """Of a kind that needs none."""


P = TypeVar("P")
P_co = TypeVar("P_co", covariant=True)
S = TypeVar("S", bound=Settings)


class Opener(Protocol):
    """What a kind is given to open what it stands on."""

    @property
    def mode(self) -> Mode:
        """``exact`` or ``fast``."""

    @property
    def workers(self) -> int:
        """How many batches may be computed at the same time."""

    @property
    def memo(self) -> Memo:
        """What models answered before."""

    @property
    def spending(self) -> Spending:
        """What is sent to endpoints, and how much may be."""

    def bundle(self, reference: str) -> Bundle:
        """Return the bundle a reference names, checked with those it stands on."""

    def open(self, reference: str, protocol: type[P]) -> P:
        """Return the model a reference names."""

    def part(self, bundle: Bundle, reference: str, protocol: type[P], *answers: str) -> P:
        """Return what a bundle stands on, opened.

        Raises:
            BundleError: If it answers something else than ``answers``.
        """

    def check_answers(self, bundle: Bundle, reference: str, *answers: str) -> None:
        """Check what something that a bundle stands on answers, without opening it."""

    def shared(self, wanted: type[P], bundle: Bundle, make: Callable[[], P]) -> P:
        """Return what is made of a bundle, once for all models that stand on it."""

    def fingerprint(self, reference: str) -> str:
        """Return name and hash of a model, with those of the models it stands on."""


class Kind(NamedTuple, Generic[P_co]):
    """A kind of model.

    Attributes:
        protocol: What they can be asked for: a runtime-checkable protocol, or a class.
        open: Opens one. The settings of its card are checked first.
        like_base: Whether one that states a ``base`` answers what that one does.
        convert: Makes the files of one in an empty folder out of a published checkpoint, and
            returns what the card states; None for decoders.
    """

    name: str
    answers: str
    protocol: type[P_co]
    settings: type[Settings]
    open: Callable[[Bundle, Opener], P_co]
    like_base: bool = False
    convert: Convert | None = None


class Scheme(NamedTuple):
    """A scheme of references: its name, and what gives the bundle at a place."""

    name: str
    find: Callable[[str], Bundle]


def model_kind(
    name: str,
    *,
    answers: str,
    protocol: type[P],
    settings: type[S],
    like_base: bool = False,
    convert: Convert | None = None,
) -> Callable[[Callable[[Bundle, S, Opener], P]], Kind[P]]:
    """Return a decorator that turns an opening function into a :class:`Kind`."""

    def declare(function: Callable[[Bundle, S, Opener], P]) -> Kind[P]:
        def opened(bundle: Bundle, opener: Opener) -> P:
            return function(bundle, read_settings(bundle, settings), opener)

        return Kind(name, answers, protocol, settings, opened, like_base, convert)

    return declare


def reference_scheme(name: str) -> Callable[[Callable[[str], Bundle]], Scheme]:
    """Return a decorator that turns a function from a place to a bundle into a :class:`Scheme`."""
    return lambda find: Scheme(name, find)


def find_kind(name: str, reference: str) -> Kind[object]:
    """Return a kind by name.

    Raises:
        ModelError: If there is none of that name, or the package that has it fails.
    """
    entries = _entries(KINDS, KIND_GROUP)
    if name not in entries:
        raise ModelError(
            f"{reference}: this version opens bundles of kind {', '.join(entries)}, not {name!r}"
        )
    return _load(entries[name], Kind)


def find_bundle(reference: str) -> Bundle:
    """Return the bundle that a reference names.

    Raises:
        ModelError: If there is no such scheme, or the package that has it fails.
        BundleError: If the bundle is missing or changed.
    """
    if ":" not in reference and reference.endswith((".tsv", ".jsonl")):
        reference = f"file:{reference}"
    name, _, place = reference.partition(":")
    entries = _entries(SCHEMES, SCHEME_GROUP) if place else {}
    if name not in entries:
        entries = _entries(SCHEMES, SCHEME_GROUP)
        further = [f"{scheme}:PLACE" for scheme in entries if scheme not in SCHEMES]
        raise ModelError(
            f"model reference {reference!r}: write bundle:NAME for a model of the package, "
            "model:NAME for one that was fetched (grice models list), file:PATH for a bundle or "
            "MY.tsv of your own, or openai:MODEL@URL for a model of an endpoint"
            + (f"; installed packages add {', '.join(further)}" if further else "")
        )
    try:
        return _load(entries[name], Scheme).find(place)
    except (GriceError, ImportError, MemoryError):
        raise
    except Exception as error:
        raise BundleError(f"{reference}: {type(error).__name__}: {error}") from error


def read_settings(bundle: Bundle, wanted: type[S]) -> S:
    """Return the settings of a bundle's card.

    Raises:
        BundleError: If one is missing, of another type or out of range.
    """
    settings = bundle.card.settings
    where = f"{bundle.folder / 'card.toml'}: settings"
    for name, value in settings.items():
        if not all(map(math.isfinite, _floats(value))):
            raise BundleError(f"{where}.{name}: only finite numbers are allowed")
    try:
        return msgspec.convert(settings, wanted)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$")
        if missing := re.fullmatch(r"Object missing required field `(\w+)`", problem):
            raise BundleError(f"{where}.{missing[1]} is missing") from None
        value = settings[re.split(r"\W", place)[1]]
        raise BundleError(
            f"{where}{place.removesuffix('`')}: {problem[0].lower()}{problem[1:]}, "
            f"found {shortened(repr(value))}"
        ) from None


def dependencies_of(card: Card) -> tuple[str, ...]:
    """Return the references of what a model stands on: its parts, else its base, else its encoder.

    Raises:
        BundleError: If a part is no reference.
    """
    parts = card.settings.get("parts")
    if isinstance(parts, list):
        return tuple(str(part) for part in parts)
    if base := card.settings.get("base"):
        return (str(base),)
    return (encoder_reference(card),) if card.encoder else ()


def encoder_reference(card: Card) -> str:
    """Return the reference of the encoder that a card names.

    Raises:
        BundleError: If it names none.
    """
    if not card.encoder:
        raise BundleError("a head's card must name the encoder bundle whose vectors it reads")
    return f"bundle:{card.encoder}"


def encoder_of(bundle: Bundle, opener: Opener, protocol: type[P]) -> P:
    """Return the encoder that a bundle's card names, opened.

    Raises:
        BundleError: If it names none, or no encoder.
    """
    return opener.part(bundle, encoder_reference(bundle.card), protocol, "sentence vectors")


def plugin_problems() -> tuple[str, ...]:
    """Return a line for each kind or scheme of other people's packages that cannot be used."""
    return tuple(_problems(KINDS, KIND_GROUP, Kind)) + tuple(
        _problems(SCHEMES, SCHEME_GROUP, Scheme)
    )


def _problems(own: Mapping[str, str], group: str, wanted: type[T]) -> Iterator[str]:
    for entry in distributions.entry_points(group):
        if entry.name in own:
            yield f"{_title(entry)} is left out: grice has one of that name"
            continue
        try:
            _load(entry, wanted)
        except ModelError as error:
            yield str(error)


def _entries(own: Mapping[str, str], group: str) -> dict[str, metadata.EntryPoint]:
    """Return what can be loaded by name; of two of one name grice's own, else the first found."""
    entries = {name: metadata.EntryPoint(name, place, group) for name, place in own.items()}
    for entry in distributions.entry_points(group):
        entries.setdefault(entry.name, entry)
    return entries


T = TypeVar("T", bound="Kind[object] | Scheme")


def _load(entry: metadata.EntryPoint, wanted: type[T]) -> T:
    try:
        loaded = distributions.load(entry)
    except Exception as error:
        if entry.dist is None:
            raise
        raise ModelError(f"{_title(entry)}: {type(error).__name__}: {error}") from error
    if not isinstance(loaded, wanted) or loaded.name != entry.name:
        raise ModelError(
            f"{_title(entry)}: {entry.value} declares no {wanted.__name__.lower()} of that name"
        )
    return loaded


def _title(entry: metadata.EntryPoint) -> str:
    what = "model kind" if entry.group == KIND_GROUP else "reference scheme"
    return f"{what} {entry.name!r} of {entry.dist.name if entry.dist else 'grice'}"


def _floats(value: object) -> Iterator[float]:
    if isinstance(value, float):
        yield value
    elif isinstance(value, list):
        for element in value:
            yield from _floats(element)
