"""Networks of transformers as they learn: the loss of a batch, and what they answer right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from grice.errors import BundleError
from grice.runtime.conversion.huggingface import read_config
from grice.training.published.checkpoint import IGNORED, Checkpoint, torch_module
from grice.training.published.classifiers import (
    Chooser,
    Classifier,
    SpanReader,
    likelier,
    next_other,
)
from grice.training.published.frozen import ReplyNetwork

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from grice.training.published.files import TrainingExample
    from grice.training.published.recipes import HyperParameters, Recipe


class Learner(Protocol):
    """A network that learns, whatever its task.

    Attributes:
        network: The module of torch.
        device: Where it is computed.
        measure: What :meth:`rights` says.
    """

    network: Any
    device: str
    measure: str

    def loss(self, examples: Sequence[TrainingExample]) -> Any:  # noqa: ANN401 - a tensor
        """Return the mean loss of a batch, as a tensor that can be differentiated."""
        ...

    def rights(self, examples: Sequence[TrainingExample]) -> list[float]:
        """Return of each held-out example whether it is answered right: 1, 0, or 0.5 for a tie."""
        ...

    def save(self, folder: Path) -> None:
        """Write the checkpoint in the layout of Hugging Face."""
        ...


def open_learner(recipe: Recipe, base: Path, values: HyperParameters) -> Learner:
    """Open the checkpoint that training starts from.

    Args:
        recipe: What is trained.
        base: A folder with ``config.json``, ``*.safetensors`` and ``tokenizer.json``.
        values: The hyper-parameters.

    Raises:
        ModelError: If torch is missing.
        BundleError: If a file is missing, or the checkpoint is of another family.
    """
    family = str(read_config(base).get("model_type"))
    if family not in recipe.families:
        raise BundleError(
            f"{base}: {recipe.name} starts from {' or '.join(recipe.families)} ({recipe.base} in "
            f"the paper), not from {family!r}"
        )
    if not any(base.glob("*.safetensors")):
        raise BundleError(f"{base}: *.safetensors is missing")
    if not (base / "tokenizer.json").is_file():
        raise BundleError(f"{base}: tokenizer.json is missing")
    torch = torch_module()
    torch.manual_seed(values.seed)
    if recipe.task == "text-to-text":
        return _TextToText(base, recipe, values)
    if recipe.task == "classification":
        return Classifier(base, recipe, values)
    if recipe.task == "replies":
        return ReplyNetwork(base, recipe, values)
    return Chooser(base, values) if recipe.task == "choice" else SpanReader(base, values)


class _TextToText(Checkpoint):
    """An encoder-decoder."""

    measure = "share of held-out texts that are likelier than another one of their kind"

    def __init__(self, base: Path, recipe: Recipe, values: HyperParameters) -> None:
        super().__init__(base, "AutoModelForSeq2SeqLM", values)
        self._prefix = recipe.prefix.get(self.network.config.model_type, "")
        if recipe.kind == "comet":
            self._add_pieces()

    def loss(self, examples: Sequence[TrainingExample]) -> Any:  # noqa: ANN401 - a tensor
        """Return the cross entropy of the pieces of the targets."""
        labels = self._labels([example.target for example in examples])
        return self.network(**self._sources(examples), labels=labels).loss

    def rights(self, examples: Sequence[TrainingExample]) -> list[float]:
        """Return whether each target is likelier, a piece, than another target after its source."""
        others = [next_other(examples, i).target for i in range(len(examples))]
        own = self._likelihoods(examples, [example.target for example in examples])
        foreign = self._likelihoods(examples, others)
        return [likelier(a, b) for a, b in zip(own, foreign, strict=True)]

    def _sources(self, examples: Sequence[TrainingExample]) -> dict[str, Any]:
        return self.inputs([f"{self._prefix}{example.source}" for example in examples])

    def _likelihoods(
        self, examples: Sequence[TrainingExample], targets: Sequence[str]
    ) -> list[float]:
        torch, means = self.torch, []
        with torch.inference_mode():
            for example, target in zip(examples, targets, strict=True):
                given = self._sources([example])
                means.append(-float(self.network(**given, labels=self._labels([target])).loss))
        return means

    def _labels(self, targets: Sequence[str]) -> Any:  # noqa: ANN401 - a tensor
        return self.padded(self.ids(targets, self.values.max_target), IGNORED)

    def _add_pieces(self) -> None:
        """Add the names of relations and ``[GEN]`` to the vocabulary, as pieces of their own."""
        from grice.knowledge.comet import GENERATE
        from grice.knowledge.schema import load_schema

        added = self.tokenizer.add_tokens([GENERATE, *load_schema("atomic2020").relations])
        size = self.tokenizer.get_vocab_size()
        if added and size > self.network.config.vocab_size:
            self.network.resize_token_embeddings(size, mean_resizing=False)
