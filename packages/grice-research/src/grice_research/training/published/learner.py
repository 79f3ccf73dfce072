"""A network that learns, whatever its task."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from grice.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from grice_research.training.published.checkpoint import Checkpoint
    from grice_research.training.published.files import TrainingExample


class Learner(NamedTuple):
    """A network that learns, with what its task makes of examples.

    Attributes:
        network: The module of torch whose weights change.
        device: Where it is computed.
        measure: What ``rights`` says.
        loss: Gives the mean loss of a batch, as a tensor that can be differentiated.
        rights: Gives of each held-out example whether it is answered right: 1, 0, or 0.5 for a tie.
        save: Writes the checkpoint in the layout of Hugging Face into a folder.
    """

    network: Any
    device: str
    measure: str
    loss: Callable[[Sequence[TrainingExample]], Any]
    rights: Callable[[Sequence[TrainingExample]], list[float]]
    save: Callable[[Path], None]


def learner_of(
    checkpoint: Checkpoint,
    measure: str,
    loss: Callable[[Checkpoint, Sequence[TrainingExample]], Any],
    other: Callable[[Sequence[TrainingExample], int], str],
) -> Learner:
    """Return a checkpoint that learns a task.

    An example is answered right if its loss is smaller than that of the same with another target.

    Args:
        measure: What that says of the task.
        loss: Gives the mean loss of a batch.
        other: Gives the other target of the example at a place.
    """

    def rights(examples: Sequence[TrainingExample]) -> list[float]:
        right = []
        with checkpoint.torch.inference_mode():
            for place, example in enumerate(examples):
                against = example._replace(target=other(examples, place))
                own, foreign = (-float(loss(checkpoint, [each])) for each in (example, against))
                right.append(likelier(own, foreign))
        return right

    return Learner(
        checkpoint.network, checkpoint.device, measure, partial(loss, checkpoint), rights,
        checkpoint.save,
    )  # fmt: skip


def next_other(examples: Sequence[TrainingExample], place: int) -> str:
    """Return the target of the next example that has another, of the same kind if there is one.

    Raises:
        InputError: If there is none.
    """
    own = examples[place]
    around = [*examples[place + 1 :], *examples[:place]]
    differing = [example for example in around if example.target != own.target]
    if not differing:
        raise InputError("all held-out targets are the same: there is nothing to compare with")
    return next((each for each in differing if each.kind == own.kind), differing[0]).target


def likelier(own: float, other: float) -> float:
    """Return 1 if the first is larger, 0 if the second is, 0.5 if neither."""
    return 0.5 if own == other else float(own > other)
