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
    """A task as a record of functions."""

    name: str  # also of its command
    read: Callable[[Path], list[Sample]]  # samples of a file, with their gold answers
    models: Callable[[ModelLoader], Any]  # open the models that ship for the task
    predict: Callable[[Any, Sequence[Sample]], list[Answer]]  # gold answers are not used
    score: Callable[[Sequence[Sample], Sequence[Answer]], Mapping[str, Estimate]]  # means
    baselines: Callable[[Sequence[Sample]], Mapping[str, list[Answer]]]  # trivial answers by rule

    def table(
        self, samples: Sequence[Sample], answers: Sequence[Answer]
    ) -> dict[str, Mapping[str, Estimate]]:
        """Score answers, and below them every baseline on the same samples."""
        rows = {"system": answers, **self.baselines(samples)}
        return {name: self.score(samples, row) for name, row in rows.items()}


def tasks() -> dict[str, Task[Any, Any]]:
    """Return every task by its name; steering is none, for it has no gold answers."""
    return {name: import_module(f"grice_tasks.{name}.task").TASK for name in TASKS}
