"""The models for contrasting sentences, opened from their model folders."""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, runtime_checkable

import msgspec
import numpy as np

from grice.errors import ModelFolderError
from grice.knowledge.plausibility import Bilinear
from grice.models.embedded import EmbeddedEncoder
from grice.models.loader import Settings, model_type
from grice.models.mlp import Mlp
from grice.models.protocols import Encoder
from grice.numeric import sigmoid
from grice_tasks.situatedgen.frames import Frames
from grice_tasks.situatedgen.recompose import Recomposer, Template
from grice_tasks.situatedgen.records import Entity, context_of, contexts_in
from grice_tasks.situatedgen.statements import ClauseFinder
from grice_tasks.situatedgen.tagger import ContextTagger
from grice_tasks.situatedgen.words import sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice.models.folder import ModelFolder
    from grice.models.loader import ModelLoader
    from grice_tasks.situatedgen.records import Context, Sample

    Array: TypeAlias = NDArray[np.float32]
    Words: TypeAlias = Sequence[tuple[str, Context]]


KINDS: tuple[Context, ...] = ("GEO", "TEMP")


class Judged(NamedTuple):
    """Judgement of the model on a pair of sentences."""

    contrast: float | None  # how sure it is that each entity belongs to its own sentence, 0 to 1
    fluency: float  # how sure it is that both are sentences and no lists of words, 0 to 1
    plausibility: float  # their product; 0 without contexts to exchange
    reason: str = ""  # what is missing


class ContrastHead:
    """Judges pairs by exchanging their contexts; from a model folder ``contrast-head``."""

    def __init__(self, folder: ModelFolder, encoder: Encoder) -> None:
        self.identity = f"{folder.identity}/{encoder.identity}"
        self._encoder = encoder
        self._form = Bilinear.load(folder.file("contrast.npz"))
        if len(self._form.scale) != len(KINDS):
            raise ModelFolderError(f"{folder.file('contrast.npz')}: {len(KINDS)} forms are needed")
        self._fluency = Mlp.load(folder.file("fluency.npz"))

    def judge(self, pairs: Sequence[tuple[str, str]], contexts: Sequence[Words]) -> list[Judged]:
        """Judge pairs of sentences by the mean margin over exchanges of their contexts."""
        swaps = [_exchanges(pair, words) for pair, words in zip(pairs, contexts, strict=True)]
        texts = {text for swap in swaps for exchange in swap for text in exchange.texts}
        vectors = self._encode({*texts, *(text for pair in pairs for text in pair if text)})
        judged = []
        for pair, swap in zip(pairs, swaps, strict=True):
            if not all(pair):
                judged.append(Judged(None, 0.0, 0.0, "no two sentences"))
                continue
            rows = np.stack([vectors[text] for text in pair])
            fluency = float(sigmoid(self._fluency(rows))[:, 0].min())
            if not swap:
                reason = "no two contexts of one kind, one in each sentence"
                judged.append(Judged(None, fluency, 0.0, reason))
                continue
            margin = float(np.mean([self._margin(exchange, vectors) for exchange in swap]))
            contrast = float(sigmoid(np.array([margin], np.float32))[0])
            judged.append(Judged(contrast, fluency, contrast * fluency))
        return judged

    def judge_outputs(self, samples: Sequence[Sample], outputs: Sequence[str]) -> list[Judged]:
        """Judge outputs by the contexts of their samples."""
        pairs = []
        for output in outputs:
            first, second, *_ = (*sentences(output), "", "")
            pairs.append((first, second))
        contexts = [
            [(entity.text, kind) for side in each.entities for entity, kind in contexts_in(side)]
            for each in samples
        ]
        return self.judge(pairs, contexts)

    def fit(self, sentence: str, entities: Words) -> list[float]:
        """Return how well each entity goes with a sentence that lacks it, as log odds."""
        vectors = self._encode({sentence, *(name for name, _ in entities)})
        return self._scores([(vectors[sentence], vectors[name], kind) for name, kind in entities])

    def _margin(self, swap: _Exchange, vectors: dict[str, Array]) -> float:
        first, second, mine, other = (vectors[text] for text in swap.texts)
        rows = ((first, mine), (second, other), (first, other), (second, mine))
        scores = self._scores([(sentence, name, swap.kind) for sentence, name in rows])
        return scores[0] + scores[1] - scores[2] - scores[3]

    def _scores(self, rows: Sequence[tuple[Array, Array, Context]]) -> list[float]:
        if not rows:
            return []
        table = self._form(np.stack([row[0] for row in rows]), np.stack([row[1] for row in rows]))
        return [float(line[KINDS.index(row[2])]) for line, row in zip(table, rows, strict=True)]

    def _encode(self, texts: set[str]) -> dict[str, Array]:
        ordered = sorted(texts)
        return dict(zip(ordered, self._encoder.encode(ordered), strict=True))


