"""Texts of tasks by a language model: few examples, several candidates, the best by checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grice.cli.output import note
from grice.errors import InputError
from grice.models.causal import EmbeddedCausalLM
from grice.models.protocols import PromptPart
from grice_tasks.steering.decoding import SteerableLM

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grice.models.loader import ModelLoader
    from grice.models.protocols import Vector

BASELINE = (
    "a baseline that needs no language model: the form is right, the content mostly is not; "
    "--models large writes with a language model"
)
MODELS = {"medium": "model:medium", "large": "model:large"}
TRIED = 20000  # most probable tokens among which one that a grammar allows is taken
TEMPERATURE = 0.7
ASKED = "<|im_start|>user\n{} Answer yes or no.<|im_end|>\n<|im_start|>assistant\n"


def chosen_model(models: str | None, model: str, shipped: str) -> str:
    """Return the model that writes: that of ``--models`` if given; say what a baseline is."""
    from grice.scoring.api import SMALL, default_preset

    preset = models or default_preset()
    if model == shipped and preset in MODELS:
        return MODELS[preset]
    if models not in (None, SMALL, *MODELS):
        raise InputError(f"--models {models}: small, medium or large; or name a --model")
    if model == shipped:
        note(BASELINE)
    return model


class Allowed:
    """Samples tokens whose text a grammar allows; the most probable one at temperature 0."""

    def __init__(
        self,
        decode: Callable[[Sequence[int]], str],
        allows: Callable[[str], bool],
        temperature: float,
        seed: int,
    ) -> None:
        self._decode, self._allows, self._temperature = decode, allows, temperature
        self._random = np.random.default_rng(seed)

    def __call__(self, logits: Vector, before: Sequence[int]) -> int:
        """Return the next token: of those that are allowed, the first by Gumbel noise."""
        noise = self._random.gumbel(size=len(logits)) if self._temperature else 0.0
        order = np.argsort(-(logits + self._temperature * noise), kind="stable")[:TRIED]
        so_far = self._decode(before)
        for token in order:
            text = self._decode([*before, int(token)])
            # A token without a text ends the line.
            if self._allows(f"{so_far}\n" if text == so_far else text):
                return int(token)
        return int(order[0])


class Writer:
    """A language model that writes candidates after examples, and chooses between texts."""

    def __init__(self, model: EmbeddedCausalLM) -> None:
        self.identity = model.identity
        self._model, self._decoder = model, SteerableLM(model, share=2)

    @classmethod
    def open(cls, models: ModelLoader, reference: str) -> Writer:
        """Open a language model as a writer."""
        return cls(models.load(reference, EmbeddedCausalLM))

    def write(
        self, prompt: str, allows: Callable[[str], bool], *, count: int, max_tokens: int
    ) -> list[str]:
        """Return different lines after a prompt: the most probable one, and samples."""
        selectors = [
            Allowed(self._decoder.text, allows, TEMPERATURE if number else 0.0, number)
            for number in range(count)
        ]
        written = self._decoder.decode([prompt] * count, selectors, max_tokens=max_tokens)
        return list(dict.fromkeys(each.text for each in written if each.text))

    def agrees(self, questions: Sequence[str]) -> list[float]:
        """Return how much likelier ``Yes`` is than ``No`` as the answer to each question (nats)."""
        asked = [(ASKED.format(question), word) for question in questions for word in ("Yes", "No")]
        scores = self.sense(asked)
        return [yes - no for yes, no in zip(scores[::2], scores[1::2], strict=True)]

    def sense(self, texts: Sequence[tuple[str, str]]) -> list[float]:
        """Return the mean log probability per token (nats) of each text after its context."""
        prompts = [[PromptPart(before), PromptPart(text, target=True)] for before, text in texts]
        return [
            float(np.mean([token.log_probability for token in tokens] or [0.0]))
            for (tokens,) in self._model.token_scores(prompts)
        ]
