"""Networks of transformers that learn, by the task of a recipe: labels, choices, spans, texts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokenizers import Encoding

from grice.errors import InputError, ModelError, ModelFolderError
from grice.models.conversion import read_config
from grice.models.pretrained import quiet
from grice_research.published_models.tasks import T5_PREFIX
from grice_research.training.published.examples import TrainingExample
from grice_research.training.published.recipes import HyperParameters, Recipe
from grice_tasks.overlap import rouge_2

IGNORED = -100  # label of a place that counts for nothing


def torch_module() -> Any:
    """Return torch, if it and transformers are installed."""
    try:
        import torch
        import transformers  # noqa: F401 - both are needed
    except ImportError:
        raise ModelError(
            'training needs torch and transformers: pip install "grice-research[train]"'
        ) from None
    return torch


def open_learner(recipe: Recipe, base: Path, values: HyperParameters) -> Learner:
    """Open the checkpoint that training starts from, a folder in the layout of Hugging Face."""
    from grice_research.training.published.frozen import Engagement, Ruber

    family = read_config(base).get("model_type")
    if family not in recipe.families:
        paper = f"{' or '.join(recipe.families)} ({recipe.base} in the paper)"
        raise ModelFolderError(f"{base}: {recipe.name} starts from {paper}, not from {family!r}")
    for pattern in ("*.safetensors", "tokenizer.json"):
        if not any(base.glob(pattern)):
            raise ModelFolderError(f"{base}: {pattern} is missing")
    torch_module().manual_seed(values.seed)
    learners: dict[str, type[Learner]] = {
        "text-to-text": Writer, "classification": Classifier, "choice": Chooser, "span": SpanFinder,
        "replies": Ruber if recipe.kind == "ruber-network" else Engagement,
    }  # fmt: skip
    return learners[recipe.task](base, recipe, values)


class Learner(ABC):
    """A checkpoint of transformers that learns a task, with its tokenizer."""

    auto: str  # the class of transformers that opens it
    measure: str  # what ``rights`` says

    def __init__(
        self, base: Path, recipe: Recipe, values: HyperParameters, **settings: object
    ) -> None:
        import transformers
        from tokenizers import Tokenizer

        self.torch = torch_module()
        self.device = "cuda" if self.torch.cuda.is_available() else "cpu"
        with quiet(transformers):
            settings |= {"local_files_only": True, "trust_remote_code": False}
            opened_class = getattr(transformers, self.auto)
            opened = opened_class.from_pretrained(base, use_safetensors=True, **settings)
        self.network: Any = opened.float()
        self.config: Any = opened.config
        self.tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.recipe, self.values = recipe, values
        self._pad = int(self.config.pad_token_id or 0)

    def begin(self, examples: Sequence[TrainingExample]) -> None:  # noqa: B027 - most need none
        """Read all examples of the training before its first step."""

    @abstractmethod
    def loss(self, examples: Sequence[TrainingExample]) -> Any:
        """Return the mean loss of a batch, as a differentiable tensor."""

    def validation(self, examples: Sequence[TrainingExample]) -> float:
        """Return the mean loss of examples, which chooses the epoch."""
        parts = self.batches(examples)
        return sum(float(self.loss(part)) * len(part) for part in parts) / len(examples)

    def batches(self, examples: Sequence[TrainingExample]) -> list[Sequence[TrainingExample]]:
        """Return examples in their order, in batches of the training's size."""
        size = self.values.batch
        return [examples[start : start + size] for start in range(0, len(examples), size)]

    def rights(self, examples: Sequence[TrainingExample]) -> list[float]:
        """Return 1 for each held-out example whose loss is below that with another target.

        A tie is 0.5, else it is 0.
        """
        right = []
        with self.torch.inference_mode():
            for place, example in enumerate(examples):
                against = example._replace(target=self.other(examples, place))
                own, foreign = (-float(self.loss([each])) for each in (example, against))
                right.append(likelier(own, foreign))
        return right

    def other(self, examples: Sequence[TrainingExample], place: int) -> str:
        """Return a target that differs, of an example of the same kind if there is one."""
        own = examples[place]
        around = [*examples[place + 1 :], *examples[:place]]
        differing = [example for example in around if example.target != own.target]
        if not differing:
            raise InputError("all held-out targets are the same: there is nothing to compare with")
        return next((each for each in differing if each.kind == own.kind), differing[0]).target

    def save(self, folder: Path) -> None:
        """Write the checkpoint in the layout of Hugging Face."""
        import transformers

        with quiet(transformers):
            self.network.save_pretrained(folder)
        self.tokenizer.no_truncation()
        self.tokenizer.save(str(folder / "tokenizer.json"))

    def cross_entropy(self, logits: Any, targets: Sequence[int]) -> Any:
        """Return the mean cross entropy of the right column of each row of logits."""
        right = self.torch.tensor(targets, device=self.device)
        return self.torch.nn.functional.cross_entropy(logits, right)

    def padded(self, rows: Sequence[Sequence[int]], filler: int) -> Any:
        """Return rows as one tensor."""
        width = max(map(len, rows))
        filled = [[*row, *[filler] * (width - len(row))] for row in rows]
        return self.torch.tensor(filled, device=self.device)

    def inputs(
        self, texts: Sequence[str], seconds: Sequence[str] = (), cut: str = "longest_first"
    ) -> dict[str, Any]:
        """Return what the network reads: texts, or pairs, of which ``cut`` is shortened."""
        self.tokenizer.enable_truncation(self.values.max_source, strategy=cut)
        pairs = list(zip(texts, seconds, strict=True)) if seconds else list(texts)
        encodings = self.tokenizer.encode_batch(pairs)
        given = {
            "input_ids": self.padded([encoding.ids for encoding in encodings], self._pad),
            "attention_mask": self.padded([[1] * len(e.ids) for e in encodings], 0),
        }
        if getattr(self.config, "type_vocab_size", 0) > 1:
            given["token_type_ids"] = self.padded([e.type_ids for e in encodings], 0)
        return given


