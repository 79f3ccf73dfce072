"""Models on ONNX Runtime (``pip install "grice[onnx]"``), for what CTranslate2 has not.

DeBERTa, ModernBERT, ELECTRA, or a checkpoint that is published as ONNX. The graph takes
``input_ids``, ``attention_mask`` and, if it knows them, ``token_type_ids``, as exporters for
transformers write it; its first output counts. Computed is in float32, or in what the graph says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import numpy as np

from grice.errors import BundleError, ModelError
from grice.models.batching import run_apart
from grice.models.labels import FEWEST, CrossEncoder, LabelSettings, keep_checkpoint
from grice.models.loader import Settings, model_type
from grice.models.protocols import Encoder, PairClassifier
from grice.models.tokenization import CHARACTERS, ending, open_tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice.models.bundle import Bundle
    from grice.models.cache import Cache
    from grice.models.loader import ModelLoader
    from grice.models.protocols import Vector

MODEL = "model.onnx"


class OnnxEncoderSettings(Settings, frozen=True):
    """Of a bundle of kind ``onnx-encoder``: what it reads, and what is made of its states."""

    max_tokens: Annotated[int, msgspec.Meta(ge=FEWEST)]
    dimensions: int
    pooling: Literal["mean", "first"] = "mean"


class _Graph:
    """A graph with the inputs of transformers."""

    def __init__(self, bundle: Bundle) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise ModelError(
                f"{bundle.folder}: a model of kind {bundle.card.kind} runs on ONNX Runtime: "
                'pip install "grice[onnx]"'
            ) from None
        options = onnxruntime.SessionOptions()
        # Batches run beside each other, each on one core, as in every engine here.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.engine = f"ort-{onnxruntime.__version__}"
        self._session: Any = onnxruntime.InferenceSession(
            str(bundle.path(MODEL)), options, providers=["CPUExecutionProvider"]
        )
        self._takes = {given.name for given in self._session.get_inputs()}
        needed = {"input_ids", "attention_mask"}
        if not needed <= self._takes or self._takes - needed > {"token_type_ids"}:
            raise BundleError(
                f"{bundle.path(MODEL)}: takes {', '.join(sorted(self._takes))}; input_ids, "
                "attention_mask and perhaps token_type_ids are expected"
            )

    def __call__(self, ids: list[int], types: list[int]) -> NDArray[np.float32]:
        """Return the first output for one text."""
        given = {"input_ids": ids, "attention_mask": [1] * len(ids), "token_type_ids": types}
        arrays = {k: np.array([v], np.int64) for k, v in given.items() if k in self._takes}
        (output,) = self._session.run([self._session.get_outputs()[0].name], arrays)
        return np.asarray(output[0], np.float32)


class OnnxEncoder:
    """An encoder whose token states become one vector a text.

    A text longer than the model reads keeps its end.
    """

    def __init__(
        self, bundle: Bundle, settings: OnnxEncoderSettings, cache: Cache, *, threads: int
    ) -> None:
        self._graph = _Graph(bundle)
        self.identity = f"{bundle.identity}/{self._graph.engine}"
        self.dimensions = settings.dimensions
        self._pooling = settings.pooling
        self._tokenizer = open_tokenizer(bundle)
        added = self._tokenizer.num_special_tokens_to_add(is_pair=False)
        self._room = settings.max_tokens - added
        self._cache = cache
        self._threads = threads

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        """Return one unit vector per text; zeros for a text without a word."""
        return self._cache.cached_arrays(self.identity, texts, self._computed, np.float32)

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it holds more tokens than the model reads."""
        return [
            len(text) > self._room * CHARACTERS
            or len(self._tokenizer.encode(text, add_special_tokens=False).ids) > self._room
            for text in texts
        ]

    def _computed(self, texts: Sequence[str]) -> list[Vector]:
        return run_apart(self._vector, texts, self._threads)

    def _vector(self, text: str) -> Vector:
        read = self._tokenizer.encode(ending(text, self._room), add_special_tokens=False)
        if not read.ids:
            return np.zeros(self.dimensions, np.float32)
        read.truncate(self._room, direction="left")
        whole = self._tokenizer.post_process(read, None, True)
        states = self._graph(whole.ids, whole.type_ids)
        if states.ndim != 2 or states.shape[1] != self.dimensions:
            raise BundleError(
                f"{self.identity}: states of shape {states.shape}; {self.dimensions} dimensions a "
                "token are expected"
            )
        pooled = states.mean(axis=0) if self._pooling == "mean" else states[0]
        return np.asarray(pooled / np.linalg.norm(pooled), np.float32)


@model_type(
    "onnx-encoder",
    task="sentence vectors",
    protocol=Encoder,
    settings=OnnxEncoderSettings,
    convert=keep_checkpoint,
)
def onnx_encoder(bundle: Bundle, settings: OnnxEncoderSettings, loader: ModelLoader) -> OnnxEncoder:
    """Open an encoder."""
    return OnnxEncoder(bundle, settings, loader.cache, threads=loader.workers)


def _cross_encoder(bundle: Bundle, settings: LabelSettings, loader: ModelLoader) -> CrossEncoder:
    graph = _Graph(bundle)
    return CrossEncoder(
        bundle, settings, graph, loader.cache, engine=graph.engine, threads=loader.workers
    )


onnx_classifier = model_type(
    "onnx-classifier",
    task="relevance",
    protocol=PairClassifier,
    settings=LabelSettings,
    convert=keep_checkpoint,
)(_cross_encoder)
"""Opens a classifier of two texts, by how well they go together."""

onnx_nli = model_type(
    "onnx-nli",
    task="entailment",
    protocol=PairClassifier,
    settings=LabelSettings,
    convert=keep_checkpoint,
)(_cross_encoder)
"""Opens a classifier of a premise and a hypothesis."""
