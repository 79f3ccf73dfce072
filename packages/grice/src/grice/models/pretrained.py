"""Published checkpoints in their own format, on ONNX Runtime or transformers.

For architectures that CTranslate2 lacks (DeBERTa, ModernBERT, ELECTRA) or checkpoints published as
ONNX: a graph with ``input_ids``, ``attention_mask`` and perhaps ``token_type_ids``, whose first
output counts. transformers opens a checkpoint offline, from safetensors alone, without its code,
on a GPU if there is one. Arithmetic is float32, or that of the graph, one text at a time, since in
floating point a row depends on those beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding

from grice.errors import ModelFolderError, imported
from grice.models.causal import MIN_TOKENS, CausalSettings, Tokens, WindowedLM
from grice.models.conversion import read_config
from grice.models.download import WINDOW, copy_files
from grice.models.embedded import Engine, beginning, ending, is_longer, run_apart, tokenizable
from grice.models.folder import CardValue, ModelFolder
from grice.models.loader import ModelLoader, ModelType, Settings, model_type
from grice.models.protocols import GroundedReply, Pair, TaggedSpan
from grice.models.templates import PromptTemplate
from grice.numeric import sigmoid, softmax

MAX_TOKENS = 8192  # most tokens that are read at once: memory grows with their square
USUAL_TOKENS = 512  # where config.json states no length


class Config(msgspec.Struct, frozen=True):
    """The fields of ``config.json`` that are needed."""

    hidden_size: int = 0
    max_position_embeddings: int = USUAL_TOKENS
    model_type: str = ""
    pad_token_id: int | None = None
    # Without labels transformers has these two.
    id2label: dict[int, str] = msgspec.field(default_factory=lambda: {0: "LABEL_0", 1: "LABEL_1"})


def keep_checkpoint(source: Path, target: Path, longest: int = MAX_TOKENS) -> dict[str, CardValue]:
    """Copy a checkpoint into a model folder, and return the settings of its card.

    It reads as many tokens as its positions allow, at most ``longest``. The labels are those of the
    checkpoint in lower case; the positive one is ``entailment`` where there is one, else the last.
    """
    needed = ["config.json", "tokenizer.json"]
    if missing := [name for name in needed if not (source / name).is_file()]:
        raise ModelFolderError(f"{source}: not a transformers checkpoint, {missing[0]} is missing")
    graph = next((at for at in ("model.onnx", "onnx/model.onnx") if (source / at).is_file()), "")
    weights = [] if graph else sorted(path.name for path in source.glob("*.safetensors*"))
    if not graph and not weights:
        raise ModelFolderError(f"{source}: contains neither model.onnx nor *.safetensors")
    config: Config = read_config(source, form=Config)
    copy_files(source, target, [*needed, *weights])
    if graph:
        copy_files((source / graph).parent, target, ["model.onnx"])
    # The positions of RoBERTa begin after the padding.
    first = (config.pad_token_id or 0) + 1 if "roberta" in config.model_type else 0
    settings: dict[str, CardValue] = {
        "max_tokens": min(longest, config.max_position_embeddings - first),
        "dimensions": config.hidden_size,
    }
    if labels := [config.id2label[key].lower() for key in sorted(config.id2label)]:
        settings["labels"] = labels
        settings["positive"] = "entailment" if "entailment" in labels else labels[-1]
    return settings


class OnnxNetwork:
    """An ONNX graph with the inputs of transformers."""

    threads = 0

    def __init__(self, folder: ModelFolder) -> None:
        runtime = imported("onnxruntime", f"{folder.path}: type {folder.card.kind}", "onnx")
        options = runtime.SessionOptions()
        # Batches run beside each other, each on one core, as in every engine here.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        path = folder.file("model.onnx")
        self.engine = f"ort-{runtime.__version__}"
        self._session: Any = runtime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
        self._takes = {given.name for given in self._session.get_inputs()}
        needed = {"input_ids", "attention_mask"}
        if not needed <= self._takes or self._takes - needed > {"token_type_ids"}:
            raise ModelFolderError(
                f"{path}: takes {', '.join(sorted(self._takes))}; input_ids, "
                "attention_mask and perhaps token_type_ids are expected"
            )

    def __call__(self, ids: list[int], types: list[int]) -> NDArray[np.float32]:
        """Return the first output for one text."""
        given = {"input_ids": ids, "attention_mask": [1] * len(ids), "token_type_ids": types}
        arrays = {k: np.array([v], np.int64) for k, v in given.items() if k in self._takes}
        (output,) = self._session.run([self._session.get_outputs()[0].name], arrays)
        return np.asarray(output[0], np.float32)


class TransformersNetwork:
    """A network of transformers on the device that is there, by all threads of torch."""

    threads = 1

    def __init__(self, folder: ModelFolder, auto: str = "SequenceClassification") -> None:
        needs = f"{folder.path}: type {folder.card.kind}"
        self.torch = torch = imported("torch", needs, "transformers")
        transformers = imported("transformers", needs, "transformers")
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.engine = f"transformers-{transformers.__version__}/torch-{torch.__version__}"
        with quiet(transformers):
            opened, report = getattr(transformers, f"AutoModelFor{auto}").from_pretrained(
                folder.path,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                output_loading_info=True,
            )
        # They would be initialised at random.
        if missing := sorted(report["missing_keys"]):
            raise ModelFolderError(f"{folder.path}: weight {missing[0]} is missing")
        self._model = opened.float().eval().to(self.device)
        self._has_types = int(getattr(opened.config, "type_vocab_size", 0) or 0) > 1

    def logits(self, ids: list[int], types: list[int]) -> Any:  # noqa: ANN401 - a tensor
        """Return the outputs for one text."""
        given = {"input_ids": ids, "attention_mask": [1] * len(ids)}
        given |= {"token_type_ids": types} if self._has_types else {}
        arrays = {k: self.torch.tensor([v], device=self.device) for k, v in given.items()}
        with self.torch.inference_mode():
            return self._model(**arrays).logits[0]

    def __call__(self, ids: list[int], types: list[int]) -> NDArray[np.float32]:
        """Return the outputs for one text as an array."""
        return np.asarray(self.logits(ids, types).cpu().numpy(), np.float32)


@contextmanager
def quiet(transformers: ModuleType) -> Iterator[None]:
    """Switch off progress bars and reports of new heads while weights are loaded."""
    settings = transformers.utils.logging
    bars, verbosity = settings.is_progress_bar_enabled(), settings.get_verbosity()
    settings.disable_progress_bar()
    settings.set_verbosity_error()
    try:
        yield
    finally:
        settings.set_verbosity(verbosity)
        if bars:
            settings.enable_progress_bar()


Network: TypeAlias = OnnxNetwork | TransformersNetwork
"""It reads one text at a time, on so many ``threads``; 0 is any number."""


class LabelSettings(Settings, frozen=True):
    """Settings of classifiers of pairs, or of the tokens of the right side of a pair."""

    max_tokens: Annotated[int, msgspec.Meta(ge=MIN_TOKENS)]  # of both sides together
    labels: list[str]  # of the outputs; a single output is the probability of its label
    positive: str  # the label whose probability is returned


class PairReader(Engine):
    """A network on pairs. Of the right side the first half of what it reads is kept."""

    def __init__(
        self, folder: ModelFolder, settings: LabelSettings, loader: ModelLoader, network: Network
    ) -> None:
        if settings.positive not in settings.labels:
            raise ModelFolderError(
                f"{folder.path / 'card.toml'}: settings.positive: one of "
                f"{', '.join(settings.labels)} is needed, found {settings.positive!r}"
            )
        super().__init__(folder, loader, network.engine)
        self._network, self.labels = network, tuple(settings.labels)
        self._positive = self.labels.index(settings.positive)
        self._both = settings.max_tokens - self.tokenizer.num_special_tokens_to_add(is_pair=True)
        self.room = self._both // 2
        self.threads = network.threads or loader.workers

    def _read_pair(
        self, left: str, right: str, kept: Callable[[str, int], str] = ending
    ) -> Encoding:
        """Return the tokens of a pair with special ones, the end or beginning of the left side."""
        second = self.encoded(beginning(right, self.room))
        second.truncate(self.room)
        rest = self._both - len(second.ids)
        first = self.encoded(kept(left, rest))
        first.truncate(rest, direction="left" if kept is ending else "right")
        return self.tokenizer.post_process(first, second, True)

    def _is_cut(self, left: str, right: str) -> bool:
        if self.truncated([right])[0]:
            return True
        return is_longer(self.tokenizer, left, self._both - len(self.encoded(tokenizable(right))))


class CrossEncoder(PairReader):
    """A classifier of pairs: probabilities of its labels, or of the positive one.

    Of the left side the end is kept.
    """

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Return for each pair whether a part of it is not read."""
        return [self._is_cut(" ".join(left), right) for left, right in pairs]

    def classify(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability of the positive label for each pair, 0 to 1."""
        return self.label_chances(self.labels[self._positive], pairs)

    def label_chances(self, label: str, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability of a label for each pair, 0 to 1."""
        if label not in self.labels:
            raise ModelFolderError(
                f"{self.identity}: its config.json has no label {label!r} (id2label); it has "
                f"{', '.join(self.labels)}"
            )
        return [float(row[self.labels.index(label)]) for row in self.label_probabilities(pairs)]

    def label_probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        """Return the probability of each label for each pair, shape ``(pairs, labels)``."""
        rows = self.cache.cached_arrays(
            self.identity,
            [(*pair.left, pair.right) for pair in pairs],
            lambda missing: run_apart(self._probabilities, missing, self.threads),
            np.float32,
        )
        return np.array(rows, np.float32).reshape(-1, len(self.labels))

    def _probabilities(self, pair: tuple[str, ...]) -> NDArray[np.float32]:
        *left, right = pair
        read = self._read_pair(" ".join(left), right)
        logits = self._network(read.ids, read.type_ids)
        if len(logits) != len(self.labels):
            raise ModelFolderError(
                f"{self.identity}: {len(logits)} outputs for the labels {', '.join(self.labels)}"
            )
        return np.asarray(sigmoid(logits), np.float32) if len(logits) == 1 else softmax(logits)


PROMPT = resources.files("grice").joinpath("data/lettucedetect.j2").read_text("utf-8").strip()
"""The prompt of LettuceDetect, version 1."""


class SpanSettings(LabelSettings, frozen=True):
    """Settings of token classifiers: the prompt with ``question`` and ``knowledge``."""

    prompt: str = PROMPT


class TokenSpans(PairReader):
    """A classifier of tokens: probability that the prompt does not support a token of a reply.

    Of a long prompt the beginning is kept.
    """

    def __init__(
        self, folder: ModelFolder, settings: SpanSettings, loader: ModelLoader, network: Network
    ) -> None:
        super().__init__(folder, settings, loader, network)
        card = folder.path / "card.toml"
        if len(self.labels) != 2:
            raise ModelFolderError(
                f"{card}: settings.labels: a classifier of tokens has two labels, found "
                f"{', '.join(self.labels)}"
            )
        self._prompt = PromptTemplate(settings.prompt, f"{card}: settings.prompt", self.tokenizer)

    def unsupported(self, replies: Sequence[GroundedReply]) -> list[list[TaggedSpan]]:
        """Return each token of each reply with the probability that nothing supports it."""
        return self.cache.cached(
            self.identity,
            list(replies),
            lambda missing: run_apart(self._spans, missing, self.threads),
            list[TaggedSpan],
        )

    def cut(self, replies: Sequence[GroundedReply]) -> list[bool]:
        """Return for each reply whether a part of it or of its prompt is not read."""
        return [self._is_cut(self._left(each), each.reply) for each in replies]

    def _left(self, reply: GroundedReply) -> str:
        return self._prompt.render(question=reply.question, knowledge=[*reply.knowledge])

    def _spans(self, reply: GroundedReply) -> list[TaggedSpan]:
        read = self._read_pair(self._left(reply), reply.reply, beginning)
        logits = self._network(read.ids, read.type_ids)
        if logits.shape != (len(read.ids), 2):
            raise ModelFolderError(
                f"{self.identity}: outputs of shape {logits.shape}; two of each token are expected"
            )
        chances = softmax(logits)[:, self._positive].tolist()
        return [
            TaggedSpan(*offsets, "unsupported", chance)
            for side, offsets, chance in zip(read.sequence_ids, read.offsets, chances, strict=True)
            if side == 1 and offsets[0] < offsets[1]
        ]


def _type(
    name: str,
    task: str,
    network: Callable[[ModelFolder], Network],
    reader: type[PairReader] = CrossEncoder,
    settings: type[LabelSettings] = LabelSettings,
) -> ModelType:
    @model_type(name, task=task, settings=settings, convert=keep_checkpoint)
    def opened(folder: ModelFolder, settings: LabelSettings, loader: ModelLoader) -> PairReader:
        return reader(folder, settings, loader, network(folder))

    return opened


SPANS = (TokenSpans, SpanSettings)
onnx_classifier = _type("onnx-classifier", "relevance", OnnxNetwork)
onnx_nli = _type("onnx-nli", "entailment", OnnxNetwork)
onnx_spans = _type("onnx-spans", "unsupported spans", OnnxNetwork, *SPANS)
transformers_classifier = _type("transformers-classifier", "relevance", TransformersNetwork)
transformers_nli = _type("transformers-nli", "entailment", TransformersNetwork)
_tagger = partial(TransformersNetwork, auto="TokenClassification")
transformers_spans = _type("transformers-spans", "unsupported spans", _tagger, *SPANS)


class TransformersCausalLM(WindowedLM):
    """A causal language model; one text at a time, by all threads of torch."""

    def __init__(self, folder: ModelFolder, settings: CausalSettings, loader: ModelLoader) -> None:
        self._network = TransformersNetwork(folder, "CausalLM")
        super().__init__(folder, settings, loader, self._network.engine)
        self.threads = self._network.threads

    def _window_log_probabilities(self, windows: list[Tokens]) -> list[list[float]]:
        chosen = []
        for tokens in windows:
            # Every token is one of the vocabulary: it comes from the same tokenizer.
            ids = [self.tokenizer.token_to_id(token) or 0 for token in tokens]
            values = self._network.logits(ids, [])[:-1].log_softmax(-1)
            taken = self._network.torch.tensor(ids[1:], device=self._network.device)
            chosen.append(values.gather(-1, taken[:, None])[:, 0].tolist())
        return chosen


transformers_causal_lm = model_type(
    "transformers-lm",
    task="likelihood",
    settings=CausalSettings,
    convert=partial(keep_checkpoint, longest=WINDOW),  # windows overlap: no token is left out
)(TransformersCausalLM)
