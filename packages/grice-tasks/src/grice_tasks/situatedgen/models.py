"""The models of this room, opened from their models."""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, runtime_checkable

import msgspec
import numpy as np

from grice.errors import ModelFolderError
from grice.knowledge.plausibility import Bilinear
from grice.models.cache import CachedEncoder
from grice.models.loader import NoSettings, model_type
from grice.models.mlp import Mlp
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
    from grice.models.protocols import Encoder
    from grice_tasks.situatedgen.records import Context, Sample
    from grice_tasks.situatedgen.tagger import Tagger

    Array: TypeAlias = NDArray[np.float32]


KINDS: tuple[Context, ...] = ("GEO", "TEMP")


class Judged(NamedTuple):
    """Judgement of the model on a pair of sentences."""

    contrast: float | None  # how sure it is that each entity belongs to its own sentence, 0 to 1
    fluency: float  # how sure it is that both are sentences and no lists of words, 0 to 1
    plausibility: float  # their product; 0 without contexts to exchange
    reason: str = ""  # what is missing


class ContrastHead:
    """Judges pairs."""

    def __init__(self, form: Bilinear, fluency: Mlp, encoder: Encoder, identity: str) -> None:
        self.identity = identity
        self._encoder = encoder
        self._form = form
        self._fluency = fluency

    @classmethod
    def load(cls, folder: ModelFolder, encoder: Encoder) -> ContrastHead:
        """Read ``contrast.npz`` and ``fluency.npz`` of a model of type ``contrast-head``."""
        form = Bilinear.load(folder.file("contrast.npz"))
        if len(form.scale) != len(KINDS):
            raise ModelFolderError(f"{folder.file('contrast.npz')}: {len(KINDS)} forms are needed")
        fluency = Mlp.load(folder.file("fluency.npz"))
        identity = f"{folder.identity}/{encoder.identity}"
        return cls(form, fluency, encoder, identity)

    def judge(
        self,
        pairs: Sequence[tuple[str, str]],
        contexts: Sequence[Sequence[tuple[str, Context]]],
    ) -> list[Judged]:
        """Return what the model says of each pair of sentences."""
        margins = self.margins(pairs, contexts)
        vectors = self._encode(sorted({text for pair in pairs for text in pair} - {""}))
        return [self._judge(pair, m, vectors) for pair, m in zip(pairs, margins, strict=True)]

    def margins(
        self,
        pairs: Sequence[tuple[str, str]],
        contexts: Sequence[Sequence[tuple[str, Context]]],
    ) -> list[float | None]:
        """Return how much better each pair is than with its contexts exchanged, as log odds.

        It is the mean of all exchanges of two contexts of a kind; None where there is none. What
        the arguments mean stands at :meth:`judge`.
        """
        swaps = [_exchanges(pair, words) for pair, words in zip(pairs, contexts, strict=True)]
        vectors = self._encode(
            sorted({text for s in swaps for sentence in s for text in sentence.texts})
        )
        mean_margins: list[float | None] = []
        for swap in swaps:
            each = [self._margin(exchanged, vectors) for exchanged in swap]
            mean_margins.append(float(np.mean(each)) if each else None)
        return mean_margins

    def judge_outputs(self, samples: Sequence[Sample], outputs: Sequence[str]) -> list[Judged]:
        """Return what the model says of outputs, looking for the contexts of their samples."""
        pairs = []
        for output in outputs:
            first, second, *_ = (*sentences(output), "", "")
            pairs.append((first, second))
        return self.judge(pairs, [sample_contexts(sample) for sample in samples])

    def fit(self, sentence: str, entities: Sequence[tuple[str, Context]]) -> list[float]:
        """Return how well each entity goes with a sentence that lacks it, as log odds."""
        vectors = self._encode(sorted({sentence, *(name for name, _ in entities)}))
        rows = [(vectors[sentence], vectors[name], kind) for name, kind in entities]
        return self._scores(rows)

    def _judge(
        self, pair: tuple[str, str], margin: float | None, vectors: dict[str, Array]
    ) -> Judged:
        if not all(pair):
            return Judged(None, 0.0, 0.0, "no two sentences")
        rows = np.stack([vectors[text] for text in pair])
        fluency = float(sigmoid(self._fluency(rows))[:, 0].min())
        if margin is None:
            return Judged(None, fluency, 0.0, "no two contexts of one kind, one in each sentence")
        contrast = float(sigmoid(np.array([margin], np.float32))[0])
        return Judged(contrast, fluency, contrast * fluency)

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

    def _encode(self, texts: Sequence[str]) -> dict[str, Array]:
        return dict(zip(texts, self._encoder.encode(texts), strict=True))


