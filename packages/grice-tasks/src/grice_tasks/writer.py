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
    from collections.abc import Sequence

    from grice.models.loader import ModelLoader

BASELINE = (
    "a baseline that needs no language model: the form is right, the content mostly is not; "
    "--models large writes with a language model"
)
MODELS = {"medium": "model:medium", "large": "model:large"}
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


class Writer:
    """A language model that writes candidates after examples, and chooses between texts."""

    def __init__(self, model: EmbeddedCausalLM) -> None:
        self.identity = model.identity
        self._model, self._decoder = model, SteerableLM(model, share=2)

    @classmethod
    def open(cls, models: ModelLoader, reference: str) -> Writer:
        """Open a language model as a writer."""
        return cls(models.load(reference, EmbeddedCausalLM))

    def write(self, prompt: str, *, count: int, max_tokens: int) -> list[str]:
        """Return different lines after a prompt: one for each of the likeliest first tokens."""
        written = self._decoder.alternatives(prompt, count=count, max_tokens=max_tokens)
        return list(dict.fromkeys(filter(None, written)))

    def agrees(self, questions: Sequence[str]) -> list[float]:
        """Return how much likelier ``Yes`` is than ``No`` as the answer to each question (nats)."""
        prompts = [
            [PromptPart(ASKED.format(question)), PromptPart(word, target=True)]
            for question in questions
            for word in ("Yes", "No")
        ]
        scores = [
            float(np.mean([token.log_probability for token in tokens] or [0.0]))
            for (tokens,) in self._model.token_scores(prompts)
        ]
        return [yes - no for yes, no in zip(scores[::2], scores[1::2], strict=True)]
