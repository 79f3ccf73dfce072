"""Networks of transformers as they learn: the loss of a batch, and what they answer right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from grice.errors import BundleError, InputError, ModelError
from grice.runtime.conversion.huggingface import read_config
from grice.runtime.transformers import no_bars

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from grice.training.published.examples import TrainingExample
    from grice.training.published.recipes import HyperParameters, Recipe

__all__ = ["Learner", "open_learner", "torch_module"]

IGNORED = -100
"""Label of a place that counts for nothing."""


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


def torch_module() -> Any:  # noqa: ANN401 - the module
    """Return torch.

    Raises:
        ModelError: If it is not installed.
    """
    try:
        import torch
        import transformers  # noqa: F401 - told of together
    except ImportError:
        raise ModelError(
            'training needs torch and transformers: pip install "grice[train]"'
        ) from None
    return torch


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
    return _TextToText(base, recipe, values) if recipe.task == "text-to-text" else (
        _Classifier(base, values)
    )  # fmt: skip


class _Checkpoint:
    """A checkpoint of transformers with its tokenizer."""

    def __init__(self, base: Path, auto: str, values: HyperParameters, **settings: object) -> None:
        import transformers
        from tokenizers import Tokenizer

        self._torch = torch_module()
        self.device = "cuda" if self._torch.cuda.is_available() else "cpu"
        auto_class: Any = getattr(transformers, auto)
        with no_bars(transformers):
            opened = auto_class.from_pretrained(
                base,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                **settings,
            )
        self.network: Any = opened.float()
        self._tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._values = values
        self._pad = int(self.network.config.pad_token_id or 0)

    def save(self, folder: Path) -> None:
        """Write the checkpoint in the layout of Hugging Face."""
        import transformers

        with no_bars(transformers):
            self.network.save_pretrained(folder)
        self._tokenizer.no_truncation()
        self._tokenizer.save(str(folder / "tokenizer.json"))

    def _ids(self, texts: Sequence[str], most: int) -> list[list[int]]:
        self._tokenizer.enable_truncation(most)
        return [list(encoding.ids) for encoding in self._tokenizer.encode_batch(list(texts))]

    def _padded(self, rows: Sequence[Sequence[int]], filler: int) -> Any:  # noqa: ANN401 - a tensor
        width = max(map(len, rows))
        filled = [[*row, *[filler] * (width - len(row))] for row in rows]
        return self._torch.tensor(filled, device=self.device)

    def _inputs(self, texts: Sequence[str]) -> dict[str, Any]:
        rows = self._ids(texts, self._values.max_source)
        return {
            "input_ids": self._padded(rows, self._pad),
            "attention_mask": self._padded([[1] * len(row) for row in rows], 0),
        }


class _TextToText(_Checkpoint):
    """An encoder-decoder."""

    measure = "share of held-out texts that are likelier than another one of their kind"

    def __init__(self, base: Path, recipe: Recipe, values: HyperParameters) -> None:
        super().__init__(base, "AutoModelForSeq2SeqLM", values)
        if recipe.kind == "comet":
            self._add_pieces()

    def loss(self, examples: Sequence[TrainingExample]) -> Any:  # noqa: ANN401 - a tensor
        """Return the cross entropy of the pieces of the targets."""
        labels = self._labels([example.target for example in examples])
        return self.network(
            **self._inputs([example.source for example in examples]), labels=labels
        ).loss

    def rights(self, examples: Sequence[TrainingExample]) -> list[float]:
        """Return whether each target is likelier, a piece, than another target after its source."""
        others = [_other(examples, i) for i in range(len(examples))]
        own = self._likelihoods(examples, [example.target for example in examples])
        foreign = self._likelihoods(examples, others)
        return [float(a > b) if a != b else 0.5 for a, b in zip(own, foreign, strict=True)]

    def _likelihoods(
        self, examples: Sequence[TrainingExample], targets: Sequence[str]
    ) -> list[float]:
        torch, means = self._torch, []
        with torch.inference_mode():
            for example, target in zip(examples, targets, strict=True):
                given = self._inputs([example.source])
                means.append(-float(self.network(**given, labels=self._labels([target])).loss))
        return means

    def _labels(self, targets: Sequence[str]) -> Any:  # noqa: ANN401 - a tensor
        return self._padded(self._ids(targets, self._values.max_target), IGNORED)

    def _add_pieces(self) -> None:
        """Add the names of relations and ``[GEN]`` to the vocabulary, as pieces of their own."""
        from grice.knowledge.comet import GENERATE
        from grice.knowledge.schema import load_schema

        added = self._tokenizer.add_tokens([GENERATE, *load_schema("atomic2020").relations])
        size = self._tokenizer.get_vocab_size()
        if added and size > self.network.config.vocab_size:
            self.network.resize_token_embeddings(size, mean_resizing=False)


class _Classifier(_Checkpoint):
    """A classifier of texts by two labels; its head is new unless the checkpoint has one."""

    measure = "share of held-out texts whose label is told right"

    def __init__(self, base: Path, values: HyperParameters) -> None:
        super().__init__(base, "AutoModelForSequenceClassification", values, num_labels=2)

    def loss(self, examples: Sequence[TrainingExample]) -> Any:  # noqa: ANN401 - a tensor
        """Return the cross entropy of the labels."""
        labels = self._torch.tensor(
            [int(example.target) for example in examples], device=self.device
        )
        return self.network(
            **self._inputs([example.source for example in examples]), labels=labels
        ).loss

    def rights(self, examples: Sequence[TrainingExample]) -> list[float]:
        """Return whether the label of each is the likelier one."""
        right = []
        with self._torch.inference_mode():
            for example in examples:
                logits = self.network(**self._inputs([example.source])).logits[0].tolist()
                label = int(logits[1] > logits[0])
                right.append(float(label == int(example.target)))
        return right


def _other(examples: Sequence[TrainingExample], place: int) -> str:
    """Return the next target that differs, of the same kind if there is one."""
    own = examples[place]
    around = [*examples[place + 1 :], *examples[:place]]
    differing = [example for example in around if example.target != own.target]
    if not differing:
        raise InputError("all held-out targets are the same: there is nothing to compare with")
    return next((example for example in differing if example.kind == own.kind), differing[0]).target
