"""How likely a published language model finds replies, after their histories and alone."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    Pairs = Sequence[tuple[Sequence[str], str]]

__all__ = [
    "LAYOUTS",
    "Converted",
    "InHalfPrecision",
    "Layout",
    "Likelihood",
    "Likelihoods",
    "measure",
    "open_model",
]

BATCH = 8


class Likelihood(NamedTuple):
    """Natural logarithms of the likelihood of a reply, summed over its pieces.

    Attributes:
        given: After the history.
        alone: Without it.
        pieces: How many pieces the reply has.
    """

    given: float
    alone: float
    pieces: int


class Likelihoods(Protocol):
    """A causal language model."""

    def pieces(self, text: str) -> list[Any]:
        """Return the pieces of a text, without marks around them."""
        ...

    def sums(self, before: Sequence[list[Any]], replies: Sequence[list[Any]]) -> list[float]:
        """Return the log likelihood of each reply after the pieces before it."""
        ...


class Layout(NamedTuple):
    """How a conversation is written down for a model.

    Attributes:
        before: What stands before the reply, of the history; an empty one leaves the reply alone.
        lead: What the reply begins with.
    """

    before: Callable[[Sequence[str]], str]
    lead: str


def _lines(history: Sequence[str]) -> str:
    """Return the turns as lines of two speakers, the reply's begun.

    >>> _lines(["Hello.", "Hi!"])
    'A: Hello.\\nB: Hi!\\nA:'
    """
    lines = [f"{'AB'[(len(history) - i) % 2]}: {text}" for i, text in enumerate(history)]
    return "\n".join([*lines, "A:"])


def _titled(history: Sequence[str]) -> str:
    return f"A conversation between two friends:\n\n{_lines(history)}"


def _quoted(history: Sequence[str]) -> str:
    """Return the turns as a novel has them.

    >>> _quoted(["Hello.", "Hi!"])
    '“Hello.”\\n\\n“Hi!”\\n\\n“'
    """
    return "\n\n".join([*(f"“{text}”" for text in history), "“"])


LAYOUTS = {
    "lines": Layout(_lines, " "),
    "titled": Layout(_titled, " "),
    "quoted": Layout(_quoted, ""),
}


def measure(model: Likelihoods, layout: Layout, pairs: Pairs) -> list[Likelihood]:
    """Return the likelihood of the reply of each (history, reply) pair."""
    replies = [model.pieces(f"{layout.lead}{reply}") for _, reply in pairs]
    given = model.sums([model.pieces(layout.before(history)) for history, _ in pairs], replies)
    alone = model.sums([model.pieces(layout.before(()))] * len(pairs), replies)
    return [Likelihood(*sums) for sums in zip(given, alone, map(len, replies), strict=True)]


def open_model(folder: Path, threads: int = 1) -> Likelihoods:
    """Open a model, converted for CTranslate2 or in the format of transformers."""
    converted = (folder / "model.bin").exists()
    return Converted(folder, threads) if converted else InHalfPrecision(folder, threads)


class Converted:
    """A model in int8: of two, the faster way for a small one.

    Args:
        folder: Of ``ct2-transformers-converter --quantization int8 --copy_files tokenizer.json``.
        threads: It may use.
    """

    def __init__(self, folder: Path, threads: int = 1) -> None:
        import ctranslate2
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._model = ctranslate2.Generator(
            str(folder), compute_type="int8", inter_threads=1, intra_threads=threads
        )

    def pieces(self, text: str) -> list[str]:
        return list(self._tokenizer.encode(text, add_special_tokens=False).tokens)

    def sums(self, before: Sequence[list[str]], replies: Sequence[list[str]]) -> list[float]:
        rows = [[*first, *second] for first, second in zip(before, replies, strict=True)]
        # Padding changes what is found, by up to a nat: a batch holds what is equally long.
        alike: dict[int, list[int]] = defaultdict(list)
        for i, row in enumerate(rows):
            alike[len(row)].append(i)
        totals = [0.0] * len(rows)
        for part in alike.values():
            scored = self._model.score_batch([rows[i] for i in part], max_batch_size=BATCH)
            for i, result in zip(part, scored, strict=True):
                totals[i] = float(sum(result.log_probs[len(before[i]) - 1 :]))
        return totals


class InHalfPrecision:
    """A model as published: of two, the faster way for a large one.

    Args:
        folder: The model, in the format of transformers.
        threads: It may use.
    """

    def __init__(self, folder: Path, threads: int = 1) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        torch.set_num_threads(threads)
        self._tokenizer = AutoTokenizer.from_pretrained(folder)
        self._model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).eval()

    def pieces(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def sums(self, before: Sequence[list[int]], replies: Sequence[list[int]]) -> list[float]:
        import torch

        rows = [[*first, *second] for first, second in zip(before, replies, strict=True)]
        totals = [0.0] * len(rows)
        order = np.argsort([len(row) for row in rows])
        for part in np.array_split(order, len(order) // BATCH + 1):
            width = max(len(rows[i]) for i in part)
            ids = torch.tensor([rows[i] + [0] * (width - len(rows[i])) for i in part])
            mask = torch.tensor([[int(j < len(rows[i])) for j in range(width)] for i in part])
            with torch.inference_mode():
                states = self._model.model(input_ids=ids, attention_mask=mask).last_hidden_state
                for i, row in zip(part, states, strict=True):
                    # A state foretells the next piece; those behind the reply are padding.
                    logits = self._model.lm_head(row[len(before[i]) - 1 : len(rows[i]) - 1])
                    sure = logits.float().log_softmax(1)
                    totals[i] = float(sure[range(len(replies[i])), replies[i]].sum())
        return totals