class _Exchange(NamedTuple):
    """Two sentences without an entity each, the entities, and their kind."""

    texts: tuple[str, str, str, str]
    kind: Context


def _exchanges(pair: tuple[str, str], words: Sequence[tuple[str, Context]]) -> list[_Exchange]:
    """Return every exchange of two entities of one kind that stand in one sentence each."""
    own: list[list[tuple[str, Context]]] = [[], []]
    for word, kind in dict.fromkeys(words):
        held = [stands_in(word, text) for text in pair]
        if sum(held) == 1:
            own[held.index(True)].append((word, kind))
    return [
        _Exchange((without(pair[0], mine), without(pair[1], other), mine, other), kind)
        for mine, kind in own[0]
        for other, other_kind in own[1]
        if kind == other_kind
    ]


def sample_contexts(sample: Sample) -> list[tuple[str, Context]]:
    """Return the context entities of a sample with their kinds, those of both sentences."""
    return [(entity.text, kind) for side in sample.entities for entity, kind in contexts_in(side)]


def stands_in(word: str, text: str) -> bool:
    """Say whether a word or phrase stands in a text as whole words, in any case."""
    return bool(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE))


def without(text: str, entity: str) -> str:
    """Return a text without an entity, wherever it stands.

    >>> without("July is winter in Chile.", "Chile")
    'July is winter in .'
    """
    bare = re.sub(rf"(?<!\w){re.escape(entity)}(?!\w)", "", text, flags=re.IGNORECASE)
    return re.sub(r"\s+", " ", bare).strip()


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
    folder: ModelFolder
    encoder: CachedEncoder

    def recomposer(self, tagger: Tagger) -> Recomposer:
        """Return the embedded baseline."""
        packed = gzip.decompress(self.folder.file("templates.jsonl.gz").read_bytes())
        decoder = msgspec.json.Decoder(Template)
        templates = [decoder.decode(line) for line in packed.split(b"\n") if line]
        frames = Frames(self.folder.file("classes.txt.gz"))
        grouping = self.folder.file("together.npz")
        return Recomposer(templates, frames, grouping, self.judge, tagger, self.encoder)


@model_type("context-tagger", task="places and times", protocol=ContextModels, settings=NoSettings)
def context_tagger(folder: ModelFolder, _: NoSettings, loader: ModelLoader) -> ContextModels:
    """Open the tagger and the finder of clauses."""
    encoder = loader.encoder_of(folder, CachedEncoder)
    identity = f"{folder.identity}/{encoder.identity}"
    return ContextModels(
        ContextTagger(folder.path, encoder.hidden, identity),
        ClauseFinder(folder.path, encoder.hidden, identity),
    )


@model_type(
    "contrast-head", task="contrast of sentences", protocol=ContrastModels, settings=NoSettings
)
def contrast_head(folder: ModelFolder, _: NoSettings, loader: ModelLoader) -> ContrastModels:
    """Open the judge of pairs with what the embedded baseline needs."""
    encoder = loader.encoder_of(folder, CachedEncoder)
    return ContrastModels(ContrastHead.load(folder, encoder), folder, encoder)


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
