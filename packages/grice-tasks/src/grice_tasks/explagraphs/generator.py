"""A generator of explanation graphs: phrases fill templates that people wrote.

Templates are graphs about similar texts. A classifier picks one of the best; it was taught on other
topics than ``informativeness``: see the recipe ``graphs``.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec
import numpy as np

from grice.data import Triple
from grice.files import write_bytes, writing
from grice.knowledge.plausibility import Bilinear
from grice.numeric import unit_vector
from grice_tasks.explagraphs.check import check_graph
from grice_tasks.explagraphs.features import Reading, with_one
from grice_tasks.explagraphs.graph import Graph, depth_first, write_graph
from grice_tasks.explagraphs.samples import Prediction
from grice_tasks.explagraphs.wording import STOP_WORDS, phrases, relation_names
from grice_tasks.tokens import PLAIN_COMPOUNDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from grice.models.folder import ModelFolder
    from grice_tasks.explagraphs.classifiers import GraphClassifiers
    from grice_tasks.explagraphs.features import Features
    from grice_tasks.explagraphs.samples import Sample, Stance

    Array: TypeAlias = NDArray[np.float32]
    Facts: TypeAlias = tuple[tuple[int, int, int], ...]


OF_EACH, OUTSIDE = 8, 8  # Candidates of each text, and of the vocabulary
FREQUENT = np.float32(0.3)
"""How much the logarithm of a word's frequency counts beside its likeness to both texts."""
NEGATING = frozenset(("never", "no", "not"))
BEING = frozenset(("are", "be", "been", "is", "was", "were"))
MODAL = frozenset(
    ("are", "can", "do", "does", "has", "have", "is", "must", "should", "will", "would")
)
OWNING = frozenset(("a", "an", "her", "his", "its", "my", "our", "the", "their", "your"))
LEADING = frozenset(("can", "must", "should", "to", "will", "would"))


class Candidate(NamedTuple):
    """A text that may become a concept."""

    text: str
    origin: str  # ``both``, ``belief``, ``argument``, or ``outside`` of both
    start: float  # where it begins in the text it comes from, as a share of its length
    end: float
    weight: float  # how much it looks like a concept that people choose; 0 for one from outside


def origin(concept: str, belief: str, argument: str) -> str:
    """Return ``both``, ``belief``, ``argument`` or ``outside`` for texts in lower case."""
    if concept in belief:
        return "both" if concept in argument else "belief"
    return "argument" if concept in argument else "outside"


def place_in(concept: str, text: str) -> tuple[float, float]:
    """Return start and end of a concept as shares of the text's length; zeros if not there."""
    start, size = text.find(concept), max(1, len(text))
    return (0.0, 0.0) if start < 0 else (start / size, (start + len(concept)) / size)


def phrase_row(phrase: str, text: str, other: str, features: Features) -> Array:
    """Return what a phrase of a text is like, by which it may look like a concept."""
    lowered = text.lower()
    start, _ = place_in(phrase, lowered)
    words = phrase.count(" ") + 1
    vector = features.vector(phrase)
    own = [
        1.0,
        float(words == 1),
        float(words == 2),
        start,
        float(start == 0),
        float(not lowered[lowered.find(phrase) + len(phrase) :].strip(" .!?")),
        float(phrase in other.lower()),
        len(phrase) / 10,
        float(vector @ features.vector(text)),
        float(vector @ features.vector(other)),
    ]
    around = _around(phrase, lowered, words)
    return np.concatenate(
        [np.array([*own, *around], np.float32), features.axes(phrase) * np.float32(0.3)]
    )


def _around(phrase: str, text: str, words: int) -> list[float]:
    """Return what stands before and after a phrase, alone and by the length of the phrase."""
    first = text.find(phrase)
    last = first + len(phrase)
    matches = list(PLAIN_COMPOUNDS.finditer(text))
    before = next((match for match in reversed(matches) if match.end() <= first), None)
    after = next((match for match in matches if match.start() >= last), None)
    ahead = before[0] if before and not text[before.end() : first].strip() else ""
    behind = after[0] if after and not text[last : after.start()].strip() else ""
    edges = [*_kind(behind), *_kind(ahead)]
    row = [
        *edges,
        any(word in STOP_WORDS for word in phrase.split(" ")[1:-1]),
        ahead in NEGATING,
        ahead in BEING,
        behind in MODAL,
        ahead in OWNING,
        ahead in LEADING,
        len(matches) / 20,
        *(edge * (words == 1) for edge in edges),
        *(edge * (words == 3) for edge in edges),
    ]
    return [float(value) for value in row]


