"""Replies of a language model that a guide steers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.errors import InputError
from grice.models.protocols import Generated
from grice.models.stepwise import drawn
from grice_tasks.steering.guide import check_strength

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grice.models.protocols import SteerableLM, Vector
    from grice_tasks.steering.guide import Guide


def likeliest(logits: Vector, before: Sequence[int]) -> int:
    """Return the likeliest token: what the model says as it is."""
    del before
    return int(logits.argmax())


class GuidedChoice:
    """Chooses the tokens of a reply with a guide; see :class:`grice.models.stepwise.Chooser`.

    Args:
        guide: The guide.
        strength: Exponent of its estimate; 0 is the base, 1 the distribution given the label.
        draw: Gives a number from 0 to 1 for each token, by which it is drawn; None takes the
            likeliest token.
        first: How many likelier tokens are passed over at the beginning.
    """

    def __init__(
        self,
        guide: Guide,
        strength: float = 1.0,
        draw: Callable[[], float] | None = None,
        *,
        first: int = 0,
    ) -> None:
        check_strength(strength)
        self._guide, self._strength = guide, strength
        self._draw, self._first = draw, first

    def __call__(self, logits: Vector, before: Sequence[int]) -> int:
        """Return the id of the next token."""
        weighed = self._guide.weighed(logits, before, self._strength)
        if self._first and not before:
            order = (-weighed).argsort(kind="stable")
            return int(order[min(self._first, len(order) - 1)])
        return int(weighed.argmax()) if self._draw is None else drawn(weighed, self._draw())


class GuidedGenerator:
    """Writes alternatives as a causal generator does, under a guide.

    Args:
        model: The base model.
        guide: What steers it.
        strength: Exponent of the guide's estimate.
    """

    def __init__(self, model: SteerableLM, guide: Guide, strength: float = 1.0) -> None:
        guide.check(model)
        check_strength(strength)
        self._model, self._guide, self._strength = model, guide, strength

    def alternatives(
        self, prompts: Sequence[str], *, count: int, stop: str = "\n", max_tokens: int = 64
    ) -> list[tuple[Generated, ...]]:
        """Return texts that begin with the likeliest guided tokens and go on with the best.

        No log probability is known of them: it is 0.

        Args:
            prompts: What is continued.
            count: How many texts of each.
            stop: Characters before which a text ends.
            max_tokens: Longest text.
        """
        if count < 1:
            raise InputError(f"{count} texts: at least one is needed")
        written = iter(
            self._model.choose(
                [prompt for prompt in prompts for _ in range(count)],
                [
                    GuidedChoice(self._guide, self._strength, first=place)
                    for _ in prompts
                    for place in range(count)
                ],
                stop=stop,
                max_tokens=max_tokens,
            )
        )
        return [tuple(Generated(next(written).text, 0.0) for _ in range(count)) for _ in prompts]
