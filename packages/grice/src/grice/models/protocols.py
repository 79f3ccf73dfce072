"""Interfaces of models; metrics import no engine.

Every call takes a whole batch and returns one answer per item in the same order. An answer
depends on its own item alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from grice.models.decoding import Continuation, TokenSelector

    Vector: TypeAlias = NDArray[np.float32]

Answer = TypeVar("Answer")


class Pair(NamedTuple):
    """Left side in segments (a history, or one premise) and right side (a reply, a hypothesis)."""

    left: tuple[str, ...]
    right: str


class TaggedSpan(NamedTuple):
    """A labelled span ``text[start:end]`` and its probability."""

    start: int
    end: int
    label: str
    confidence: float


class Segment(NamedTuple):
    """A part of the text for a language model: context, or a target span (``scored``)."""

    text: str
    scored: bool = False


Passage: TypeAlias = "Sequence[Segment]"
"""Context and target spans, read at once."""


class TokenScore(NamedTuple):
    """Log probability (nats) of the token ``text[start:end]`` of a segment."""

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
    temperature: float = 0.0
    seed: int = 0
    max_tokens: int = 256


class Unanswered(NamedTuple):
    """The reason why a chat model gave no usable answer."""

    reason: str


class Reader(Protocol):
    """A model of texts with a maximum length.

    ``identity`` names weights and arithmetic; equal identities give equal numbers.
    """

    identity: str

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is too long to be read whole."""
        ...


@runtime_checkable
class Encoder(Reader, Protocol):
    """Sentence vectors."""

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        """Return one unit vector (float32) per text; zeros for a text without a word."""
        ...


@runtime_checkable
class PairClassifier(Reader, Protocol):
    """Classifier of pairs."""

    def classify(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability of the positive class for each pair, 0 to 1."""
        ...


@runtime_checkable
class SpanTagger(Protocol):
    """Tagger of spans."""

    identity: str

    def tag(self, texts: Sequence[str]) -> list[tuple[TaggedSpan, ...]]:
        """Return the spans of each text in order of their start, without overlap."""
        ...


@runtime_checkable
class TextScorer(Protocol):
    """Likelihood of texts after prompts."""

    identity: str

    def log_probabilities(self, prompts: Sequence[str], texts: Sequence[str]) -> list[float]:
        """Return the mean log probability of each text's tokens after its prompt, at most 0."""
        ...


@runtime_checkable
class CausalLM(Reader, TextScorer, Protocol):
    """Causal language model."""

    def token_scores(self, passages: Sequence[Passage]) -> list[list[list[TokenScore]]]:
        """Return for each passage the tokens of each of its scored segments."""
        ...


@runtime_checkable
class CausalGenerator(CausalLM, Protocol):
    """Causal language model that generates text."""

    def alternatives(
        self, prompts: Sequence[str], *, count: int, stop: str = "\n", max_tokens: int = 64
    ) -> list[tuple[Generated, ...]]:
        """Return ``count`` continuations that begin with the most probable first tokens.

        Each is continued greedily. The log probability of a text is that of its first token.
        """
        ...


@runtime_checkable
class SteerableLM(CausalGenerator, Protocol):
    """Causal language model with access to the logits of every step."""

    @property
    def vocabulary(self) -> Sequence[str]:
        """The token of each id."""
        ...

    def decode(
        self,
        prompts: Sequence[str],
        selectors: Sequence[TokenSelector],
        *,
        stop: str = "\n",
        max_tokens: int = 64,
    ) -> list[Continuation]:
        """Return continuations whose tokens are selected, by one selector per prompt."""
        ...

    def sample(
        self,
        prompts: Sequence[str],
        *,
        count: int,
        seed: int,
        temperature: float = 1.0,
        stop: str = "\n",
        max_tokens: int = 64,
    ) -> list[tuple[Continuation, ...]]:
        """Return ``count`` samples per prompt; those of a prompt depend on no other prompt."""
        ...

    def read_logits(
        self,
        prompts: Sequence[str],
        texts: Sequence[str],
        use: Callable[[NDArray[np.float32], list[int]], Answer],
    ) -> list[Answer]:
        """Return ``use(logits, ids)`` for each text after its prompt.

        ``logits`` are those before each token, shape ``(tokens, vocabulary)``.
        """
        ...


@runtime_checkable
class PassageEncoder(Reader, Protocol):
    """Vectors of segments that depend on the text before them."""

    dimensions: int

    def mean_states(self, passages: Sequence[Passage]) -> list[list[Vector]]:
        """Return for each passage the mean hidden state of each of its scored segments."""
        ...


@runtime_checkable
class Chat(Protocol):
    """Chat model with structured output."""

    identity: str

    def answers(
        self, requests: Sequence[ChatRequest], form: type[Answer]
    ) -> list[Answer | Unanswered]:
        """Return the answer to each request as a record of type ``form``, or why there is none.

        Raises StoppedError if a limit of requests is reached or the endpoint stops answering.
        """
        ...
