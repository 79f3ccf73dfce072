"""Encoders with a head that learn: labels of texts and pairs, choices among options, spans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grice.errors import InputError
from grice.runtime.conversion.huggingface import read_config
from grice.training.published.checkpoint import Checkpoint

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tokenizers import Encoding

    from grice.training.published.files import TrainingExample
    from grice.training.published.recipes import HyperParameters, Recipe


class Classifier(Checkpoint):
    """A classifier of texts, or of pairs; its head is new unless the checkpoint has such a one.

    Args:
        base: The checkpoint.
        recipe: States the labels.
        values: The hyper-parameters.
    """

    measure = "share of held-out texts whose label is likelier than another one"

    def __init__(self, base: Path, recipe: Recipe, values: HyperParameters) -> None:
        self._labels = {name: number for number, name in enumerate(recipe.labels)}
        # A published head keeps the order of its labels, if it has the same.
        stated = read_config(base).get("id2label") or {}
        own = {str(name).lower(): int(number) for number, name in stated.items()}
        if own.keys() == self._labels.keys():
            self._labels = own
        names = {number: name for name, number in self._labels.items()}
        super().__init__(
            base,
            "AutoModelForSequenceClassification",
            values,
            num_labels=len(names),
            id2label=names,
            label2id=self._labels,
            ignore_mismatched_sizes=own.keys() != self._labels.keys(),
        )

    def loss(self, examples: Sequence[TrainingExample]) -> Any:  # noqa: ANN401 - a tensor
        """Return the cross entropy of the labels."""
        labels = self.torch.tensor([self._label(e) for e in examples], device=self.device)
        return self.torch.nn.functional.cross_entropy(self._logits(examples), labels)

    def rights(self, examples: Sequence[TrainingExample]) -> list[float]:
        """Return whether each label is likelier than the next other one among the examples."""
        right = []
        with self.torch.inference_mode():
            for place, example in enumerate(examples):
                logits = self._logits([example])[0].tolist()
                other = self._label(next_other(examples, place))
                right.append(likelier(logits[self._label(example)], logits[other]))
        return right

    def _label(self, example: TrainingExample) -> int:
        if example.target not in self._labels:
            raise InputError(f"the label {example.target!r} is none of {', '.join(self._labels)}")
        return self._labels[example.target]

    def _logits(self, examples: Sequence[TrainingExample]) -> Any:  # noqa: ANN401 - a tensor
        seconds = [example.options[0] for example in examples if example.options]
        return self.network(**self.inputs([e.source for e in examples], seconds)).logits


class Chooser(Checkpoint):
    """Reads a text with each of some options and says which fits it."""

    measure = "share of held-out texts whose right option is likelier than another one"

    def __init__(self, base: Path, values: HyperParameters) -> None:
        super().__init__(base, "AutoModelForMultipleChoice", values)

    def loss(self, examples: Sequence[TrainingExample]) -> Any:  # noqa: ANN401 - a tensor
        """Return the mean cross entropy of the right options."""
        losses = [
            self.torch.nn.functional.cross_entropy(
                self._logits(example)[None],
                self.torch.tensor([int(example.target)], device=self.device),
            )
            for example in examples
        ]
        return self.torch.stack(losses).mean()

    def rights(self, examples: Sequence[TrainingExample]) -> list[float]:
        """Return whether the right option is likelier than the one behind it."""
        right = []
        with self.torch.inference_mode():
            for example in examples:
                logits, place = self._logits(example).tolist(), int(example.target)
                right.append(likelier(logits[place], logits[(place + 1) % len(logits)]))
        return right

    def _logits(self, example: TrainingExample) -> Any:  # noqa: ANN401 - a tensor
        given = self.inputs([example.source] * len(example.options), list(example.options))
        return self.network(**{name: value[None] for name, value in given.items()}).logits[0]


class SpanReader(Checkpoint):
    """Reads a question and a text and says where the answer begins and ends."""

    measure = "share of held-out questions whose answer is likelier than a span elsewhere"

    def __init__(self, base: Path, values: HyperParameters) -> None:
        super().__init__(base, "AutoModelForQuestionAnswering", values)

    def loss(self, examples: Sequence[TrainingExample]) -> Any:  # noqa: ANN401 - a tensor
        """Return the mean cross entropy of first and last piece; answers cut off are at 0."""
        starts, ends, places = self._read(examples)
        entropy = self.torch.nn.functional.cross_entropy
        losses = [
            entropy(side, self.torch.tensor([place[i] for place in places], device=self.device))
            for i, side in enumerate((starts, ends))
        ]
        return (losses[0] + losses[1]) / 2

    def rights(self, examples: Sequence[TrainingExample]) -> list[float]:
        """Return whether each answer is likelier than that of the next example is at its place."""
        right = []
        with self.torch.inference_mode():
            spans = [self._read([example]) for example in examples]
        for place, (starts, ends, ((first, last),)) in enumerate(spans):
            other, behind = spans[(place + 1) % len(spans)][2][0]
            size = starts.shape[1] - 1
            away, end = min(other, size), min(behind, size)
            own = float(starts[0, first] + ends[0, last])
            right.append(likelier(own, float(starts[0, away] + ends[0, end])))
        return right

    def _read(self, examples: Sequence[TrainingExample]) -> tuple[Any, Any, list[tuple[int, int]]]:
        """Return logits of first and last pieces, and the pieces of each answer."""
        questions = [example.source for example in examples]
        texts = [example.options[0] for example in examples]
        output = self.network(**self.inputs(questions, texts, cut="only_second"))
        encodings = self.tokenizer.encode_batch(list(zip(questions, texts, strict=True)))
        places = [
            _pieces(encoding, example)
            for encoding, example in zip(encodings, examples, strict=True)
        ]
        return output.start_logits, output.end_logits, places


def _pieces(encoding: Encoding, example: TrainingExample) -> tuple[int, int]:
    """Return the first and last piece of an answer; the first of all, as SQuAD 2, if cut off."""
    start, end = map(int, example.target.split(":"))
    first, last = encoding.char_to_token(start, 1), encoding.char_to_token(end - 1, 1)
    return (0, 0) if first is None or last is None else (first, last)


def next_other(examples: Sequence[TrainingExample], place: int) -> TrainingExample:
    """Return the next example whose target differs, of the same kind if there is one.

    Raises:
        InputError: If there is none.
    """
    own = examples[place]
    around = [*examples[place + 1 :], *examples[:place]]
    differing = [example for example in around if example.target != own.target]
    if not differing:
        raise InputError("all held-out targets are the same: there is nothing to compare with")
    return next((example for example in differing if example.kind == own.kind), differing[0])


def likelier(own: float, other: float) -> float:
    """Return 1 if the first is larger, 0 if the second is, 0.5 if neither."""
    return 0.5 if own == other else float(own > other)
