"""Opens whatever a model reference names, each once, for all metrics together."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from grice.errors import BundleError, GriceError, ModelError
from grice.runtime.bundle import Bundle, open_bundle

if TYPE_CHECKING:
    from collections.abc import Callable

    from grice.metrics.relevance.pairs import PairHead
    from grice.runtime.bundle import Card
    from grice.runtime.embedded import Mode
    from grice.runtime.memo import MemoEncoder

__all__ = ["Models", "default_workers"]

DEEPEST = 8
MOST_PARTS = 64
"""How many models may stand one on another, and together; those that ship are 4 at most."""


def default_workers() -> int:
    """Return the number of processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Models:
    """Opened models by reference.

    A reference is one string: ``bundle:NAME`` for a model that came with the package,
    ``file:FOLDER`` for a bundle of your own, ``file:MY.kb`` for your own knowledge (``grice kb``).

    Args:
        mode: ``exact`` or ``fast``; see :mod:`grice.runtime.embedded`.
        workers: How many batches are computed at the same time.
        cache: Folder of answers kept between runs; None keeps them for this run only.
    """

    def __init__(self, *, mode: Mode, workers: int, cache: Path | None) -> None:
        # Here, not above: reading a signature or a help text needs no engine.
        from grice.runtime.memo import Memo

        if mode not in ("exact", "fast"):
            raise ModelError(f"mode {mode!r}: write exact or fast")
        if workers < 1:
            raise ModelError(f"{workers} workers: at least one is needed")
        self.mode: Mode = mode
        self._workers = workers
        self._memo = Memo(cache)
        self._bundles: dict[str, Bundle] = {}
        self._sizes: dict[str, int] = {}
        self._opened: dict[str, object] = {}
        self._pair_heads: dict[str, PairHead] = {}

    def close(self) -> None:
        """Release the kept answers."""
        self._memo.close()

    def bundle(self, reference: str) -> Bundle:
        """Return the bundle a reference names, checked with those it stands on.

        Raises:
            ModelError: If the reference cannot be understood.
            BundleError: If one of them is missing or changed, or it stands on itself.
        """
        self._check_parts(reference, ())
        return self._bundles[reference]

    def _check_parts(self, reference: str, above: tuple[str, ...]) -> int:
        """Return how many models one is, with those it stands on; shared ones count each time."""
        if reference in above:
            raise BundleError(f"{reference}: stands on itself: {' → '.join((*above, reference))}")
        if len(above) > DEEPEST:
            raise BundleError(f"{above[0]}: stands on more than {DEEPEST} models one on another")
        if reference not in self._sizes:
            self._bundles[reference] = found = _find_bundle(reference)
            parts = (self._check_parts(one, (*above, reference)) for one in _below(found.card))
            self._sizes[reference] = 1 + sum(parts)
        if self._sizes[reference] > MOST_PARTS:
            raise BundleError(f"{reference}: stands on more than {MOST_PARTS} models")
        return self._sizes[reference]

    def answers(self, reference: str) -> str:
        """Return what a model answers, such as ``relevance`` or ``knowledge``.

        Raises:
            ModelError: If this version knows no such kind of model.
        """
        bundle = self.bundle(reference)
        # What was fitted on top of another model answers what that one does.
        base = bundle.card.settings.get("base")
        if bundle.card.kind == "reply-head" and base:
            return self.answers(str(base))
        return _kind(reference, bundle).answers

    def open(self, reference: str) -> object:
        """Return the model a reference names.

        Raises:
            ModelError: If the reference cannot be understood or names an unknown kind of model.
            BundleError: If the bundle is missing, changed or damaged.
        """
        if reference not in self._opened:
            bundle = self.bundle(reference)
            opened = _kind(reference, bundle).open
            try:
                self._opened[reference] = opened(self, bundle)
            except (GriceError, ImportError, MemoryError):
                raise
            except Exception as error:
                # The files are those of the card, and not what a model of its kind is made of.
                raise BundleError(
                    f"{reference}: does not hold what a bundle of kind {bundle.card.kind!r} needs: "
                    f"{type(error).__name__}: {error}"
                ) from error
        return self._opened[reference]

    def _part(self, bundle: Bundle, reference: str, *wanted: str) -> object:
        """Return what a bundle stands on, opened, if it answers what is wanted of it."""
        self._check_answers(bundle, reference, *wanted)
        return self.open(reference)

    def _check_answers(self, bundle: Bundle, reference: str, *wanted: str) -> None:
        if (answered := self.answers(reference)) not in wanted:
            raise BundleError(
                f"{bundle.folder}: stands on {reference}, a model of {answered}, where one of "
                f"{' or '.join(wanted)} is needed"
            )

    def stamp(self, reference: str) -> str:
        """Return name and hash of a model, with those of the models it stands on."""
        bundle = self.bundle(reference)
        stands_on = (self.stamp(below) for below in _below(bundle.card))
        return "+".join((f"{bundle.card.name}@{bundle.digest}", *stands_on))

    def beneath(self, reference: str) -> tuple[str, ...]:
        """Return a model reference with those of the models it stands on."""
        below = _below(self.bundle(reference).card)
        return (reference, *(one for found in below for one in self.beneath(found)))

    def _encoder_of(self, bundle: Bundle) -> MemoEncoder:
        encoder = self._part(bundle, _encoder(bundle.card.encoder), "sentence vectors")
        return cast("MemoEncoder", encoder)

    def _open_encoder(self, bundle: Bundle) -> object:
        from grice.runtime.embedded import EmbeddedEncoder
        from grice.runtime.memo import MemoEncoder

        encoder = EmbeddedEncoder(bundle, mode=self.mode, threads=self._workers)
        return MemoEncoder(encoder, self._memo)

    def _open_generator(self, bundle: Bundle) -> object:
        from grice.runtime.embedded import EmbeddedGenerator

        return EmbeddedGenerator(bundle, mode=self.mode, threads=self._workers)

    def _open_language_model(self, bundle: Bundle) -> object:
        from grice.metrics.relevance.language_model import LanguageModel

        return LanguageModel(bundle, threads=self._workers)

    def _open_thread_head(self, bundle: Bundle) -> object:
        from grice.metrics.coherence.dialogues import DialogueHead
        from grice.metrics.coherence.memo import MemoReplacedTokens
        from grice.metrics.coherence.replaced_tokens import ReplacedTokenDetector

        encoder = self._encoder_of(bundle)
        head = ReplacedTokenDetector.open(bundle, encoder.identity)
        return DialogueHead(bundle, encoder, MemoReplacedTokens(head, encoder, self._memo))

    def _open_generative_knowledge(self, bundle: Bundle) -> object:
        from grice.knowledge import open_generative
        from grice.runtime.embedded import EmbeddedGenerator
        from grice.runtime.memo import MemoGenerator

        generator = EmbeddedGenerator(bundle, mode=self.mode, threads=self._workers)
        return open_generative(bundle, MemoGenerator(generator, self._memo))

    def _open_knowledge_union(self, bundle: Bundle) -> object:
        from grice.knowledge import open_union

        return open_union([self._part(bundle, one, "knowledge") for one in _below(bundle.card)])

    def _open_search(self, bundle: Bundle) -> object:
        from grice.knowledge import open_search

        (below,) = _below(bundle.card)
        return open_search(bundle, self._part(bundle, below, "knowledge"))

    def _open_pair_head(self, bundle: Bundle) -> PairHead:
        from grice.metrics.relevance.pairs import PairHead

        # One reading of the networks for all that stand on them.
        if bundle.digest not in self._pair_heads:
            self._pair_heads[bundle.digest] = PairHead(bundle, self._encoder_of(bundle))
        return self._pair_heads[bundle.digest]

    def _open_bare_pair_head(self, bundle: Bundle) -> object:
        (below,) = _below(bundle.card)
        self._check_answers(bundle, below, "relevance")
        return self._open_pair_head(self.bundle(below))

    def _open_fluent_pair_head(self, bundle: Bundle) -> object:
        from grice.metrics.relevance.fluency import FluencyModel, FluentPairHead

        _, below = _below(bundle.card)
        model = self._part(bundle, below, "likelihood")
        oddness = FluencyModel(self.bundle(below), model)  # type: ignore[arg-type]
        return FluentPairHead(bundle, self._open_pair_head(bundle), oddness)

    def _open_reply_head(self, bundle: Bundle) -> object:
        from grice.metrics.engagement.replies import ReplyHead

        base = bundle.card.settings.get("base")
        if base is None:
            return ReplyHead(bundle, self._encoder_of(bundle))
        # What lies beneath is part of the model: another one would give other numbers.
        found, stated = self.bundle(str(base)).digest, bundle.card.settings.get("base_digest")
        if found != stated:
            raise BundleError(
                f"{bundle.folder}: it was fitted on {base} {stated}, here that is {found}; run "
                f"grice train again"
            )
        below = self._part(bundle, str(base), "relevance", "engagement")
        return ReplyHead(bundle, self._encoder_of(bundle), below)  # type: ignore[arg-type]

    def _open_extractor(self, bundle: Bundle) -> object:
        from grice.knowledge import open_extractor

        # What an extractor reads are the events that a tagger finds.
        tagger = self._part(bundle, _encoder(bundle.card.encoder), "events")
        return open_extractor(bundle, tagger)  # type: ignore[arg-type]

    def _open_patterns(self, bundle: Bundle) -> object:
        from grice.knowledge import open_patterns

        tagger = self._part(bundle, _encoder(bundle.card.encoder), "events")
        return open_patterns(tagger)  # type: ignore[arg-type]

    def _open_regressor(self, bundle: Bundle) -> object:
        from grice.metrics.rating_regressors.models import Regressor

        return Regressor(bundle, self._encoder_of(bundle))

    def _open_span_head(self, bundle: Bundle) -> object:
        from grice.runtime.memo import MemoSpanTagger
        from grice.runtime.spans import SpanHead

        encoder = self._encoder_of(bundle)
        identity = f"{bundle.card.name}@{bundle.digest}/{encoder.identity}"
        head = SpanHead(bundle.card.settings, bundle.folder, encoder.hidden, identity)
        return MemoSpanTagger(head, self._memo)

    def _open_triple_head(self, bundle: Bundle) -> object:
        from grice.knowledge import open_plausibility

        return open_plausibility(bundle, self._encoder_of(bundle))

    def _open_words(self, bundle: Bundle) -> object:
        from grice.knowledge import open_words

        return open_words(self._encoder_of(bundle))

    def _open_context(self, bundle: Bundle) -> object:
        from grice.situated.models import open_context

        return open_context(bundle, self._encoder_of(bundle))

    def _open_contrast(self, bundle: Bundle) -> object:
        from grice.situated.models import open_contrast

        return open_contrast(bundle, self._encoder_of(bundle))

    def _open_knowledge(self, bundle: Bundle) -> object:
        from grice.knowledge import open_knowledge

        return open_knowledge(bundle, self._encoder_of(bundle))

    def _open_knowledge_file(self, bundle: Bundle) -> object:
        from grice.knowledge import open_file

        base = str(bundle.card.settings["base"])
        below = self._part(bundle, base, "knowledge") if base else None
        return open_file(bundle, below, self._encoder_of(bundle))

    def _open_graph_heads(self, bundle: Bundle) -> object:
        from grice.graphs.judges import GraphJudges

        return GraphJudges(bundle, self._encoder_of(bundle))

    def _open_triplet_heads(self, bundle: Bundle) -> object:
        from grice.triplets.models import open_triplets

        return open_triplets(bundle, self._encoder_of(bundle), self.bundle("bundle:events"))

    def _open_links(self, bundle: Bundle) -> object:
        from grice.triplets.evidence import LinkExtractor

        (below,) = _below(bundle.card)
        links = self._part(bundle, below, "links")
        return LinkExtractor(links, self.stamp(below))  # type: ignore[arg-type]