def _kind(word: str) -> tuple[bool, bool, bool]:
    """Return whether a phrase ends here, or an empty word or another full one stands beside."""
    return not word, word in STOP_WORDS, bool(word) and word not in STOP_WORDS


def candidates(
    belief: str,
    argument: str,
    features: Features,
    weights: Array,
    outside: Sequence[tuple[str, float]],
) -> list[Candidate]:
    """Return the best phrases of both texts, and words from outside, each once."""
    texts = (belief.lower(), argument.lower())
    chosen: dict[str, float] = {}
    for text, other in ((belief, argument), (argument, belief)):
        own_phrases = phrases(text)
        scores = [
            float(phrase_row(phrase, text, other, features) @ weights) for phrase in own_phrases
        ]
        for i in sorted(range(len(own_phrases)), key=lambda i: -scores[i])[:OF_EACH]:
            chosen[own_phrases[i]] = max(scores[i], chosen.get(own_phrases[i], scores[i]))
    ranked = []
    for text, weight in chosen.items():
        where = origin(text, *texts)
        ranked.append(Candidate(text, where, *place_in(text, texts[where == "argument"]), weight))
    both = features.vector(belief) + features.vector(argument)
    near = [float(features.vector(word) @ both + FREQUENT * often) for word, often in outside]
    fresh = [
        outside[i][0]
        for i in sorted(range(len(near)), key=lambda i: -near[i])[: 4 * OUTSIDE]
        if origin(outside[i][0], *texts) == "outside"
    ]
    return ranked + [Candidate(word, "outside", 0.0, 0.0, 0.0) for word in fresh[:OUTSIDE]]


LIKE, LOOKS, PLACE = 1.0, 0.8, 0.5
"""Weights in a slot beside the facts: likeness to its concept, to concepts at all, and place."""
BEAM = 6
STEPS = 127.0


class Slot(msgspec.Struct, frozen=True, array_like=True):
    """The place of one concept."""

    origin: str  # ``both``, ``belief``, ``argument`` or ``outside``
    start: float  # where the concept began in its text, as a share of the text's length
    end: float
    concept: str = ""  # the concept itself if it came from outside, else empty


class Template(msgspec.Struct, frozen=True, array_like=True):
    """One graph without what it is about."""

    stance: str
    slots: tuple[Slot, ...]
    facts: tuple[tuple[int, int, int], ...]  # slot of the head


class Filled(NamedTuple):
    """A pattern filled with candidates: facts by numbers of candidates, and how well it fits."""

    score: float
    facts: Facts


class Templates:
    """Templates with what they were about, in short vectors."""

    def __init__(self, templates: Sequence[Template], texts: Array, concepts: Array) -> None:
        self.templates = tuple(templates)
        self._texts = texts
        ends = np.cumsum([len(template.slots) for template in templates])[:-1]
        self._concepts = np.split(concepts, ends) if templates else []
        self._support = np.array([template.stance == "support" for template in templates], bool)

    @classmethod
    def load(cls, patterns: Path, vectors: Path) -> Templates:
        """Read ``cases.json`` and ``cases.npz`` as :meth:`save` writes them."""
        templates = msgspec.json.decode(patterns.read_bytes(), type=list[Template])
        with np.load(vectors, allow_pickle=False) as stored:
            parts = [stored[name].astype(np.float32) / STEPS for name in ("texts", "concepts")]
        return cls(templates, *parts)

    def save(self, folder: Path) -> None:
        """Write the templates, vectors in whole steps of one byte."""
        write_bytes(folder / "cases.json", msgspec.json.encode(self.templates) + b"\n")
        packed = {
            name: np.rint(part * STEPS).astype(np.int8)
            for name, part in (("texts", self._texts), ("concepts", np.concatenate(self._concepts)))
        }
        with writing(folder / "cases.npz") as file:
            np.savez_compressed(file, allow_pickle=False, **packed)

    def nearest(
        self, belief: Array, argument: Array, stance: str, count: int
    ) -> list[tuple[Template, Array]]:
        """Return the templates of a stance that were about the most similar texts, best first."""
        near = self._texts[:, 0] @ belief + self._texts[:, 1] @ argument
        near = np.where(self._support == (stance == "support"), near, -np.inf)
        order = np.argsort(-near, kind="stable")[:count]
        return [(self.templates[i], self._concepts[i]) for i in order if np.isfinite(near[i])]


