"""A guide for models of transformers, as a logits processor (``grice[transformers]``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grice.errors import InputError
from grice_tasks.steering.guide import check_strength

if TYPE_CHECKING:
    import torch

    from grice_tasks.steering.guide import Guide


class GuideLogitsProcessor:
    """Multiplies next-token probabilities by a guide's estimate, for one call of ``generate``.

    Give it as ``logits_processor=[...]``. Where tokens are drawn, ask for the temperature that the
    guide was trained at, ``guide.settings.temperature``; the likeliest tokens are those of
    ``grice steer``, up to the arithmetic of the model.

    Args:
        guide: Was trained for the same model.
        prompt_length: Tokens of the prompts, with their padding: ``input_ids.shape[1]``.
        strength: Exponent of the estimate; 0 leaves the model as it is.

    Raises:
        InputError: For a strength that is negative, infinite or not a number.
    """

    def __init__(self, guide: Guide, *, prompt_length: int, strength: float = 1.0) -> None:
        check_strength(strength)
        self._guide, self._prompt_length = guide, prompt_length
        self._factor = np.float32(strength * guide.settings.temperature)

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.Tensor:
        """Return the logits of a batch with the guide's part, on the device where they were.

        Args:
            input_ids: Prompts and what was written, shape ``(batch, tokens)``.
            scores: Logits or log probabilities, shape ``(batch, vocabulary)``.
        """
        size = len(self._guide.space.vectors)
        if scores.shape[-1] != size:
            raise InputError(
                f"the guide was trained for {self._guide.settings.base}, a model of {size:,} "
                f"tokens, and this one has {scores.shape[-1]:,}"
            )
        if not self._factor:
            return scores
        before = input_ids[:, self._prompt_length :].tolist()
        rows = scores.detach().float().cpu().numpy()
        estimates = [
            self._guide.log_estimate(row, ids) for row, ids in zip(rows, before, strict=True)
        ]
        return scores + scores.new_tensor(self._factor * np.stack(estimates))
