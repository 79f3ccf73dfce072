"""Models as transformers opens them (``grice[transformers]``), where nothing faster can.

The folder of a checkpoint with a card beside it: ``config.json``, ``*.safetensors`` and
``tokenizer.json``. It is opened offline, from safetensors alone, and no code that came with it
runs. Computed is in float32; on a GPU if there is one.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from grice.errors import BundleError, ModelError
from grice.models.causal import CausalSettings
from grice.models.labels import CrossEncoder, LabelSettings, keep_checkpoint
from grice.models.loader import model_type
from grice.models.passages import (
    PassageTokenizer,
    mean_log_probabilities,
    passage_scores,
    read_in_windows,
)
from grice.models.protocols import CausalLM, PairClassifier
from grice.models.tokenization import open_tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

    from numpy.typing import NDArray

    from grice.models.bundle import Bundle
    from grice.models.cache import Cache
    from grice.models.loader import ModelLoader
    from grice.models.protocols import Passage, TokenScore


class _Network:
    """A network of transformers on the device that is there."""

    def __init__(self, bundle: Bundle, auto: str) -> None:
        try:
            import torch
            import transformers
        except ImportError:
            raise ModelError(
                f"{bundle.folder}: a model of kind {bundle.card.kind} runs on transformers: "
                'pip install "grice[transformers]"'
            ) from None
        self.torch: Any = torch
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.engine = f"transformers-{transformers.__version__}/torch-{torch.__version__}"
        auto_class: Any = getattr(transformers, auto)
        with no_bars(transformers):
            opened, report = auto_class.from_pretrained(
                bundle.folder,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                output_loading_info=True,
            )
        # They would be drawn at random.
        if missing := sorted(report["missing_keys"]):
            raise BundleError(f"{bundle.folder}: weight {missing[0]} is missing")
        self._model = opened.float().eval().to(self.device)
        self.config = opened.config

    def logits(self, **given: list[int]) -> Any:  # noqa: ANN401 - a tensor
        """Return the outputs for one text."""
        torch = self.torch
        arrays = {k: torch.tensor([v], device=self.device) for k, v in given.items()}
        with torch.inference_mode():
            return self._model(**arrays).logits[0]


@contextmanager
def no_bars(transformers: ModuleType) -> Iterator[None]:
    """Keep the library from drawing a bar for weights that are there in a moment.

    Nor does it report heads that are new, as those that are to be trained are.
    """
    bars = transformers.utils.logging
    shown, told = bars.is_progress_bar_enabled(), bars.get_verbosity()
    bars.disable_progress_bar()
    bars.set_verbosity_error()
    try:
        yield
    finally:
        bars.set_verbosity(told)
        if shown:
            bars.enable_progress_bar()


class TransformersCausalLM:
    """A causal language model; see :class:`~grice.models.causal.EmbeddedCausalLM`."""

    def __init__(self, bundle: Bundle, settings: CausalSettings, cache: Cache) -> None:
        self._network = _Network(bundle, "AutoModelForCausalLM")
        self.identity = f"{bundle.identity}/{self._network.engine}"
        self._max_tokens = settings.max_tokens
        self._tokenizer = PassageTokenizer(bundle, settings.max_tokens)
        self._vocabulary = open_tokenizer(bundle)
        self._cache = cache

    def token_scores(self, passages: Sequence[Passage]) -> list[list[list[TokenScore]]]:
        """Return for each passage the tokens of each of its scored segments, in order."""
        return passage_scores(passages, self._tokenizer, self._computed, self._cache, self.identity)

    def log_probabilities(self, prompts: Sequence[str], texts: Sequence[str]) -> list[float]:
        """Return the mean log probability of the tokens of each text after its prompt, at most 0.

        See :func:`~grice.models.passages.mean_log_probabilities`.
        """
        return mean_log_probabilities(self, prompts, texts)

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is longer than half of what the model reads."""
        return self._tokenizer.truncated(texts)

    def _computed(self, rows: Sequence[tuple[str, ...]]) -> list[list[float]]:
        # One text at a time, by all threads of torch.
        return read_in_windows(
            rows,
            lambda windows: [self._log_probabilities(window) for window in windows],
            max_tokens=self._max_tokens,
            together=1,
            threads=1,
        )

    def _log_probabilities(self, tokens: Sequence[str]) -> list[float]:
        # Every piece is one of the vocabulary: it came out of the same tokenizer.
        ids = [self._vocabulary.token_to_id(token) or 0 for token in tokens]
        logits = self._network.logits(input_ids=ids)
        values = logits[:-1].log_softmax(-1)
        taken = self._network.torch.tensor(ids[1:], device=self._network.device)
        chosen: list[float] = values.gather(-1, taken[:, None])[:, 0].tolist()
        return chosen


@model_type(
    "transformers-lm",
    task="likelihood",
    protocol=CausalLM,
    settings=CausalSettings,
    convert=keep_checkpoint,
)
def transformers_causal_lm(
    bundle: Bundle, settings: CausalSettings, loader: ModelLoader
) -> TransformersCausalLM:
    """Open a causal language model."""
    return TransformersCausalLM(bundle, settings, loader.cache)


def _cross_encoder(bundle: Bundle, settings: LabelSettings, loader: ModelLoader) -> CrossEncoder:
    network = _Network(bundle, "AutoModelForSequenceClassification")
    types = int(getattr(network.config, "type_vocab_size", 0) or 0) > 1

    def logits(ids: list[int], type_ids: list[int]) -> NDArray[np.float32]:
        given = {"input_ids": ids, "attention_mask": [1] * len(ids)}
        output = network.logits(**given, **({"token_type_ids": type_ids} if types else {}))
        return np.asarray(output.cpu().numpy(), np.float32)

    return CrossEncoder(bundle, settings, logits, loader.cache, engine=network.engine, threads=1)


transformers_classifier = model_type(
    "transformers-classifier",
    task="relevance",
    protocol=PairClassifier,
    settings=LabelSettings,
    convert=keep_checkpoint,
)(_cross_encoder)
"""Opens a classifier of two texts, by how well they go together."""

transformers_nli = model_type(
    "transformers-nli",
    task="entailment",
    protocol=PairClassifier,
    settings=LabelSettings,
    convert=keep_checkpoint,
)(_cross_encoder)
"""Opens a classifier of a premise and a hypothesis."""