class _Kind(NamedTuple):
    """What a kind of bundle answers, and how it is opened."""

    answers: str
    open: Callable[[Models, Bundle], object]


_KINDS = {
    "bare-pair-head": _Kind("relevance", Models._open_bare_pair_head),
    "context-tagger": _Kind("places and times", Models._open_context),
    "contrast-head": _Kind("contrast of sentences", Models._open_contrast),
    "encoder": _Kind("sentence vectors", Models._open_encoder),
    "extractor": _Kind("triples of a reply", Models._open_extractor),
    "fluent-pair-head": _Kind("relevance", Models._open_fluent_pair_head),
    "generative-knowledge": _Kind("knowledge", Models._open_generative_knowledge),
    "generator": _Kind("likelihood", Models._open_generator),
    "graph-heads": _Kind("explanation graphs", Models._open_graph_heads),
    "knowledge": _Kind("knowledge", Models._open_knowledge),
    "knowledge-file": _Kind("knowledge", Models._open_knowledge_file),
    "knowledge-union": _Kind("knowledge", Models._open_knowledge_union),
    "language-model": _Kind("relevance", Models._open_language_model),
    "link-extractor": _Kind("triples of a reply", Models._open_links),
    "pair-head": _Kind("relevance", Models._open_pair_head),
    "pattern-extractor": _Kind("triples of a reply", Models._open_patterns),
    "rating-regressor": _Kind("ratings", Models._open_regressor),
    "reply-head": _Kind("engagement", Models._open_reply_head),
    "search-extractor": _Kind("triples of a reply", Models._open_search),
    "span-head": _Kind("events", Models._open_span_head),
    "thread-head": _Kind("coherence", Models._open_thread_head),
    "triple-head": _Kind("plausibility of triples", Models._open_triple_head),
    "triplet-heads": _Kind("links", Models._open_triplet_heads),
    "word-encoder": _Kind("word vectors", Models._open_words),
}


