"""A course of training: steps over shuffled examples, kept so that it can go on after any end."""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from grice.errors import BundleError, InputError
from grice.files import make_folder, write_lines
from grice.progress import track
from grice_research.training.published.checkpoint import torch_module

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from grice_research.training.published.files import TrainingExample
    from grice_research.training.published.learner import Learner
    from grice_research.training.published.recipes import HyperParameters

STATE, CURVE = "state.pt", "curve.jsonl"
KEEP = 500
"""Steps after which the state is written, beside the end of every epoch."""


class Point(msgspec.Struct, frozen=True):
    """A point of the loss curve: mean loss of the steps since the last one."""

    epoch: int
    step: int
    loss: float
    learning_rate: float


def run_course(
    learner: Learner,
    examples: Sequence[TrainingExample],
    values: HyperParameters,
    folder: Path,
) -> list[Point]:
    """Train, or finish what was begun in the folder, and return the loss curve.

    The order of an epoch depends on the seed and its number alone, and the state of the generator
    of dropout is kept: a course that was ended in the middle gives what an undisturbed one gives.

    Args:
        learner: The network; its weights change.
        examples: What it learns from.
        values: The hyper-parameters.
        folder: Of the state and the curve; made if need be.

    Raises:
        InputError: If the folder holds a course with other examples or values.
    """
    make_folder(folder)
    return _Course(learner, examples, values, folder).run()


class _Course:
    def __init__(
        self,
        learner: Learner,
        examples: Sequence[TrainingExample],
        values: HyperParameters,
        folder: Path,
    ) -> None:
        self._torch = torch_module()
        self._learner, self._examples, self._values = learner, examples, values
        self._folder = folder
        self._of = sha256(msgspec.json.encode((values, list(examples)))).hexdigest()
        self._each = -(-len(examples) // values.batch)
        self._total = self._each * values.epochs
        learner.network.to(learner.device).train()
        # Fused, a step over all weights takes an eighth of the time, on a CPU too.
        self._optimizer = self._torch.optim.AdamW(
            self._groups(), lr=values.learning_rate, fused=True
        )
        self._step = 0
        self._losses: list[float] = []
        self._curve: list[Point] = []

    def run(self) -> list[Point]:
        self._resume()
        for step in track(range(self._step, self._total), "steps", self._total - self._step):
            epoch, place = divmod(step, self._each)
            self._losses.append(self._learn(self._batch(epoch, place), step))
            self._step = step + 1
            ends = place + 1 == self._each
            if ends or self._step % KEEP == 0:
                self._keep(epoch)
        self._learner.network.eval()
        return self._curve

    def _learn(self, batch: Sequence[TrainingExample], step: int) -> float:
        rate = self._rate(step)
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        half = self._values.precision == "bfloat16"
        with self._torch.autocast(self._learner.device, self._torch.bfloat16, enabled=half):
            loss = self._learner.loss(batch)
        value = float(loss.detach())
        if not np.isfinite(value):
            raise InputError(
                f"the loss is {value} at step {step + 1}: lower the rate, --set learning_rate="
            )
        self._optimizer.zero_grad()
        loss.backward()
        if self._values.clip:
            weights = self._learner.network.parameters()
            self._torch.nn.utils.clip_grad_norm_(weights, self._values.clip)
        self._optimizer.step()
        return value

    def _rate(self, step: int) -> float:
        values = self._values
        if step < values.warmup_steps:
            return values.learning_rate * step / values.warmup_steps
        if values.schedule == "constant":
            return values.learning_rate
        left = (self._total - step) / max(1, self._total - values.warmup_steps)
        return values.learning_rate * max(0.0, left)

    def _batch(self, epoch: int, place: int) -> list[TrainingExample]:
        order = np.random.default_rng((self._values.seed, epoch)).permutation(len(self._examples))
        size = self._values.batch
        return [self._examples[i] for i in order[place * size : (place + 1) * size]]

    def _groups(self) -> list[dict[str, Any]]:
        """Return the weights in two groups: biases and norms do not decay."""
        named = dict(self._learner.network.named_parameters())
        plain = [name for name in named if name.endswith("bias") or "norm" in name.lower()]
        return [
            {
                "params": [weight for name, weight in named.items() if name not in plain],
                "weight_decay": self._values.weight_decay,
            },
            {"params": [named[name] for name in plain], "weight_decay": 0.0},
        ]

    def _keep(self, epoch: int) -> None:
        mean = float(np.mean(self._losses))
        self._losses = []
        rate = float(self._optimizer.param_groups[0]["lr"])
        self._curve.append(Point(epoch + 1, self._step, mean, rate))
        state = {
            "of": self._of,
            "step": self._step,
            "network": self._learner.network.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "random": self._torch.get_rng_state(),
            "curve": [msgspec.to_builtins(point) for point in self._curve],
        }
        path = self._folder / STATE
        fresh = path.with_suffix(".new")
        self._torch.save(state, fresh)
        os.replace(fresh, path)  # noqa: PTH105 - whole, or as it was
        lines = [msgspec.json.encode(point) + b"\n" for point in self._curve]
        write_lines(self._folder / CURVE, lines)

    def _resume(self) -> None:
        path = self._folder / STATE
        if not path.exists():
            self._torch.manual_seed(self._values.seed)
            return
        try:
            state = self._torch.load(path, map_location="cpu", weights_only=True)
            of = state["of"]
        except Exception as error:
            raise BundleError(f"{path}: cannot be read: {error}; remove {self._folder}") from error
        if of != self._of:
            raise InputError(
                f"{self._folder}: holds a training with other data or hyper-parameters; give "
                "another --output, or remove that folder"
            )
        self._learner.network.load_state_dict(state["network"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._torch.set_rng_state(state["random"])
        self._step = int(state["step"])
        self._curve = [msgspec.convert(point, Point) for point in state["curve"]]
