"""Small networks on a frozen encoder: RUBER's unreferenced score, and predictive engagement."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from grice.errors import InputError
from grice_research.training.published.checkpoint import Checkpoint
from grice_research.training.published.learner import Learner, likelier

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from grice_research.training.published.files import TrainingExample
    from grice_research.training.published.recipes import HyperParameters, Recipe

PIECES = 64
"""Texts that the encoder reads at once."""


def open_reply_network(base: Path, recipe: Recipe, values: HyperParameters) -> Learner:
    """Open an encoder, which does not change, with a new network that judges replies to queries."""
    checkpoint = Checkpoint(base, "AutoModel", values)
    encoder, size = _FrozenEncoder(checkpoint), int(checkpoint.config.hidden_size)
    task: _Ruber | _Engagement
    if recipe.kind == "ruber-network":
        measure = "share of held-out replies that score above another one"
        network = _new_network(checkpoint, 2 * size + 1, 1)
        matrix = checkpoint.torch.zeros(size, size, device=checkpoint.device)
        network.register_parameter("matrix", checkpoint.torch.nn.Parameter(matrix))
        task = _Ruber(encoder, network)
    else:
        measure = "share of held-out replies on the right side of one of the other label"
        network = _new_network(checkpoint, size, 2)
        task = _Engagement(encoder, network)
    save = partial(_save, checkpoint, network)
    return Learner(network, checkpoint.device, measure, task.loss, task.rights, save)


class _FrozenEncoder:
    """An encoder that does not change, so that each text is read once."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.torch, self.values = checkpoint.torch, checkpoint.values
        self._checkpoint = checkpoint
        self._vectors: dict[str, Any] = {}
        checkpoint.network.to(checkpoint.device).eval().requires_grad_(requires_grad=False)
        config = checkpoint.config
        config.pooling, config.layer = self.values.pooling, self.values.layer

    def pooled(self, texts: Sequence[str]) -> Any:  # noqa: ANN401 - a tensor
        """Return one vector a text, shape ``(texts, size)``."""
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        for start in range(0, len(new), PIECES):
            part = new[start : start + PIECES]
            self._vectors.update(zip(part, self._read(part), strict=True))
        return self.torch.stack([self._vectors[text] for text in texts])

    def _read(self, texts: Sequence[str]) -> Any:  # noqa: ANN401 - a tensor
        given = self._checkpoint.inputs(texts)
        with self.torch.no_grad():
            output = self._checkpoint.network(**given, output_hidden_states=True)
        states, there = output.hidden_states[self.values.layer], given["attention_mask"][:, :, None]
        if self.values.pooling == "max":
            return states.masked_fill(there == 0, -self.torch.inf).amax(dim=1)
        return (states * there).sum(dim=1) / there.sum(dim=1)


class _Ruber(NamedTuple):
    """Reads the vectors of query and reply and their quadratic feature."""

    encoder: _FrozenEncoder
    network: Any

    def loss(self, examples: Sequence[TrainingExample]) -> Any:  # noqa: ANN401 - a tensor
        """Return the loss of true against false replies.

        The false ones are those of the batch, moved on by a random number of places: one of each.
        """
        torch, values = self.encoder.torch, self.encoder.values
        if len(examples) < 2:
            return self._scores(examples).sum() * 0.0  # nothing to set it against
        away = int(torch.randint(1, len(examples), ()))
        true, false = self._scores(examples), self._scores(examples, away)
        if values.loss == "ranking":
            return (values.margin - true.sigmoid() + false.sigmoid()).clamp(min=0).mean()
        wanted = torch.cat([torch.ones_like(true), torch.zeros_like(false)])
        entropy = torch.nn.functional.binary_cross_entropy_with_logits
        return entropy(torch.cat([true, false]), wanted)

    def rights(self, examples: Sequence[TrainingExample]) -> list[float]:
        """Return whether each reply scores above the next one."""
        with self.encoder.torch.inference_mode():
            scores = self._scores(examples).tolist(), self._scores(examples, 1).tolist()
        return [likelier(own, other) for own, other in zip(*scores, strict=True)]

    def _scores(self, examples: Sequence[TrainingExample], away: int = 0) -> Any:  # noqa: ANN401 - a tensor
        """Return the score of each query with its reply, or with that so many places on."""
        replies = [example.options[0] for example in examples]
        left = self.encoder.pooled([example.source for example in examples])
        right = self.encoder.pooled([*replies[away:], *replies[:away]])
        quadratic = ((left @ self.network.matrix) * right).sum(dim=1, keepdim=True)
        joined = self.encoder.torch.cat([left, quadratic, right], dim=1)
        return self.network["layers"](joined)[:, 0]


class _Engagement(NamedTuple):
    """Reads the mean of the vectors of query and reply."""

    encoder: _FrozenEncoder
    network: Any

    def loss(self, examples: Sequence[TrainingExample]) -> Any:  # noqa: ANN401 - a tensor
        """Return the cross entropy of the labels, both weighed alike within the batch."""
        torch, logits = self.encoder.torch, self._logits(examples)
        labels = torch.tensor([int(example.target) for example in examples], device=logits.device)
        counts = torch.bincount(labels, minlength=2).clamp(min=1)
        weight = len(examples) / (2.0 * counts)
        return torch.nn.functional.cross_entropy(logits, labels, weight=weight)

    def rights(self, examples: Sequence[TrainingExample]) -> list[float]:
        """Return whether each reply is on the right side of the next one of the other label."""
        with self.encoder.torch.inference_mode():
            logits = self._logits(examples)
        scores = (logits[:, 1] - logits[:, 0]).tolist()
        right = []
        for place, example in enumerate(examples):
            others = [*range(place + 1, len(examples)), *range(place)]
            other = next((i for i in others if examples[i].target != example.target), None)
            if other is None:
                raise InputError("all held-out labels are the same: nothing to compare with")
            engaging = likelier(scores[place], scores[other])
            right.append(engaging if example.target == "1" else 1 - engaging)
        return right

    def _logits(self, examples: Sequence[TrainingExample]) -> Any:  # noqa: ANN401 - a tensor
        left = self.encoder.pooled([example.source for example in examples])
        right = self.encoder.pooled([example.options[0] for example in examples])
        return self.network["layers"]((left + right) / 2)


def _new_network(checkpoint: Checkpoint, width: int, outputs: int) -> Any:  # noqa: ANN401 - a module
    nn, values = checkpoint.torch.nn, checkpoint.values
    try:
        widths = [int(hidden) for hidden in values.hidden.split(",")]
    except ValueError:
        raise InputError(f"hidden={values.hidden}: numbers with commas between") from None
    layers: list[Any] = []
    for hidden in widths:
        layers += [nn.Linear(width, hidden), nn.Tanh(), nn.Dropout(values.dropout)]
        width = hidden
    layers.append(nn.Linear(width, outputs))
    return nn.ModuleDict({"layers": nn.Sequential(*layers)}).to(checkpoint.device)


def _save(checkpoint: Checkpoint, network: Any, folder: Path) -> None:  # noqa: ANN401 - a module
    """Write the encoder as a checkpoint, and the network beside it."""
    from safetensors.torch import save_file

    checkpoint.save(folder)
    weights = {f"network.{n}": v.contiguous() for n, v in network.state_dict().items()}
    save_file(weights, folder / "network.safetensors")