def _kind(reference: str, bundle: Bundle) -> _Kind:
    if bundle.card.kind not in _KINDS:
        raise ModelError(
            f"{reference}: this version opens bundles of kind {', '.join(_KINDS)}, "
            f"not {bundle.card.kind!r}"
        )
    return _KINDS[bundle.card.kind]


def _below(card: Card) -> tuple[str, ...]:
    """Return the references of what a model stands on: knowledge below it, else its encoder."""
    parts = card.settings.get("parts")
    if isinstance(parts, list):
        return tuple(str(part) for part in parts)
    if base := card.settings.get("base"):
        return (str(base),)
    return (_encoder(card.encoder),) if card.encoder else ()


def _encoder(name: str) -> str:
    if not name:
        raise BundleError("a head's card must name the encoder bundle whose vectors it reads")
    return f"bundle:{name}"


def _find_bundle(reference: str) -> Bundle:
    scheme, colon, rest = reference.partition(":")
    if colon and rest and scheme == "bundle":
        return open_bundle(rest)
    if colon and rest and scheme == "file":
        path = Path(rest)
        if path.is_file() or path.suffix == ".kb":
            from grice.knowledge import describe_file

            return describe_file(path)
        return open_bundle(path)
    raise ModelError(
        f"model reference {reference!r}: write bundle:NAME for a model of the package or "
        f"file:PATH for a bundle or knowledge of your own"
    )
