"""Model interfaces; metrics depend on these, not on an engine.

Every call takes a whole batch and returns one answer per item in the same order. An answer
depends only on its own item.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

from grice.data import Conversation, Response
from grice.errors import ModelFolderError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


Vector: TypeAlias = "NDArray[np.float32]"

Answer = TypeVar("Answer")


class Pair(NamedTuple):
    """A history in segments and a reply, or one premise and a hypothesis."""

    left: tuple[str, ...]
    right: str


class Dialogue(NamedTuple):
    """Speaker and text of each turn of a conversation."""

    speakers: tuple[str, ...]
    texts: tuple[str, ...]


class TaggedSpan(NamedTuple):
    """A labelled span ``text[start:end]`` and its probability."""

    start: int
    end: int
    label: str
    confidence: float


class PromptPart(NamedTuple):
    """A part of a prompt: context, or a target span."""

    text: str
    target: bool = False


Prompt: TypeAlias = "Sequence[PromptPart]"  # context and target spans, read at once


class TokenScore(NamedTuple):
    """Log probability (nats) of the token ``text[start:end]`` of a target span."""

    start: int
    end: int
    log_probability: float


class Generated(NamedTuple):
    """A generated text and its length-normalised log probability (at most 0)."""

    text: str
    log_probability: float


class Message(NamedTuple):
    """A message to a chat model; ``role`` is ``system`` or ``user``."""

    role: str
    content: str


class ChatRequest(NamedTuple):
    """A request to a chat model; ``seed`` tells equal requests apart."""

    messages: tuple[Message, ...]
    temperature: float = 0.0  # of the draw of tokens; 0 takes the most probable ones
    seed: int = 0
    max_tokens: int = 256  # of the answer


class Unanswered(NamedTuple):
    """The reason for a missing or invalid answer of a chat model."""

    reason: str


class Reader(Protocol):
    """A model of texts with a maximum length; equal identities give equal numbers."""

    identity: str

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is too long to be read whole."""


@runtime_checkable
class JointReader(Reader, Protocol):
    """A model that reads the parts of an item, such as a reply and its history, in one window."""

    def cut(self, items: Sequence[Any]) -> list[bool]:
        """Return for each item (a pair, or a reply) whether it is too long to be read whole."""


@runtime_checkable
class Encoder(Reader, Protocol):
    """Sentence vectors."""

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        """Return one unit vector per text, of shape ``(dimensions,)`` and type float32.

        A text without a word gives the zero vector.
        """


def encode_distinct(encoder: Encoder, texts: Iterable[str]) -> dict[str, Vector]:
    """Return the unit vector of each distinct text."""
    distinct = list(dict.fromkeys(texts))
    return dict(zip(distinct, encoder.encode(distinct), strict=True)) if distinct else {}


def check_width(width: int, expected: int, place: Path, encoder: Encoder) -> None:
    """Refuse an encoder whose vectors do not fit the networks of a model."""
    if width != expected:
        raise ModelFolderError(
            f"{place}: its networks read vectors of {expected} numbers, the encoder "
            f"{encoder.identity} gives {width}; use the encoder its card names"
        )


@runtime_checkable
class PairClassifier(Reader, Protocol):
    """Classifier of pairs."""

    def classify(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability of the positive class for each pair, 0 to 1."""


@runtime_checkable
class FlawModel(Reader, Protocol):
    """Classifier of flaws of replies; the first of ``flaws`` is any flaw at all."""

    flaws: tuple[str, ...]

    def log_odds(self, responses: Sequence[Response]) -> NDArray[np.float32]:
        """Return the log odds of each flaw of each reply, shape ``(replies, flaws)``."""


@runtime_checkable
class RubricJudge(JointReader, Protocol):
    """Chat model that answers by one token."""

    def grade(self, items: Sequence[Response | Conversation], rubric: str) -> NDArray[np.float32]:
        """Return how far each reply or conversation meets a rubric, 0 to 1, ``(items,)``."""


@runtime_checkable
class EntailmentClassifier(PairClassifier, Protocol):
    """Classifier of premise and hypothesis."""

    def label_chances(self, label: str, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability of a label, such as ``contradiction``, for each pair, 0 to 1."""


class GroundedReply(NamedTuple):
    """A reply, the last turn before it, and the texts that it was given."""

    question: str
    knowledge: tuple[str, ...]
    reply: str


@runtime_checkable
class SpanDetector(JointReader, Protocol):
    """Token classifier of replies with the texts they were given."""

    def unsupported(self, replies: Sequence[GroundedReply]) -> list[list[TaggedSpan]]:
        """Return each token of each reply with the probability that nothing supports it."""


@runtime_checkable
class DialogueClassifier(Reader, Protocol):
    """Scores how coherent conversations are, and their turns."""

    def read(self, dialogues: Sequence[Dialogue]) -> list[tuple[float, tuple[float, ...]]]:
        """Return for each conversation a value, and one for each of its turns, all 0 to 1."""


@runtime_checkable
class CausalLM(Reader, Protocol):
    """Causal language model."""

    def token_scores(self, prompts: Sequence[Prompt]) -> list[list[list[TokenScore]]]:
        """Return for each prompt the tokens of each of its target spans."""


@runtime_checkable
class PromptEncoder(Reader, Protocol):
    """Vectors of spans that depend on the text before them."""

    dimensions: int

    def mean_states(self, prompts: Sequence[Prompt]) -> list[list[Vector]]:
        """Return the mean hidden state, ``(dimensions,)``, of each target span of each prompt."""


@runtime_checkable
class Chat(Protocol):
    """Chat model with structured output."""

    identity: str

    def answers(
        self, requests: Sequence[ChatRequest], form: type[Answer]
    ) -> list[Answer | Unanswered]:
        """Return the answer to each request as a record of type ``form``, or why it is missing.

        Raises StoppedError at a limit of requests, or if the endpoint stops answering.
        """
