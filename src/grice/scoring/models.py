"""Opens whatever a model reference names, each once, for all metrics together."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from grice.errors import BundleError, ModelError
from grice.runtime.bundle import Bundle, open_bundle

if TYPE_CHECKING:
    from collections.abc import Callable

    from grice.runtime.bundle import Card
    from grice.runtime.embedded import Mode
    from grice.runtime.memo import MemoEncoder
    from grice.runtime.pairs import PairHead

__all__ = ["Models", "default_workers"]


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
        self._opened: dict[str, object] = {}
        self._pair_heads: dict[str, PairHead] = {}

    def close(self) -> None:
        """Release the kept answers."""
        self._memo.close()

    def bundle(self, reference: str) -> Bundle:
        """Return the checked bundle a reference names."""
        if reference not in self._bundles:
            self._bundles[reference] = _find_bundle(reference)
        return self._bundles[reference]

    def open(self, reference: str) -> object:
        """Return the model a reference names.

        Raises:
            ModelError: If the reference cannot be understood or names an unknown kind of model.
            BundleError: If the bundle is missing or changed.
        """
        if reference not in self._opened:
            bundle = self.bundle(reference)
            if bundle.card.kind not in _OPENERS:
                raise ModelError(
                    f"{reference}: this version opens bundles of kind "
                    f"{', '.join(sorted(_OPENERS))}, not {bundle.card.kind!r}"
                )
            self._opened[reference] = _OPENERS[bundle.card.kind](self, bundle)
        return self._opened[reference]

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
        return self.open(_encoder(bundle.card.encoder))  # type: ignore[return-value]

    def _open_encoder(self, bundle: Bundle) -> object:
        from grice.runtime.embedded import EmbeddedEncoder
        from grice.runtime.memo import MemoEncoder

        encoder = EmbeddedEncoder(bundle, mode=self.mode, threads=self._workers)
        return MemoEncoder(encoder, self._memo)

    def _open_generator(self, bundle: Bundle) -> object:
        from grice.runtime.embedded import EmbeddedGenerator

        return EmbeddedGenerator(bundle, mode=self.mode, threads=self._workers)

    def _open_language_model(self, bundle: Bundle) -> object:
        from grice.runtime.language import LanguageModel

        return LanguageModel(bundle, threads=self._workers)

    def _open_thread_head(self, bundle: Bundle) -> object:
        from grice.runtime.memo import MemoMisfits
        from grice.runtime.misfits import MisfitHead
        from grice.runtime.threads import ThreadHead

        encoder = self._encoder_of(bundle)
        head = MisfitHead.open(bundle, encoder.identity)
        return ThreadHead(bundle, encoder, MemoMisfits(head, encoder, self._memo))

    def _open_generative_knowledge(self, bundle: Bundle) -> object:
        from grice.knowledge import open_generative
        from grice.runtime.embedded import EmbeddedGenerator
        from grice.runtime.memo import MemoGenerator

        generator = EmbeddedGenerator(bundle, mode=self.mode, threads=self._workers)
        return open_generative(bundle, MemoGenerator(generator, self._memo))

    def _open_knowledge_union(self, bundle: Bundle) -> object:
        from grice.knowledge import open_union

        return open_union([self.open(part) for part in _below(bundle.card)])

    def _open_search(self, bundle: Bundle) -> object:
        from grice.knowledge import open_search

        (below,) = _below(bundle.card)
        return open_search(bundle, self.open(below))

    def _open_pair_head(self, bundle: Bundle) -> PairHead:
        from grice.runtime.pairs import PairHead

        # One reading of the networks for all that stand on them.
        if bundle.digest not in self._pair_heads:
            self._pair_heads[bundle.digest] = PairHead(bundle, self._encoder_of(bundle))
        return self._pair_heads[bundle.digest]

    def _open_bare_pair_head(self, bundle: Bundle) -> object:
        (below,) = _below(bundle.card)
        return self._open_pair_head(self.bundle(below))

    def _open_fluent_pair_head(self, bundle: Bundle) -> object:
        from grice.runtime.oddness import FluentPairHead, Oddness

        _, model = _below(bundle.card)
        oddness = Oddness(self.bundle(model), self.open(model))  # type: ignore[arg-type]
        return FluentPairHead(bundle, self._open_pair_head(bundle), oddness)

    def _open_reply_head(self, bundle: Bundle) -> object:
        from grice.runtime.replies import ReplyHead

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
        return ReplyHead(bundle, self._encoder_of(bundle), self.open(str(base)))  # type: ignore[arg-type]

    def _open_extractor(self, bundle: Bundle) -> object:
        from grice.knowledge import open_extractor

        # What an extractor reads are the events that a tagger finds.
        tagger = self.open(_encoder(bundle.card.encoder))
        return open_extractor(bundle, tagger)  # type: ignore[arg-type]

    def _open_patterns(self, bundle: Bundle) -> object:
        from grice.knowledge import open_patterns

        return open_patterns(self.open(_encoder(bundle.card.encoder)))  # type: ignore[arg-type]

    def _open_regressor(self, bundle: Bundle) -> object:
        from grice.knowledge import open_regressor

        return open_regressor(bundle, self._encoder_of(bundle))

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
        return open_file(bundle, self.open(base) if base else None, self._encoder_of(bundle))

    def _open_graph_heads(self, bundle: Bundle) -> object:
        from grice.graphs.judges import GraphJudges

        return GraphJudges(bundle, self._encoder_of(bundle))

    def _open_triplet_heads(self, bundle: Bundle) -> object:
        from grice.triplets.models import open_triplets

        return open_triplets(bundle, self._encoder_of(bundle), self.bundle("bundle:events"))

    def _open_links(self, bundle: Bundle) -> object:
        from grice.triplets.evidence import LinkExtractor

        (below,) = _below(bundle.card)
        return LinkExtractor(self.open(below), self.stamp(below))  # type: ignore[arg-type]


_OPENERS: dict[str, Callable[[Models, Bundle], object]] = {
    "bare-pair-head": Models._open_bare_pair_head,
    "context-tagger": Models._open_context,
    "contrast-head": Models._open_contrast,
    "encoder": Models._open_encoder,
    "extractor": Models._open_extractor,
    "fluent-pair-head": Models._open_fluent_pair_head,
    "generative-knowledge": Models._open_generative_knowledge,
    "generator": Models._open_generator,
    "graph-heads": Models._open_graph_heads,
    "knowledge": Models._open_knowledge,
    "knowledge-file": Models._open_knowledge_file,
    "knowledge-union": Models._open_knowledge_union,
    "language-model": Models._open_language_model,
    "link-extractor": Models._open_links,
    "pair-head": Models._open_pair_head,
    "pattern-extractor": Models._open_patterns,
    "rating-regressor": Models._open_regressor,
    "reply-head": Models._open_reply_head,
    "search-extractor": Models._open_search,
    "span-head": Models._open_span_head,
    "thread-head": Models._open_thread_head,
    "triple-head": Models._open_triple_head,
    "triplet-heads": Models._open_triplet_heads,
    "word-encoder": Models._open_words,
}


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