def likelier(own: float, other: float) -> float:
    """Return 1 if the first is larger, 0 if the second is, 0.5 if neither."""
    return 0.5 if own == other else float(own > other)


class Classifier(Learner):
    """Classifies texts or pairs; a head of the same labels is kept, else it is new."""

    auto = "AutoModelForSequenceClassification"
    measure = "share of held-out texts whose label is likelier than another one"

    def __init__(self, base: Path, recipe: Recipe, values: HyperParameters) -> None:
        labels = {name: number for number, name in enumerate(recipe.labels)}
        # A published head keeps the order of its labels, if it has the same.
        stated = read_config(base).get("id2label") or {}
        own = {str(name).lower(): int(number) for number, name in stated.items()}
        self._labels = own if own.keys() == labels.keys() else labels
        head = {"id2label": {number: name for name, number in self._labels.items()}}
        fits = own.keys() == labels.keys()
        settings = {**head, "label2id": self._labels, "num_labels": len(labels)}
        super().__init__(base, recipe, values, **settings, ignore_mismatched_sizes=not fits)

    def loss(self, examples: Sequence[TrainingExample]) -> Any:
        """Return the mean cross entropy of the labels."""
        for example in examples:
            if example.target not in self._labels:
                known = ", ".join(self._labels)
                raise InputError(f"the label {example.target!r} is none of {known}")
        seconds = [example.options[0] for example in examples if example.options]
        given = self.inputs([example.source for example in examples], seconds)
        labels = [self._labels[example.target] for example in examples]
        return self.cross_entropy(self.network(**given).logits, labels)


class Chooser(Learner):
    """Reads a text with each of some options and says which fits it."""

    auto = "AutoModelForMultipleChoice"
    measure = "share of held-out texts whose right option is likelier than another one"

    def loss(self, examples: Sequence[TrainingExample]) -> Any:
        """Return the mean cross entropy of the right options."""
        losses = []
        for example in examples:
            given = self.inputs([example.source] * len(example.options), list(example.options))
            logits = self.network(**{name: value[None] for name, value in given.items()}).logits
            losses.append(self.cross_entropy(logits, [int(example.target)]))
        return self.torch.stack(losses).mean()

    def other(self, examples: Sequence[TrainingExample], place: int) -> str:
        """Return the number of the option behind the right one."""
        return str((int(examples[place].target) + 1) % len(examples[place].options))


