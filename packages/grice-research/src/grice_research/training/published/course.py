"""A training over shuffled examples, whose state is kept so that it can go on after an abort."""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from grice.errors import InputError, ModelFolderError
from grice.files import make_folder, write_lines
from grice.progress import track
from grice_research.training.published.examples import TrainingExample
from grice_research.training.published.learners import Learner, torch_module

STATE, CURVE, BEST = "state.pt", "curve.jsonl", "best.pt"
KEEP = 500  # steps after which the state is written; it is also written after every epoch


class Point(msgspec.Struct, frozen=True):
    """A point of the loss curve: mean loss of the steps since the last one."""

    epoch: int
    step: int
    loss: float
    learning_rate: float
    validation: float | None = None  # loss of the validation examples after an epoch


class Course:
    """A training, or the rest of one that was begun in the folder.

    The order of an epoch depends on the seed and its number alone, and the state of the random
    generator is kept: a training that was aborted gives the same weights as an undisturbed one.
    """

    def __init__(
        self,
        learner: Learner,
        examples: Sequence[TrainingExample],
        folder: Path,
        validation: Sequence[TrainingExample] = (),
    ) -> None:
        values = learner.values
        learner.begin(examples)
        self._validation = (
            validation  # of which the lowest loss chooses the epoch, if there are any
        )
        make_folder(folder)
        self._torch, self._folder = torch_module(), folder
        self._learner, self._examples, self._values = learner, examples, values
        self._of = sha256(msgspec.json.encode((values, list(examples)))).hexdigest()
        self._each = -(-len(examples) // values.batch)
        self._total = self._each * values.epochs
        learner.network.to(learner.device).train()
        # Fused, a step over all weights takes an eighth of the time, on a CPU too.
        optimizer = self._torch.optim.AdamW
        self._optimizer = optimizer(self._groups(), lr=values.learning_rate, fused=True)
        self._step = 0
        self._losses: list[float] = []
        self._curve: list[Point] = []

    def run(self) -> list[Point]:
        """Train and return the loss curve."""
        self._resume()
        for step in track(range(self._step, self._total), "steps", self._total - self._step):
            epoch, place = divmod(step, self._each)
            self._losses.append(self._learn(self._batch(epoch, place), step))
            self._step = step + 1
            ends = place + 1 == self._each
            if ends or self._step % KEEP == 0:
                self._keep(epoch, self._validation_loss() if ends and self._validation else None)
            if ends and self._validation and self._stale() >= self._values.patience:
                break
        if self._validation:
            best = self._torch.load(self._folder / BEST, map_location="cpu", weights_only=True)
            self._learner.network.load_state_dict(best)
        self._learner.network.eval()
        return self._curve

    def _stale(self) -> int:
        """Return the number of epochs since the lowest validation loss."""
        losses = [point.validation for point in self._curve if point.validation is not None]
        return len(losses) - 1 - losses.index(min(losses))

    def _validation_loss(self) -> float:
        network = self._learner.network
        # False replies are the same after each epoch, and the training draws what it would.
        with self._torch.random.fork_rng(), self._torch.no_grad():
            self._torch.manual_seed(self._values.seed)
            network.eval()
            loss = self._learner.validation(self._validation)
            network.train()
        return loss

    def _learn(self, batch: Sequence[TrainingExample], step: int) -> float:
        rate = self._rate(step)
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        half = self._values.precision == "bfloat16"
        with self._torch.autocast(self._learner.device, self._torch.bfloat16, enabled=half):
            loss = self._learner.loss(batch)
        value = float(loss.detach())
        if not np.isfinite(value):
            told = f"the loss is {value} at step {step + 1}"
            raise InputError(f"{told}: lower the rate, --set learning_rate=")
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
        plain: list[Any] = []
        decaying: list[Any] = []
        for name, weight in self._learner.network.named_parameters():
            kept = name.endswith("bias") or "norm" in name.lower()
            (plain if kept else decaying).append(weight)
        return [
            {"params": decaying, "weight_decay": self._values.weight_decay},
            {"params": plain, "weight_decay": 0.0},
        ]

    def _keep(self, epoch: int, validation: float | None) -> None:
        mean = float(np.mean(self._losses))
        self._losses = []
        rate = float(self._optimizer.param_groups[0]["lr"])
        self._curve.append(Point(epoch + 1, self._step, mean, rate, validation))
        if validation is not None and self._stale() == 0:
            self._torch.save(self._learner.network.state_dict(), self._folder / BEST)
        state = {
            "of": self._of, "step": self._step, "network": self._learner.network.state_dict(),
            "optimizer": self._optimizer.state_dict(), "random": self._torch.get_rng_state(),
            "curve": msgspec.to_builtins(self._curve),
        }  # fmt: skip
        path = self._folder / STATE
        new = path.with_suffix(".new")
        self._torch.save(state, new)
        os.replace(new, path)  # noqa: PTH105 - whole, or as it was
        points = (msgspec.json.encode(point) + b"\n" for point in self._curve)
        write_lines(self._folder / CURVE, points)

    def _resume(self) -> None:
        path = self._folder / STATE
        if not path.exists():
            self._torch.manual_seed(self._values.seed)
            return
        try:
            state = self._torch.load(path, map_location="cpu", weights_only=True)
            of = state["of"]
        except Exception as error:
            told = f"{path}: cannot be read: {error}; remove {self._folder}"
            raise ModelFolderError(told) from error
        if of != self._of:
            held = f"{self._folder}: holds a training with other data or hyper-parameters"
            raise InputError(f"{held}; give another --output, or remove that folder")
        self._learner.network.load_state_dict(state["network"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._torch.set_rng_state(state["random"])
        self._step = int(state["step"])
        self._curve = [msgspec.convert(point, Point) for point in state["curve"]]