def fill(
    template: Template,
    concepts: Array,
    candidates: Sequence[Candidate],
    vectors: Array,
    scores: Array,
) -> Filled | None:
    """Return the pattern filled as well as a narrow beam can, or None if nothing fits."""
    like = LIKE * (concepts @ vectors.T)
    pools = [_pool(slot, row, candidates) for slot, row in zip(template.slots, like, strict=True)]
    if not all(pools):
        return None
    share = 1 / len(template.facts)
    beam: list[tuple[float, dict[int, int]]] = [(0.0, {})]
    for head, relation, tail in template.facts:
        grown = []
        for score, taken in beam:
            for first, head_score in _choices(head, taken, pools, candidates):
                with_head = {**taken, head: first}
                for last, other in _choices(tail, with_head, pools, candidates):
                    fits = share * float(scores[first, last, relation])
                    grown.append((score + head_score + other + fits, {**with_head, tail: last}))
        grown.sort(key=lambda tree: -tree[0])
        beam = grown[:BEAM]
        if not beam:
            return None
    score, taken = beam[0]
    slots = sum(pools[slot][candidate] for slot, candidate in taken.items())
    # The mean over slots, so that large graphs gain nothing by their size.
    return Filled(
        score - slots + slots / len(taken),
        tuple((taken[head], relation, taken[tail]) for head, relation, tail in template.facts),
    )


def _pool(slot: Slot, like: Array, candidates: Sequence[Candidate]) -> dict[int, float]:
    """Return the candidates that may stand in a slot, each with how well it does."""
    if slot.origin == "outside":
        return {
            i: float(like[i])
            for i, candidate in enumerate(candidates)
            if candidate.origin == "outside"
        }
    wanted = {"both": ("both",), "belief": ("belief", "both"), "argument": ("argument", "both")}
    able = [i for i, candidate in enumerate(candidates) if candidate.origin in wanted[slot.origin]]
    if not able and slot.origin == "both":
        able = [i for i, candidate in enumerate(candidates) if candidate.origin != "outside"]
    return {
        i: float(like[i])
        + LOOKS * candidates[i].weight
        - PLACE * (abs(candidates[i].start - slot.start) + abs(candidates[i].end - slot.end))
        for i in able
    }


def _choices(
    slot: int,
    taken: Mapping[int, int],
    pools: Sequence[Mapping[int, float]],
    candidates: Sequence[Candidate],
) -> list[tuple[int, float]]:
    """Return who may stand in a slot beside those that are placed; who is there costs nothing."""
    if slot in taken:
        return [(taken[slot], 0.0)]
    placed = [candidates[candidate].text for candidate in taken.values()]
    return [
        (i, score)
        for i, score in pools[slot].items()
        if not any(candidates[i].text in other or other in candidates[i].text for other in placed)
    ]


TEMPLATES = 60  # Templates that are filled for a sample
SHOWN = 24  # Graphs that are shown to the classifier