class SpanFinder(Learner):
    """Reads a question and a text and says where the answer begins and ends."""

    auto = "AutoModelForQuestionAnswering"
    measure = "share of held-out questions whose answer is likelier than a span elsewhere"

    def loss(self, examples: Sequence[TrainingExample]) -> Any:
        """Return the mean cross entropy of first and last piece; answers cut off are at 0."""
        starts, ends, places = self._logits(examples)
        firsts, lasts = zip(*places, strict=True)
        return (self.cross_entropy(starts, firsts) + self.cross_entropy(ends, lasts)) / 2

    def rights(self, examples: Sequence[TrainingExample]) -> list[float]:
        """Return whether each answer is likelier than that of the next example is at its place."""
        right = []
        with self.torch.inference_mode():
            spans = [self._logits([example]) for example in examples]
        for place, (starts, ends, ((first, last),)) in enumerate(spans):
            other, behind = spans[(place + 1) % len(spans)][2][0]
            size = starts.shape[1] - 1
            away, end = min(other, size), min(behind, size)
            own = float(starts[0, first] + ends[0, last])
            right.append(likelier(own, float(starts[0, away] + ends[0, end])))
        return right

    def _logits(self, examples: Sequence[TrainingExample]) -> tuple[Any, Any, list[Any]]:
        questions = [example.source for example in examples]
        texts = [example.options[0] for example in examples]
        output = self.network(**self.inputs(questions, texts, cut="only_second"))
        encodings = self.tokenizer.encode_batch(list(zip(questions, texts, strict=True)))
        places = [_pieces(*pair) for pair in zip(encodings, examples, strict=True)]
        return output.start_logits, output.end_logits, places


def _pieces(encoding: Encoding, example: TrainingExample) -> tuple[int, int]:
    """Return the first and last piece of an answer; the first of all, as SQuAD 2, if cut off."""
    start, end = map(int, example.target.split(":"))
    first, last = encoding.char_to_token(start, 1), encoding.char_to_token(end - 1, 1)
    return (0, 0) if first is None or last is None else (first, last)


class Writer(Learner):
    """An encoder-decoder: reads the source and writes the target."""

    auto = "AutoModelForSeq2SeqLM"
    measure = "share of held-out texts that are likelier than another one of their kind"

    def __init__(self, base: Path, recipe: Recipe, values: HyperParameters) -> None:
        super().__init__(base, recipe, values)
        if recipe.kind == "comet":
            self._add_pieces()
        is_prefixed = recipe.kind == "keyword-writer" and self.config.model_type == "t5"
        self._prefix = T5_PREFIX if is_prefixed else ""

    def loss(self, examples: Sequence[TrainingExample]) -> Any:
        """Return the mean cross entropy of the pieces of the targets."""
        sources = self.inputs([f"{self._prefix}{example.source}" for example in examples])
        self.tokenizer.enable_truncation(self.values.max_target)
        targets = self.tokenizer.encode_batch([example.target for example in examples])
        labels = self.padded([encoding.ids for encoding in targets], IGNORED)
        return self.network(**sources, labels=labels).loss

    def validation(self, examples: Sequence[TrainingExample]) -> float:
        """Return the mean loss, or what the mean ROUGE-2 of the written texts lacks of 1."""
        if self.values.select == "loss":
            return super().validation(examples)
        values: list[float] = []
        for part in self.batches(examples):
            given = self.inputs([f"{self._prefix}{example.source}" for example in part])
            ids = self.network.generate(**given, num_beams=4, max_length=self.values.max_target)
            texts = self.tokenizer.decode_batch(ids.tolist())
            values += [rouge_2(text, each.target) for text, each in zip(texts, part, strict=True)]
        return 1 - sum(values) / len(values)

    def _add_pieces(self) -> None:
        """Add the names of relations and ``[GEN]`` to the vocabulary, each as one token."""
        from grice.knowledge.schema import load_schema
        from grice_research.published_models.seq2seq import GENERATE

        added = self.tokenizer.add_tokens([GENERATE, *load_schema("atomic2020").relations])
        size = self.tokenizer.get_vocab_size()
        if added and size > self.config.vocab_size:
            self.network.resize_token_embeddings(size, mean_resizing=False)