class _Exchange(NamedTuple):
    """Two sentences without an entity each, the entities, and their kind."""

    texts: tuple[str, str, str, str]
    kind: Context


def _exchanges(pair: tuple[str, str], words: Words) -> list[_Exchange]:
    """Return every exchange of two entities of one kind that stand in one sentence each."""
    own: list[list[tuple[str, Context]]] = [[], []]
    for word, kind in dict.fromkeys(words):
        held = [
            bool(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE))
            for text in pair
        ]
        if sum(held) == 1:
            own[held.index(True)].append((word, kind))
    return [
        _Exchange((without(pair[0], mine), without(pair[1], other), mine, other), kind)
        for mine, kind in own[0]
        for other, other_kind in own[1]
        if kind == other_kind
    ]


def without(text: str, entity: str) -> str:
    """Return a text without an entity, wherever it stands."""
    bare = re.sub(rf"(?<!\w){re.escape(entity)}(?!\w)", "", text, flags=re.IGNORECASE)
    return re.sub(r"\s+", " ", bare).strip()


@runtime_checkable
class KeywordWriter(Protocol):
    """Writes two sentences from keywords."""

    def generate(self, keywords: Sequence[Sequence[str]]) -> list[str]:
        """Return two sentences for each list of keywords; an empty text for an empty list."""
        ...


class ContextModels(NamedTuple):
    """Models of a ``context-tagger``: places, times and nouns; the end of the subject."""

    tagger: ContextTagger
    clauses: ClauseFinder


class ContrastModels(NamedTuple):
    """Models of a ``contrast-head``."""

    judge: ContrastHead
    folder: ModelFolder
    encoder: EmbeddedEncoder

    def recomposer(self, tagger: ContextTagger) -> Recomposer:
        """Return the embedded baseline."""
        packed = gzip.decompress(self.folder.file("templates.jsonl.gz").read_bytes())
        decoder = msgspec.json.Decoder(Template)
        templates = [decoder.decode(line) for line in packed.split(b"\n") if line]
        frames = Frames(self.folder.file("classes.txt.gz"))
        grouping = self.folder.file("together.npz")
        return Recomposer(templates, frames, grouping, self.judge, tagger, self.encoder)


class SituatedModels(NamedTuple):
    """Opened models that ship for contrasting sentences."""

    context: ContextModels
    contrast: ContrastModels
    encoder: Encoder

    def generate(self, keywords: Sequence[Sequence[str]]) -> list[str]:
        """Return two sentences for each list of keywords, by the embedded baseline."""
        return self.contrast.recomposer(self.context.tagger).generate(keywords)


def open_models(models: ModelLoader) -> SituatedModels:
    """Open what ships for contrasting sentences."""
    return SituatedModels(
        models.load("builtin:context", ContextModels),
        models.load("builtin:situated", ContrastModels),
        models.load("builtin:encoder", Encoder),
    )


@model_type("context-tagger", task="places and times", settings=Settings)
def context_tagger(folder: ModelFolder, _: Settings, loader: ModelLoader) -> ContextModels:
    """Open the tagger and the finder of clauses."""
    encoder = loader.encoder_of(folder, EmbeddedEncoder)
    identity = f"{folder.identity}/{encoder.identity}"
    return ContextModels(
        ContextTagger(folder.path, encoder.hidden_states, identity),
        ClauseFinder(folder.path, encoder.hidden_states, identity),
    )


@model_type("contrast-head", task="contrast of sentences", settings=Settings)
def contrast_head(folder: ModelFolder, _: Settings, loader: ModelLoader) -> ContrastModels:
    """Open the judge of pairs with what the embedded baseline needs."""
    encoder = loader.encoder_of(folder, EmbeddedEncoder)
    return ContrastModels(ContrastHead(folder, encoder), folder, encoder)


def with_contexts(samples: Sequence[Sample], tagger: ContextTagger) -> list[Sample]:
    """Return samples with the context entities of their references, where none are stated."""
    bare = [sample for sample in samples if not any(sample.entities)]
    tagged = iter(tagger.find([text for sample in bare for text in sample.statements]))
    known = {}
    for sample in bare:
        first, second = (
            tuple(
                Entity(text[span.start : span.end], span.label)
                for span, _ in contexts_in(next(tagged).entities)
            )
            for text in sample.statements
        )
        context = tuple(sorted(context_of(first) & context_of(second)))
        known[sample.id] = msgspec.structs.replace(
            sample, entities=(first, second), context=context
        )
    return [known.get(sample.id, sample) for sample in samples]
