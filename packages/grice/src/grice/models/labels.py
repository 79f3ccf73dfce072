"""Checkpoints that are kept as they were published, and classifiers of two texts on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np

from grice.errors import BundleError, os_reason
from grice.models.batching import run_apart
from grice.models.loader import Settings
from grice.models.store.places import copy_files
from grice.models.tokenization import beginning, ending, open_tokenizer
from grice.numeric import sigmoid, softmax

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from tokenizers import Encoding

    from grice.models.bundle import Bundle, CardValue
    from grice.models.cache import Cache
    from grice.models.protocols import Pair

FEWEST = 16
"""Tokens that a model must at least be able to read."""


class LabelSettings(Settings, frozen=True):
    """Of a classifier of pairs.

    Attributes:
        max_tokens: How many tokens it reads at once, both sides together.
        labels: What each output says; a single one is the probability of itself.
        positive: The label whose probability :meth:`CrossEncoder.classify` returns.
    """

    max_tokens: Annotated[int, msgspec.Meta(ge=FEWEST)]
    labels: list[str]
    positive: str


class CrossEncoder:
    """A classifier of pairs: probabilities of its labels, or of the positive one.

    Of the right side the first half of what the model reads is kept, of the left side the end.
    Pairs are computed one at a time, since in floating point a row depends on those beside it.
    """

    def __init__(
        self,
        bundle: Bundle,
        settings: LabelSettings,
        logits: Callable[[list[int], list[int]], NDArray[np.float32]],
        cache: Cache,
        *,
        engine: str,
        threads: int,
    ) -> None:
        if settings.positive not in settings.labels:
            raise BundleError(
                f"{bundle.folder / 'card.toml'}: settings.positive: one of "
                f"{', '.join(settings.labels)} is needed, found {settings.positive!r}"
            )
        self.identity = f"{bundle.identity}/{engine}"
        self.labels = tuple(settings.labels)
        self._positive = settings.labels.index(settings.positive)
        self._tokenizer = open_tokenizer(bundle)
        self._room = settings.max_tokens - self._tokenizer.num_special_tokens_to_add(is_pair=True)
        self._logits = logits
        self._cache = cache
        self._threads = threads

    def classify(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability of the positive label for each pair, 0 to 1."""
        return [float(row[self._positive]) for row in self.label_probabilities(pairs)]

    def label_probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        """Return the probability of each label for each pair, shape ``(pairs, labels)``."""
        rows = self._cache.cached_arrays(
            self.identity,
            [(*pair.left, pair.right) for pair in pairs],
            self._computed,
            np.float32,
        )
        return np.array(rows, np.float32).reshape(-1, len(self.labels))

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is longer than half of what the model reads."""
        most = self._room // 2
        return [len(self._encoded(beginning(text, most + 1)).ids) > most for text in texts]

    def _computed(self, pairs: Sequence[tuple[str, ...]]) -> list[NDArray[np.float32]]:
        def probabilities(pair: tuple[str, ...]) -> NDArray[np.float32]:
            *left, right = pair
            read = self._joined(" ".join(left), right)
            return self._probabilities(self._logits(read.ids, read.type_ids))

        return run_apart(probabilities, pairs, self._threads)

    def _joined(self, left: str, right: str) -> Encoding:
        second = self._encoded(beginning(right, self._room // 2))
        second.truncate(self._room // 2)
        room = self._room - len(second.ids)
        first = self._encoded(ending(left, room))
        first.truncate(room, direction="left")
        return self._tokenizer.post_process(first, second, True)

    def _encoded(self, text: str) -> Encoding:
        return self._tokenizer.encode(text, add_special_tokens=False)

    def _probabilities(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        if len(logits) != len(self.labels):
            raise BundleError(
                f"{self.identity}: {len(logits)} outputs for the labels {', '.join(self.labels)}"
            )
        if len(logits) == 1:
            return np.asarray(sigmoid(logits), np.float32)
        return softmax(logits)


LONGEST = 512
"""Most tokens that are read at once: attention takes time with their square."""
NEEDED = ("config.json", "tokenizer.json")


class Config(msgspec.Struct, frozen=True):
    """What ``config.json`` of transformers says, as far as it is needed."""

    hidden_size: int = 0
    max_position_embeddings: int = LONGEST
    model_type: str = ""
    pad_token_id: int | None = None
    id2label: dict[str, str] = {}

    @property
    def positions(self) -> int:
        """How many tokens are read; RoBERTa's count begins behind the padding."""
        first = (self.pad_token_id or 0) + 1 if "roberta" in self.model_type else 0
        return min(LONGEST, self.max_position_embeddings - first)


def keep_checkpoint(source: Path, target: Path) -> dict[str, CardValue]:
    """Copy a checkpoint into a bundle, and return what its card states for its engine.

    The labels are those of the checkpoint in lower case; the positive one is ``entailment`` where
    there is one, else the last.
    """
    for name in NEEDED:
        if not (source / name).is_file():
            raise BundleError(f"{source}: no checkpoint of transformers, {name} is missing")
    graph = next((at for at in (source / "model.onnx", source / "onnx" / "model.onnx")
                  if at.is_file()), None)  # fmt: skip
    weights = sorted(path.name for path in source.glob("*.safetensors*"))
    if graph is None and not weights:
        raise BundleError(f"{source}: holds neither model.onnx nor *.safetensors")
    config = _config(source / "config.json")
    copy_files(source, target, [*NEEDED, *(weights if graph is None else ())])
    if graph is not None:
        copy_files(graph.parent, target, [graph.name])
    labels = [config.id2label[key].lower() for key in sorted(config.id2label, key=int)]
    settings: dict[str, CardValue] = {
        "max_tokens": config.positions,
        "dimensions": config.hidden_size,
    }
    if labels:
        settings["labels"] = labels
        settings["positive"] = "entailment" if "entailment" in labels else labels[-1]
    return settings


def _config(path: Path) -> Config:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Config)
    except OSError as error:
        raise BundleError(f"{path}: cannot be read: {os_reason(error)}") from error
    except msgspec.DecodeError as error:
        raise BundleError(f"{path}: no configuration of transformers: {error}") from error
