"""A checkpoint of transformers that learns, with its tokenizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grice.errors import ModelError
from grice.models.transformers import no_bars

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from grice_research.training.published.recipes import HyperParameters


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


class Checkpoint:
    """A checkpoint of transformers with its tokenizer.

    Args:
        base: A folder in the layout of Hugging Face.
        auto: Name of the class of transformers that opens it.
        values: The hyper-parameters.
        settings: What its configuration is to say otherwise.
    """

    def __init__(self, base: Path, auto: str, values: HyperParameters, **settings: object) -> None:
        import transformers
        from tokenizers import Tokenizer

        self.torch = torch_module()
        self.device = "cuda" if self.torch.cuda.is_available() else "cpu"
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
        self.config: Any = opened.config
        self.tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.values = values
        self._pad = int(self.config.pad_token_id or 0)

    def save(self, folder: Path) -> None:
        """Write the checkpoint in the layout of Hugging Face."""
        import transformers

        with no_bars(transformers):
            self.network.save_pretrained(folder)
        self.tokenizer.no_truncation()
        self.tokenizer.save(str(folder / "tokenizer.json"))

    def cross_entropy(self, logits: Any, targets: Sequence[int]) -> Any:  # noqa: ANN401 - tensors
        """Return the mean cross entropy of the right column of each row of logits."""
        right = self.torch.tensor(targets, device=self.device)
        return self.torch.nn.functional.cross_entropy(logits, right)

    def ids(self, texts: Sequence[str], most: int, *, special: bool = True) -> list[list[int]]:
        """Return the ids of texts, so many at most, with those that begin and end a text or not."""
        self.tokenizer.enable_truncation(most)
        encodings = self.tokenizer.encode_batch(list(texts), add_special_tokens=special)
        return [list(encoding.ids) for encoding in encodings]

    def padded(self, rows: Sequence[Sequence[int]], filler: int) -> Any:  # noqa: ANN401 - a tensor
        """Return rows as one tensor."""
        width = max(map(len, rows))
        filled = [[*row, *[filler] * (width - len(row))] for row in rows]
        return self.torch.tensor(filled, device=self.device)

    def inputs(
        self, texts: Sequence[str], seconds: Sequence[str] = (), cut: str = "longest_first"
    ) -> dict[str, Any]:
        """Return what the network reads: texts, or pairs of texts.

        Args:
            texts: The first ones.
            seconds: The second ones, as many; empty where there is none.
            cut: Which of the two is cut where both are too long.
        """
        self.tokenizer.enable_truncation(self.values.max_source, strategy=cut)
        pairs = list(zip(texts, seconds, strict=True)) if seconds else list(texts)
        encodings = self.tokenizer.encode_batch(pairs)
        given = {
            "input_ids": self.padded([encoding.ids for encoding in encodings], self._pad),
            "attention_mask": self.padded([[1] * len(e.ids) for e in encodings], 0),
        }
        if getattr(self.config, "type_vocab_size", 0) > 1:
            given["token_type_ids"] = self.padded([e.type_ids for e in encodings], 0)
        return given