class GraphGenerator:
    """Proposes graphs; it knows neither stances nor classifiers."""

    def __init__(
        self,
        features: Features,
        links: Bilinear,
        weights: Array,
        outside: Sequence[tuple[str, float]],
        templates: Templates,
    ) -> None:
        self._features = features
        self._links = links
        self._weights = weights
        self.outside = tuple(outside)
        self._known = frozenset(word for word, _ in outside)
        self._templates = templates

    @classmethod
    def load(
        cls, folder: ModelFolder, arrays: Mapping[str, Array], features: Features
    ) -> GraphGenerator:
        """Read the generator of a model of type ``graph-heads``."""
        words = folder.file("concepts.txt").read_text("utf-8").split("\n")[:-1]
        return cls(
            features,
            Bilinear.load(folder.file("links.npz")),
            arrays["phrases"],
            list(zip(words, arrays["often"].tolist(), strict=True)),
            Templates.load(folder.file("cases.json"), folder.file("cases.npz")),
        )

    def proposals(self, belief: str, argument: str, stance: Stance) -> list[Graph]:
        """Return up to :data:`SHOWN` valid graphs in depth-first order, the best first."""
        texts = (belief.lower(), argument.lower())
        near = self._templates.nearest(
            self._short(belief), self._short(argument), stance, TEMPLATES
        )
        concepts = candidates(belief, argument, self._features, self._weights, self.outside)
        listed = {candidate.text for candidate in concepts}
        for template, _ in near:
            for slot in template.slots:
                word = slot.concept
                if word in self._known - listed and origin(word, *texts) == "outside":
                    listed.add(word)
                    concepts.append(Candidate(word, "outside", 0.0, 0.0, 0.0))
        if not concepts:
            return []
        words = [candidate.text for candidate in concepts]
        vectors = np.stack([self._short(word) for word in words])
        whole = with_one(np.stack([self._features.vector(word) for word in words]))
        # Log probability of every fact, shape (heads, tails, relations).
        scores = np.asarray(-np.logaddexp(0, -_every_pair(self._links, whole)), np.float32)
        names = relation_names()
        best: dict[Graph, Filled] = {}
        for template, slots in near:
            filled = fill(template, slots, concepts, vectors, scores)
            if filled is not None:
                facts = (Triple(words[h], names[r], words[t]) for h, r, t in filled.facts)
                graph = depth_first(Graph(tuple(facts)))
                best[graph] = max(filled, best.get(graph, filled))
        ranked = sorted(best, key=lambda graph: -best[graph].score)
        valid = (graph for graph in ranked if check_graph(write_graph(graph), belief, argument).ok)
        return list(islice(valid, SHOWN))

    def _short(self, text: str) -> Array:
        return unit_vector(self._features.axes(text))


def _every_pair(form: Bilinear, vectors: Array) -> Array:
    """Return the scores of every head with every tail, shape ``(heads, tails, relations)``.

    The same as calling the form with each pair but for rounding; each side is mapped once.
    """
    left, right = form.heads.product(vectors), form.tails.product(vectors)
    shape = (-1, len(form.scale), (left.shape[1] - form.shared) // len(form.scale))
    # Without BLAS, so that the bits of an element depend on its own pair alone.
    own = np.einsum(
        "irk,jrk->ijr",
        left[:, form.shared :].reshape(shape),
        right[:, form.shared :].reshape(shape),
    )
    shared = np.einsum("ik,jk->ij", left[:, : form.shared], right[:, : form.shared])
    cosines = np.einsum("ik,jk->ij", vectors, vectors)
    scores = form.cosine * cosines[:, :, None] + shared[:, :, None] + own
    return np.asarray(form.scale * scores + form.bias, np.float32)


def generate_graphs(
    samples: Sequence[Sample],
    classifiers: GraphClassifiers,
    *,
    stances: Sequence[Stance] | None = None,
) -> list[Prediction]:
    """Return a stance and a graph for each sample; neither gold is looked at."""
    texts = [(sample.belief, sample.argument) for sample in samples]
    if stances is None:
        stances = [stance for stance, _ in classifiers.stances(texts)]
    classifiers.encode(word for word, _ in classifiers.generator.outside)
    classifiers.encode(
        text for pair in texts for text in (*pair, *phrases(pair[0]), *phrases(pair[1]))
    )
    proposed = [
        classifiers.generator.proposals(*pair, stance)
        for pair, stance in zip(texts, stances, strict=True)
    ]
    # All at once: encoding a few facts for each sample is several times slower.
    readings = [
        Reading(*pair, graph)
        for pair, graphs in zip(texts, proposed, strict=True)
        for graph in graphs
    ]
    meanings = iter(classifiers.choices(readings))
    predictions = []
    for sample, stance, graphs in zip(samples, stances, proposed, strict=True):
        scores = [getattr(next(meanings), stance) for _ in graphs]
        best = write_graph(graphs[int(np.argmax(scores))]) if graphs else ""
        predictions.append(Prediction(sample.id, stance, best))
    return predictions
