"""Two sentences from keywords by any generator: published inputs, choice of a checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grice.errors import InputError
from grice_tasks.overlap import rouge_2
from grice_tasks.situatedgen.examples import prompt
from grice_tasks.situatedgen.language_model import shown_prompt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grice.models.protocols import Generator
    from grice_tasks.situatedgen.records import Sample

__all__ = ["Checkpoint", "choose_checkpoint", "mean_rouge_2", "write_pairs"]


class Checkpoint(NamedTuple):
    """A state of a model in training, with what it reached on held-out samples."""

    name: str
    rouge_2: float


def write_pairs(
    keywords: Sequence[Sequence[str]],
    generator: Generator,
    *,
    model: str = "bart",
    shown: Sequence[Sample] = (),
) -> list[str]:
    """Return what a generator writes for each list of keywords; empty where it writes nothing.

    Args:
        keywords: The inputs.
        generator: Reads the prompts.
        model: Whose input format: ``bart`` or ``t5``; not read where samples are shown.
        shown: Solved samples for a few-shot prompt, of which only the first line of the answer
            is taken.
    """
    prompts = [
        shown_prompt(words, shown) if shown else prompt(words, model=model) for words in keywords
    ]
    answers = generator.generate(prompts, count=1)
    texts = [generated[0].text.strip() if generated else "" for generated in answers]
    return [text.partition("\n")[0].strip() for text in texts] if shown else texts


def mean_rouge_2(samples: Sequence[Sample], generator: Generator, *, model: str = "bart") -> float:
    """Return the mean ROUGE-2 of what a generator writes for samples, 0 to 1.

    Raises:
        InputError: If there is no sample.
    """
    if not samples:
        raise InputError("no held-out sample to choose a checkpoint by")
    written = write_pairs([sample.keywords for sample in samples], generator, model=model)
    values = [
        rouge_2(text, sample.reference) for text, sample in zip(written, samples, strict=True)
    ]
    return sum(values) / len(values)


def choose_checkpoint(
    checkpoints: Iterable[tuple[str, Generator]],
    samples: Sequence[Sample],
    *,
    model: str = "bart",
) -> Checkpoint:
    """Return the checkpoint with the highest ROUGE-2 on held-out samples, the first of equals.

    They are opened one after the other, so that an iterator may train between two.

    Raises:
        InputError: If there is no checkpoint or no sample.
    """
    checkpoints_scored = [
        Checkpoint(name, mean_rouge_2(samples, generator, model=model))
        for name, generator in checkpoints
    ]
    if not checkpoints_scored:
        raise InputError("no checkpoint to choose from")
    return max(checkpoints_scored, key=lambda checkpoint: checkpoint.rouge_2)
