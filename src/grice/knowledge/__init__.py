"""Relation schemas, known triples, and how plausible a triple is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from grice.knowledge.extractor import CueExtractor
    from grice.knowledge.generative import GenerativeKnowledge, TailGenerator
    from grice.knowledge.lookup import StoredKnowledge
    from grice.knowledge.patterns import PatternExtractor
    from grice.knowledge.plausibility import TripleHead
    from grice.knowledge.search import SearchExtractor
    from grice.knowledge.store import KnowledgeStore
    from grice.knowledge.union import KnowledgeUnion
    from grice.runtime.bundle import Bundle
    from grice.runtime.protocols import Encoder, SpanTagger
    from grice.runtime.word_vectors import WordVectors

__all__ = [
    "describe_file",
    "open_extractor",
    "open_file",
    "open_generative",
    "open_knowledge",
    "open_patterns",
    "open_plausibility",
    "open_search",
    "open_store",
    "open_union",
    "open_words",
]


def open_extractor(bundle: Bundle, tagger: SpanTagger) -> CueExtractor:
    """Return what reads triples from replies, of a bundle of kind ``extractor``."""
    from grice.knowledge.extractor import CueExtractor

    return CueExtractor(bundle, tagger)


def open_patterns(tagger: SpanTagger) -> PatternExtractor:
    """Return what reads triples by connectives, of a bundle of kind ``pattern-extractor``."""
    from grice.knowledge.patterns import PatternExtractor

    return PatternExtractor(tagger)


def open_plausibility(bundle: Bundle, encoder: Encoder) -> TripleHead:
    """Return the networks of a bundle of kind ``triple-head``."""
    from grice.knowledge.plausibility import TripleHead

    return TripleHead(bundle, encoder)


def open_search(bundle: Bundle, base: object) -> SearchExtractor:
    """Return what finds triples of a store in replies, of a bundle of kind ``search-extractor``.

    Args:
        bundle: The search.
        base: The opened knowledge that is searched.

    Raises:
        BundleError: If that is no store.
    """
    from grice.errors import BundleError
    from grice.knowledge.extraction import RELATIONS
    from grice.knowledge.lookup import StoredKnowledge
    from grice.knowledge.search import SearchExtractor
    from grice.knowledge.store import KnowledgeStore

    if not isinstance(base, StoredKnowledge) or not isinstance(base.shelf, KnowledgeStore):
        below = bundle.card.settings.get("base")
        raise BundleError(f"{bundle.folder}: {below} below it is no store of known triples")
    return SearchExtractor(base.shelf.triples(RELATIONS), base.shelf.identity)


def open_store(bundle: Bundle) -> KnowledgeStore:
    """Return the known triples of a bundle of kind ``knowledge``."""
    from grice.knowledge.store import KnowledgeStore

    return KnowledgeStore(bundle)


def open_knowledge(bundle: Bundle, encoder: Encoder) -> StoredKnowledge:
    """Return the known triples of a bundle of kind ``knowledge``, ready to be asked."""
    from grice.knowledge.lookup import StoredKnowledge

    return StoredKnowledge(open_store(bundle), encoder)


def open_generative(bundle: Bundle, generator: TailGenerator) -> GenerativeKnowledge:
    """Return the knowledge of a bundle of kind ``generative-knowledge``, which writes tails."""
    from grice.knowledge.generative import GenerativeKnowledge

    return GenerativeKnowledge(bundle, generator)


def open_union(parts: Sequence[object]) -> KnowledgeUnion:
    """Return several sources of knowledge as one.

    Raises:
        BundleError: If one of them is none.
    """
    from grice.errors import BundleError
    from grice.knowledge.protocols import KnowledgeBase
    from grice.knowledge.union import KnowledgeUnion

    sources = [part for part in parts if isinstance(part, KnowledgeBase)]
    if len(sources) < len(parts):
        raise BundleError("a union of knowledge may name bundles of knowledge only")
    return KnowledgeUnion(sources)


def open_words(encoder: Encoder) -> WordVectors:
    """Return an embedder that reads each word by itself, of a bundle of kind ``word-encoder``."""
    from grice.runtime.word_vectors import WordVectors

    return WordVectors(encoder)


def describe_file(path: Path) -> Bundle:
    """Return a file that ``grice kb`` made as a bundle of kind ``knowledge-file``.

    Its digest is the hash of its content, and the setting ``base`` the reference of what it lies
    on; empty if it stands alone.

    Raises:
        BundleError: If it is not such a file, or not a whole one.
    """
    from contextlib import closing

    from grice.knowledge.file import KnowledgeFile
    from grice.knowledge.layout import VERSION
    from grice.runtime.bundle import Bundle, Card

    with closing(KnowledgeFile(path)) as file:
        card = Card(
            path.stem,
            "knowledge-file",
            str(VERSION),
            f"{len(file):,} triples of your own",
            "your own",
            {path.name: file.content},
            encoder="encoder",
            settings={"schema": file.schema.name, "base": file.base},
        )
        return Bundle(path.parent, card, file.content[:8])


def open_file(bundle: Bundle, base: object | None, encoder: Encoder) -> StoredKnowledge:
    """Return the triples of a file that ``grice kb`` made, on top of other knowledge if it has any.

    Args:
        bundle: The file as :func:`describe_file` found it.
        base: The opened knowledge below; None if the file stands alone.
        encoder: The encoder whose vectors are compared.

    Raises:
        BundleError: If the file is not a whole one, or what lies below is no stored knowledge.
    """
    from grice.errors import BundleError
    from grice.knowledge.file import KnowledgeFile
    from grice.knowledge.lookup import StoredKnowledge
    from grice.knowledge.stack import Stack

    ((name, whole),) = bundle.card.files.items()
    file = KnowledgeFile(bundle.folder / name, whole)
    if base is None:
        return StoredKnowledge(file, encoder)
    if not isinstance(base, StoredKnowledge):
        raise BundleError(f"{file.path}: {file.base} below it holds no known triples")
    return StoredKnowledge(Stack(file, base.shelf), encoder)
