"""Small networks on a frozen encoder: RUBER's unreferenced score, and predictive engagement."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grice.errors import InputError
from grice.models.conversion import needed, read_tensors
from grice_research.published_models.convert import network_layers
from grice_research.training.published.examples import TrainingExample
from grice_research.training.published.learners import Learner, likelier
from grice_research.training.published.recipes import HyperParameters, Recipe

PIECES = 64  # texts that the encoder reads at once


class FrozenLearner(Learner):
    """A network that judges replies to queries by an encoder that does not change.

    It is that of the checkpoint, if there is one beside the encoder, otherwise a new one.
    """

    auto = "AutoModel"

    def __init__(self, base: Path, recipe: Recipe, values: HyperParameters) -> None:
        super().__init__(base, recipe, values)
        self._encoder = self.network.to(self.device).eval().requires_grad_(requires_grad=False)
        self.config.pooling, self.config.layer = values.pooling, values.layer
        self._size = int(self.config.hidden_size)
        self._vectors: dict[str, Any] = {}

    def save(self, folder: Path) -> None:
        """Write the encoder as a checkpoint, and the network beside it."""
        from safetensors.torch import save_file

        network, self.network = self.network, self._encoder
        super().save(folder)
        self.network = network
        weights = {f"network.{n}": v.contiguous() for n, v in network.state_dict().items()}
        save_file(weights, folder / "network.safetensors")

    def _opened_network(self, base: Path, width: int, outputs: int) -> Any:
        nn = self.torch.nn
        try:
            widths = [int(hidden) for hidden in self.values.hidden.split(",")]
        except ValueError:
            raise InputError(
                f"hidden={self.values.hidden}: numbers are needed, comma-separated"
            ) from None
        published = read_tensors(base)
        self._given = {n: needed(published, n) for n in published if n.startswith("network.")}
        given = network_layers(base, self._given, width, outputs) if self._given else []
        if given and [len(bias) for _, bias in given[:-1]] != widths:
            stated = ",".join(str(len(bias)) for _, bias in given[:-1])
            raise InputError(
                f"{base}: its network has hidden={stated}, not {self.values.hidden}; give "
                f"--set hidden={stated}, or remove the network to start from random weights"
            )
        layers: list[Any] = []
        for hidden in widths:
            layers += [nn.Linear(width, hidden), nn.Tanh(), nn.Dropout(self.values.dropout)]
            width = hidden
        layers.append(nn.Linear(width, outputs))
        for layer, (weight, bias) in zip(layers[::3], given, strict=False):  # new without any given
            state = {"weight": self.torch.tensor(weight), "bias": self.torch.tensor(bias)}
            layer.load_state_dict(state)
        return nn.ModuleDict({"layers": nn.Sequential(*layers)}).to(self.device)

    def _pooled(self, texts: Sequence[str]) -> Any:
        """Return one vector a text, shape ``(texts, size)``; each text is read once."""
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        for start in range(0, len(new), PIECES):
            part = new[start : start + PIECES]
            self._vectors.update(zip(part, self._read(part), strict=True))
        return self.torch.stack([self._vectors[text] for text in texts])

    def _read(self, texts: Sequence[str]) -> Any:
        given = self.inputs(texts)
        with self.torch.no_grad():
            output = self._encoder(**given, output_hidden_states=True)
        states, there = output.hidden_states[self.values.layer], given["attention_mask"][:, :, None]
        if self.values.pooling == "max":
            return states.masked_fill(there == 0, -self.torch.inf).amax(dim=1)
        return (states * there).sum(dim=1) / there.sum(dim=1)


class Ruber(FrozenLearner):
    """Reads the vectors of query and reply and their quadratic feature."""

    measure = "share of held-out replies that score above another one"

    def __init__(self, base: Path, recipe: Recipe, values: HyperParameters) -> None:
        super().__init__(base, recipe, values)
        self.network = self._opened_network(base, 2 * self._size + 1, 1)
        given = next((w for n, w in self._given.items() if n.endswith(".matrix")), None)
        empty = self.torch.zeros(self._size, self._size)
        matrix = (empty if given is None else self.torch.tensor(given)).to(self.device)
        self.network.register_parameter("matrix", self.torch.nn.Parameter(matrix))

    def begin(self, examples: Sequence[TrainingExample]) -> None:
        """Read the replies from which false ones are drawn."""
        self._replies = list(dict.fromkeys(example.options[0] for example in examples))

    def loss(self, examples: Sequence[TrainingExample]) -> Any:
        """Return the loss of true against false replies."""
        torch, values = self.torch, self.values
        if len(examples) < 2:
            return self._scores(examples).sum() * 0.0  # nothing to set it against
        true, false = self._scores(examples), self._scores(examples, self._false(examples))
        if values.loss == "ranking":
            return (values.margin - true.sigmoid() + false.sigmoid()).clamp(min=0).mean()
        wanted = torch.cat([torch.ones_like(true), torch.zeros_like(false)])
        entropy = torch.nn.functional.binary_cross_entropy_with_logits
        return entropy(torch.cat([true, false]), wanted)

    def rights(self, examples: Sequence[TrainingExample]) -> list[float]:
        """Return whether each reply scores above the next one."""
        with self.torch.inference_mode():
            others = self._scores(examples, _moved(examples, 1))
            scores = self._scores(examples).tolist(), others.tolist()
        return [likelier(own, other) for own, other in zip(*scores, strict=True)]

    def _false(self, examples: Sequence[TrainingExample]) -> list[str]:
        """Return a false reply for each: of all, or those of the batch moved by some places."""
        torch = self.torch
        if self.values.negatives == "batch" or len(self._replies) < 2:
            return _moved(examples, int(torch.randint(1, len(examples), ())))
        drawn = torch.randint(len(self._replies) - 1, (len(examples),)).tolist()
        pairs = zip(examples, drawn, strict=True)
        last = self._replies[-1]
        return [
            last if self._replies[place] == example.options[0] else self._replies[place]
            for example, place in pairs
        ]

    def _scores(self, examples: Sequence[TrainingExample], replies: Sequence[str] = ()) -> Any:
        left = self._pooled([example.source for example in examples])
        right = self._pooled(replies or [example.options[0] for example in examples])
        quadratic = ((left @ self.network.matrix) * right).sum(dim=1, keepdim=True)
        joined = self.torch.cat([left, quadratic, right], dim=1)
        return self.network["layers"](joined)[:, 0]


def _moved(examples: Sequence[TrainingExample], away: int) -> list[str]:
    replies = [example.options[0] for example in examples]
    return [*replies[away:], *replies[:away]]


class Engagement(FrozenLearner):
    """Reads the mean of the vectors of query and reply."""

    measure = "share of held-out replies on the right side of one of the other label"

    def __init__(self, base: Path, recipe: Recipe, values: HyperParameters) -> None:
        super().__init__(base, recipe, values)
        self.network = self._opened_network(base, self._size, 2)

    def begin(self, examples: Sequence[TrainingExample]) -> None:
        """Count the labels of the training."""
        self._weight = self._weights([int(example.target) for example in examples])

    def _weights(self, labels: Sequence[int]) -> Any:
        counts = self.torch.bincount(self.torch.tensor(labels), minlength=2).clamp(min=1)
        return (len(labels) / (2.0 * counts)).to(self.device)

    def loss(self, examples: Sequence[TrainingExample]) -> Any:
        """Return the cross entropy of the labels, both weighed alike in the batch or in all."""
        torch, logits = self.torch, self._logits(examples)
        wanted = [int(example.target) for example in examples]
        labels = torch.tensor(wanted, device=logits.device)
        weight = self._weight if self.values.weights == "set" else self._weights(wanted)
        return torch.nn.functional.cross_entropy(logits, labels, weight=weight)

    def rights(self, examples: Sequence[TrainingExample]) -> list[float]:
        """Return whether each reply is on the right side of the next one of the other label."""
        with self.torch.inference_mode():
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

    def _logits(self, examples: Sequence[TrainingExample]) -> Any:
        left = self._pooled([example.source for example in examples])
        right = self._pooled([example.options[0] for example in examples])
        return self.network["layers"]((left + right) / 2)
