"""The shipped classifiers of explanation graphs: stance, meaning, importance, informativeness.

Kernel machines on vectors of a small frozen encoder, in place of the RoBERTa classifiers of Saha et
al. 2021, which were not released: their figures do not compare with published SeCA and EA.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from grice.knowledge.plausibility import Bilinear
from grice.models.loader import Settings, model_type
from grice.models.mlp import single_threaded
from grice.models.protocols import Encoder
from grice.numeric import sigmoid
from grice_tasks.explagraphs.features import (
    Features,
    Informativeness,
    Reading,
    Space,
    fact_logits,
    informativeness_features,
    texts_of,
)
from grice_tasks.explagraphs.generator import GraphGenerator, generate_graphs
from grice_tasks.explagraphs.graph import Graph, depth_first
from grice_tasks.explagraphs.samples import STANCES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from grice.models.folder import ModelFolder
    from grice.models.loader import ModelLoader
    from grice.models.protocols import Vector
    from grice_tasks.explagraphs.samples import Prediction, Sample, Stance

    Array: TypeAlias = NDArray[np.float32]


class Scaling(NamedTuple):
    """Brings counts and vectors to one scale before their distance is taken."""

    mean: Array  # mean of each element, counts first
    factor: Array  # what each element, less its mean, is multiplied by

    def __call__(self, counts: Array, vectors: Array) -> Array:
        """Return the scaled row."""
        row = (np.concatenate([counts, vectors]) - self.mean) * self.factor
        return np.asarray(row, np.float32)


class KernelHead:
    """Scores of classes for rows of features."""

    def __init__(self, scaling: Scaling, weight: Array, bias: Array, *, seed: int) -> None:
        self.scaling, self.seed = scaling, seed
        self._weight = np.ascontiguousarray(weight, np.float32)
        self._bias = np.asarray(bias, np.float32)
        self._project = projections(len(scaling.mean), len(weight), seed)

    @classmethod
    def load(cls, arrays: Mapping[str, Array], name: str) -> KernelHead:
        """Read ``NAME_mean``, ``NAME_factor``, ``NAME_weight``, ``NAME_bias``, ``NAME_seed``."""
        mean, factor, weight = (
            arrays[f"{name}_{part}"].astype(np.float32) for part in ("mean", "factor", "weight")
        )
        seed = int(arrays[f"{name}_seed"])
        return cls(Scaling(mean, factor), weight, arrays[f"{name}_bias"], seed=seed)

    def arrays(self, name: str) -> dict[str, NDArray[np.generic]]:
        """Return what :meth:`load` reads back, weights in half precision."""
        return {
            f"{name}_mean": self.scaling.mean.astype(np.float16),
            f"{name}_factor": self.scaling.factor.astype(np.float16),
            f"{name}_weight": self._weight.astype(np.float16),
            f"{name}_bias": self._bias,
            f"{name}_seed": np.array(self.seed),
        }

    def __call__(self, counts: Array, vectors: Array) -> Array:
        """Return scores of shape ``(classes,)`` of one row."""
        with single_threaded():
            row = random_features(self.scaling(counts, vectors)[None], self._project)[0]
            scores: Array = row @ self._weight + self._bias
        return scores


def projections(inputs: int, features: int, seed: int) -> tuple[Array, Array]:
    """Return random directions and shifts; the same for a seed in every version of numpy."""
    draws = np.random.RandomState(seed)
    directions = draws.standard_normal((inputs, features)).astype(np.float32)
    return directions, draws.uniform(0, 2 * np.pi, features).astype(np.float32)


def random_features(rows: Array, project: tuple[Array, Array]) -> Array:
    """Return cosines whose inner products approach ``exp(-|x - y|² / 2)``."""
    directions, shifts = project
    scale = np.float32(np.sqrt(2 / len(shifts)))
    return np.asarray(scale * np.cos(rows @ directions + shifts), np.float32)


class Meaning(NamedTuple):
    """Stance of a graph towards its belief, by a classifier without the argument."""

    support: float  # score of explaining support, around 0 to 1
    counter: float
    incorrect: float

    @property
    def label(self) -> str:
        """``support``, ``counter`` or ``incorrect``: the highest score."""
        return max(("support", "counter", "incorrect"), key=lambda name: getattr(self, name))


@runtime_checkable
class GraphJudges(Protocol):
    """Judges of graphs: :class:`GraphClassifiers`, or trained ones in its place."""

    def encode(self, texts: Iterable[str]) -> None:
        """Read texts before they are asked about, all at once."""

    def meanings(self, pairs: Sequence[tuple[str, Graph]]) -> list[Meaning]:
        """Return what each graph says about its belief."""

    def importance(self, reading: Reading, stance: Stance) -> list[bool]:
        """Return for each fact whether the stance is less likely without it."""

    def informativeness(self, readings: Sequence[Reading]) -> list[Informativeness]:
        """Return the informativeness of each graph."""


class GraphClassifiers:
    """The classifiers of a model of type ``graph-heads``."""

    def __init__(self, folder: ModelFolder, encoder: Encoder) -> None:
        self.identity = f"{folder.identity}/{encoder.identity}"
        self._encoder = encoder
        self._vectors: dict[str, Vector] = {}
        with np.load(folder.file("judges.npz"), allow_pickle=False) as arrays:
            stored = dict(arrays)
        axes = stored["axes"].astype(np.float32)
        self.features = Features(Space(stored["mean"], axes, stored["good"]), self._vectors)
        self._stance, self._edges, self._meaning, self._choice = (
            KernelHead.load(stored, name) for name in ("stance", "edges", "meaning", "choice")
        )
        self._informativeness = [
            (KernelHead.load(stored, name), stored[f"{name}_scale"])
            for name in ("written", "accepted")
        ]
        self._facts = Bilinear.load(folder.file("facts.npz"))
        self.generator = GraphGenerator.load(folder, stored, self.features)

    def encode(self, texts: Iterable[str]) -> None:
        """Encode the texts that are new, all at once."""
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if new:
            self._vectors.update(zip(new, self._encoder.encode(new), strict=True))

    def stances(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[Stance, float]]:
        """Return the stance of each argument to its belief, with the margin of its score."""
        readings = [Reading(belief, argument, Graph(())) for belief, argument in pairs]
        rows = self._scores(self._stance, readings)
        return [(STANCES[int(row[1] > row[0])], float(abs(row[0] - row[1]))) for row in rows]

    def predict(
        self, samples: Sequence[Sample], *, stances: Sequence[Stance] | None = None
    ) -> list[Prediction]:
        """Return a stance and a valid graph for each sample; neither gold is looked at."""
        return generate_graphs(samples, self, stances=stances)

    def meanings(self, pairs: Sequence[tuple[str, Graph]]) -> list[Meaning]:
        """Return what each graph says about its belief; SeCA asks for the gold stance."""
        readings = [Reading(belief, None, _read(graph)) for belief, graph in pairs]
        return [Meaning(*map(float, row)) for row in self._scores(self._meaning, readings)]

    def importance(self, reading: Reading, stance: Stance) -> list[bool]:
        """Return for each fact, depth-first, whether the stance scores lower without it (EA)."""
        graph = _read(reading.graph)
        without = [
            reading._replace(graph=Graph(graph.edges[:place] + graph.edges[place + 1 :]))
            for place in range(len(graph.edges))
        ]
        whole, *rest = self._scores(self._edges, [reading._replace(graph=graph), *without])
        side = STANCES.index(stance)
        return [bool(whole[side] > row[side]) for row in rest]

    def choices(self, readings: Sequence[Reading]) -> list[Meaning]:
        """Return what each graph explains, by a classifier that takes no part in scores."""
        read = [reading._replace(graph=_read(reading.graph)) for reading in readings]
        return [Meaning(*map(float, row)) for row in self._scores(self._choice, read)]

    def informativeness(self, readings: Sequence[Reading]) -> list[Informativeness]:
        """Return the informativeness of each graph; an argument that is None counts as empty."""
        read = [
            Reading(belief, argument or "", graph.lower()) for belief, argument, graph in readings
        ]
        self.encode(texts_of(read))
        found = []
        for reading in read:
            if not reading.graph.edges:
                found.append(Informativeness(0.0, 0.0, 0.0, (), 0.0))
                continue
            likely = sigmoid(fact_logits(self._facts, self._vectors, reading.graph.edges))
            parts = informativeness_features(*reading, likely)
            counts, vectors = self.features.row(reading)
            counts = np.concatenate([counts, parts])
            written, accepted = (
                float(sigmoid(scale[0] * head(counts, vectors)[1:] + scale[1])[0])
                for head, scale in self._informativeness
            )
            values = min(written, accepted), written, accepted
            facts = tuple(map(float, likely))
            found.append(Informativeness(*values, facts, float(parts[2])))
        return found

    def _scores(self, head: KernelHead, readings: Sequence[Reading]) -> list[Array]:
        self.encode(texts_of(readings))
        return [head(*self.features.row(reading)) for reading in readings]


def _read(graph: Graph) -> Graph:
    """Return the graph as the classifiers were taught: lower case, depth-first."""
    return depth_first(graph.lower())


@model_type("graph-heads", task="explanation graphs", settings=Settings)
def graph_heads(folder: ModelFolder, _: Settings, loader: ModelLoader) -> GraphClassifiers:
    """Open the classifiers."""
    return GraphClassifiers(folder, loader.encoder_of(folder, Encoder))
