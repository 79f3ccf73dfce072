"""The models of this room, opened from their bundles."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import msgspec

from grice.models.cache import CachedEncoder
from grice.models.loader import NoSettings, model_type
from grice_tasks.situatedgen.clauses import ClauseFinder
from grice_tasks.situatedgen.contrast import ContrastHead
from grice_tasks.situatedgen.frames import Frames
from grice_tasks.situatedgen.recompose import Recomposer, Template
from grice_tasks.situatedgen.records import Entity, context_of, contexts_in
from grice_tasks.situatedgen.tagger import ContextTagger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.models.bundle import Bundle
    from grice.models.loader import ModelLoader
    from grice_tasks.situatedgen.records import Sample
    from grice_tasks.situatedgen.tagger import Tagger


@runtime_checkable
class KeywordWriter(Protocol):
    """Writes two sentences from keywords."""

    def generate(self, keywords: Sequence[Sequence[str]]) -> list[str]:
        """Return two sentences for each list of keywords; an empty text for an empty list."""
        ...


class ContextModels(NamedTuple):
    """Models of a ``context-tagger``."""

    tagger: ContextTagger
    clauses: ClauseFinder


class ContrastModels(NamedTuple):
    """Models of a ``contrast-head``."""

    judge: ContrastHead
    bundle: Bundle
    encoder: CachedEncoder

    def recomposer(self, tagger: Tagger) -> Recomposer:
        """Return the embedded baseline."""
        packed = gzip.decompress(self.bundle.path("templates.jsonl.gz").read_bytes())
        decoder = msgspec.json.Decoder(Template)
        templates = [decoder.decode(line) for line in packed.split(b"\n") if line]
        frames = Frames(self.bundle.path("classes.txt.gz"))
        grouping = self.bundle.path("together.npz")
        return Recomposer(templates, frames, grouping, self.judge, tagger, self.encoder)


@model_type("context-tagger", task="places and times", protocol=ContextModels, settings=NoSettings)
def context_tagger(bundle: Bundle, _: NoSettings, loader: ModelLoader) -> ContextModels:
    """Open the tagger and the finder of clauses."""
    encoder = loader.encoder_of(bundle, CachedEncoder)
    identity = f"{bundle.identity}/{encoder.identity}"
    return ContextModels(
        ContextTagger(bundle.folder, encoder.hidden, identity),
        ClauseFinder(bundle.folder, encoder.hidden, identity),
    )


@model_type(
    "contrast-head", task="contrast of sentences", protocol=ContrastModels, settings=NoSettings
)
def contrast_head(bundle: Bundle, _: NoSettings, loader: ModelLoader) -> ContrastModels:
    """Open the judge of pairs with what the embedded baseline needs."""
    encoder = loader.encoder_of(bundle, CachedEncoder)
    return ContrastModels(ContrastHead.load(bundle, encoder), bundle, encoder)


def with_contexts(samples: Sequence[Sample], tagger: Tagger) -> list[Sample]:
    """Return samples with the context entities of their references, where none are stated."""
    open_ones = [sample for sample in samples if not any(sample.entities)]
    texts = [text for sample in open_ones for text in sample.statements]
    tagged = iter(tagger.find(texts))
    known = {}
    for sample in open_ones:
        sides = tuple(
            tuple(
                Entity(text[span.start : span.end], span.label)
                for span, _ in contexts_in(next(tagged).entities)
            )
            for text in sample.statements
        )
        known[sample.id] = msgspec.structs.replace(
            sample,
            entities=(sides[0], sides[1]),
            context=tuple(sorted(context_of(sides[0]) & context_of(sides[1]))),
        )
    return [known.get(sample.id, sample) for sample in samples]
