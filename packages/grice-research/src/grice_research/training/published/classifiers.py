"""Encoders with a head that learn: labels of texts and pairs, choices among options, spans."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from grice.errors import InputError
from grice.models.conversion.huggingface import read_config
from grice_research.training.published.checkpoint import Checkpoint
from grice_research.training.published.learner import Learner, learner_of, likelier, next_other

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tokenizers import Encoding

    from grice_research.training.published.files import TrainingExample
    from grice_research.training.published.recipes import HyperParameters, Recipe


def open_classifier(base: Path, recipe: Recipe, values: HyperParameters) -> Learner:
    """Open a classifier of texts or pairs; its head is new unless the checkpoint has such a one."""
    labels = {name: number for number, name in enumerate(recipe.labels)}
    # A published head keeps the order of its labels, if it has the same.
    stated = read_config(base).get("id2label") or {}
    own = {str(name).lower(): int(number) for number, name in stated.items()}
    if own.keys() == labels.keys():
        labels = own
    checkpoint = Checkpoint(
        base,
        "AutoModelForSequenceClassification",
        values,
        num_labels=len(labels),
        id2label={number: name for name, number in labels.items()},
        label2id=labels,
        ignore_mismatched_sizes=own.keys() != labels.keys(),
    )
    measure = "share of held-out texts whose label is likelier than another one"
    return learner_of(checkpoint, measure, _label_loss, next_other)


def _label_loss(checkpoint: Checkpoint, examples: Sequence[TrainingExample]) -> Any:  # noqa: ANN401 - a tensor
    labels: dict[str, int] = checkpoint.config.label2id
    for example in examples:
        if example.target not in labels:
            raise InputError(f"the label {example.target!r} is none of {', '.join(labels)}")
    seconds = [example.options[0] for example in examples if example.options]
    given = checkpoint.inputs([example.source for example in examples], seconds)
    logits = checkpoint.network(**given).logits
    return checkpoint.cross_entropy(logits, [labels[example.target] for example in examples])


def open_chooser(base: Path, values: HyperParameters) -> Learner:
    """Open a network that reads a text with each of some options and says which fits it."""
    checkpoint = Checkpoint(base, "AutoModelForMultipleChoice", values)
    measure = "share of held-out texts whose right option is likelier than another one"
    return learner_of(checkpoint, measure, _option_loss, _next_option)


def _option_loss(checkpoint: Checkpoint, examples: Sequence[TrainingExample]) -> Any:  # noqa: ANN401 - a tensor
    losses = []
    for example in examples:
        given = checkpoint.inputs([example.source] * len(example.options), list(example.options))
        logits = checkpoint.network(**{name: value[None] for name, value in given.items()}).logits
        losses.append(checkpoint.cross_entropy(logits, [int(example.target)]))
    return checkpoint.torch.stack(losses).mean()


def _next_option(examples: Sequence[TrainingExample], place: int) -> str:
    """Return the number of the option behind the right one."""
    return str((int(examples[place].target) + 1) % len(examples[place].options))


def open_span_reader(base: Path, values: HyperParameters) -> Learner:
    """Open a network that reads a question and a text and says where the answer begins and ends."""
    checkpoint = Checkpoint(base, "AutoModelForQuestionAnswering", values)
    measure = "share of held-out questions whose answer is likelier than a span elsewhere"
    loss, rights = (partial(task, checkpoint) for task in (_span_loss, _span_rights))
    return Learner(checkpoint.network, checkpoint.device, measure, loss, rights, checkpoint.save)


def _span_loss(checkpoint: Checkpoint, examples: Sequence[TrainingExample]) -> Any:  # noqa: ANN401 - a tensor
    """Return the mean cross entropy of first and last piece; answers cut off are at 0."""
    starts, ends, places = _span_logits(checkpoint, examples)
    firsts, lasts = zip(*places, strict=True)
    return (checkpoint.cross_entropy(starts, firsts) + checkpoint.cross_entropy(ends, lasts)) / 2


def _span_rights(checkpoint: Checkpoint, examples: Sequence[TrainingExample]) -> list[float]:
    """Return whether each answer is likelier than that of the next example is at its place."""
    right = []
    with checkpoint.torch.inference_mode():
        spans = [_span_logits(checkpoint, [example]) for example in examples]
    for place, (starts, ends, ((first, last),)) in enumerate(spans):
        other, behind = spans[(place + 1) % len(spans)][2][0]
        size = starts.shape[1] - 1
        away, end = min(other, size), min(behind, size)
        own = float(starts[0, first] + ends[0, last])
        right.append(likelier(own, float(starts[0, away] + ends[0, end])))
    return right


def _span_logits(
    checkpoint: Checkpoint, examples: Sequence[TrainingExample]
) -> tuple[Any, Any, list[tuple[int, int]]]:
    """Return logits of first and last pieces, and the pieces of each answer."""
    questions = [example.source for example in examples]
    texts = [example.options[0] for example in examples]
    output = checkpoint.network(**checkpoint.inputs(questions, texts, cut="only_second"))
    encodings = checkpoint.tokenizer.encode_batch(list(zip(questions, texts, strict=True)))
    places = [
        _pieces(encoding, example) for encoding, example in zip(encodings, examples, strict=True)
    ]
    return output.start_logits, output.end_logits, places


def _pieces(encoding: Encoding, example: TrainingExample) -> tuple[int, int]:
    """Return the first and last piece of an answer; the first of all, as SQuAD 2, if cut off."""
    start, end = map(int, example.target.split(":"))
    first, last = encoding.char_to_token(start, 1), encoding.char_to_token(end - 1, 1)
    return (0, 0) if first is None or last is None else (first, last)
