"""One record for every task: how it is read, answered, scored, and which baselines stand beside.

>>> from grice_tasks.task import tasks
>>> sorted(tasks())
['cider', 'explagraphs', 'situatedgen']
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from grice.models.loader import ModelLoader
    from grice.stats.estimate import Estimate

Sample = TypeVar("Sample")
Answer = TypeVar("Answer")

TASKS = ("cider", "explagraphs", "situatedgen")
"""Sub-packages with a module ``task`` that holds ``TASK``."""


@dataclass(frozen=True)
class Task(Generic[Sample, Answer]):
    """A task as a record of functions.

    Attributes:
        name: The name, that of its command too.
        read: Read the samples of a file, with their gold answers.
        models: Open the models that ship for the task.
        predict: Answer samples by these models, in order; gold answers are not looked at.
        score: Compare answers with the gold ones: the mean of each measure over the samples, with
            its 95 % interval.
        baselines: Answer samples by rules that need no understanding, by the name of the rule.
    """

    name: str
    read: Callable[[Path], list[Sample]]
    models: Callable[[ModelLoader], Any]
    predict: Callable[[Any, Sequence[Sample]], list[Answer]]
    score: Callable[[Sequence[Sample], Sequence[Answer]], Mapping[str, Estimate]]
    baselines: Callable[[Sequence[Sample]], Mapping[str, list[Answer]]]

    def table(
        self, samples: Sequence[Sample], answers: Sequence[Answer]
    ) -> dict[str, Mapping[str, Estimate]]:
        """Score answers, and below them every baseline on the same samples."""
        rows = {"system": answers, **self.baselines(samples)}
        return {name: self.score(samples, row) for name, row in rows.items()}


def tasks() -> dict[str, Task[Any, Any]]:
    """Return every task by its name.

    Steering is none: it has no gold answers, so that nothing could be scored against them.
    """
    return {name: import_module(f"grice_tasks.{name}.task").TASK for name in TASKS}
