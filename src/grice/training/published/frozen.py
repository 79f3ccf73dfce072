"""Small networks on a frozen encoder: RUBER's unreferenced score, and predictive engagement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grice.errors import InputError
from grice.training.published.checkpoint import Checkpoint
from grice.training.published.classifiers import likelier

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from grice.training.published.files import TrainingExample
    from grice.training.published.recipes import HyperParameters, Recipe

PIECES = 64
"""Texts that the encoder reads at once."""


class ReplyNetwork(Checkpoint):
    """Judges a reply to a query from the pooled vectors of both.

    The encoder does not change, so that each text is read once. RUBER joins both vectors and their
    quadratic feature; predictive engagement takes the mean of both.

    Args:
        base: The encoder.
        recipe: Which of the two.
        values: The hyper-parameters.
    """

    def __init__(self, base: Path, recipe: Recipe, values: HyperParameters) -> None:
        super().__init__(base, "AutoModel", values)
        self._encoder = self.network.to(self.device).eval()
        self._encoder.requires_grad_(requires_grad=False)
        self._encoder.config.pooling, self._encoder.config.layer = values.pooling, values.layer
        self._quadratic = recipe.kind == "ruber-network"
        self.measure = (
            "share of held-out replies that score above another one"
            if self._quadratic
            else "share of held-out replies on the right side of one of the other label"
        )
        self.network = self._new_network(int(self.config.hidden_size))
        self._vectors: dict[str, Any] = {}

    def loss(self, examples: Sequence[TrainingExample]) -> Any:  # noqa: ANN401 - a tensor
        """Return the loss of a batch.

        RUBER's false replies are those of the batch, moved on by a random number of places: one of
        each reply. Engagement weighs both labels alike within the batch.
        """
        queries = [example.source for example in examples]
        replies = [example.options[0] for example in examples]
        functional, torch = self.torch.nn.functional, self.torch
        if not self._quadratic:
            labels = torch.tensor([int(example.target) for example in examples])
            counts = torch.bincount(labels, minlength=2).clamp(min=1)
            weight = (len(examples) / (2.0 * counts)).to(self.device)
            logits = self._scores(queries, replies)
            return functional.cross_entropy(logits, labels.to(self.device), weight=weight)
        if len(examples) < 2:
            return self._scores(queries, replies).sum() * 0.0  # nothing to set it against
        away = int(torch.randint(1, len(examples), ()))
        true = self._scores(queries, replies)[:, 0]
        false = self._scores(queries, [*replies[away:], *replies[:away]])[:, 0]
        if self.values.loss == "ranking":
            gap = self.values.margin - true.sigmoid() + false.sigmoid()
            return gap.clamp(min=0).mean()
        wanted = torch.cat([torch.ones_like(true), torch.zeros_like(false)])
        return functional.binary_cross_entropy_with_logits(torch.cat([true, false]), wanted)

    def rights(self, examples: Sequence[TrainingExample]) -> list[float]:
        """Return whether each reply is on the right side of another one; see ``measure``."""
        queries = [example.source for example in examples]
        replies = [example.options[0] for example in examples]
        with self.torch.inference_mode():
            scores = self._values_of(queries, replies)
            if self._quadratic:
                moved = self._values_of(queries, [*replies[1:], *replies[:1]])
                return [likelier(a, b) for a, b in zip(scores, moved, strict=True)]
        right = []
        for place, example in enumerate(examples):
            others = [*range(place + 1, len(examples)), *range(place)]
            other = next((i for i in others if examples[i].target != example.target), None)
            if other is None:
                raise InputError("all held-out labels are the same: nothing to compare with")
            own, against = scores[place], scores[other]
            right.append(
                likelier(own, against) if example.target == "1" else likelier(against, own)
            )
        return right

    def save(self, folder: Path) -> None:
        """Write the encoder as a checkpoint, and the network beside it."""
        from safetensors.torch import save_file

        self.save_as(folder, self._encoder)
        weights = {f"network.{n}": v.contiguous() for n, v in self.network.state_dict().items()}
        save_file(weights, folder / "network.safetensors")

    def _new_network(self, size: int) -> Any:  # noqa: ANN401 - a module
        nn, values = self.torch.nn, self.values
        try:
            widths = [int(width) for width in values.hidden.split(",")]
        except ValueError:
            raise InputError(f"hidden={values.hidden}: numbers with commas between") from None
        layers: list[Any] = []
        width = 2 * size + 1 if self._quadratic else size
        for hidden in widths:
            layers += [nn.Linear(width, hidden), nn.Tanh(), nn.Dropout(values.dropout)]
            width = hidden
        layers.append(nn.Linear(width, 1 if self._quadratic else 2))
        network = nn.ModuleDict({"layers": nn.Sequential(*layers)})
        if self._quadratic:
            network.register_parameter("matrix", nn.Parameter(self.torch.zeros(size, size)))
        return network.to(self.device)

    def _values_of(self, queries: Sequence[str], replies: Sequence[str]) -> list[float]:
        scores = self._scores(queries, replies)
        column = scores[:, 0] if self._quadratic else scores[:, 1] - scores[:, 0]
        return [float(value) for value in column]

    def _scores(self, queries: Sequence[str], replies: Sequence[str]) -> Any:  # noqa: ANN401
        """Return what the network says of each pair, shape ``(pairs, 1)`` or ``(pairs, 2)``."""
        left, right = self._pooled(queries), self._pooled(replies)
        if self._quadratic:
            quadratic = ((left @ self.network.matrix) * right).sum(dim=1, keepdim=True)
            joined = self.torch.cat([left, quadratic, right], dim=1)
        else:
            joined = (left + right) / 2
        return self.network["layers"](joined)

    def _pooled(self, texts: Sequence[str]) -> Any:  # noqa: ANN401 - a tensor
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        for start in range(0, len(new), PIECES):
            part = new[start : start + PIECES]
            self._vectors.update(zip(part, self._read(part), strict=True))
        return self.torch.stack([self._vectors[text] for text in texts])

    def _read(self, texts: Sequence[str]) -> Any:  # noqa: ANN401 - a tensor
        given = self.inputs(texts)
        with self.torch.no_grad():
            output = self._encoder(**given, output_hidden_states=True)
        states, there = output.hidden_states[self.values.layer], given["attention_mask"][:, :, None]
        if self.values.pooling == "max":
            return states.masked_fill(there == 0, -self.torch.inf).amax(dim=1)
        return (states * there).sum(dim=1) / there.sum(dim=1)
