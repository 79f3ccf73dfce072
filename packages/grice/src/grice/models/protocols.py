"""What a model can be asked for. Metrics know these protocols and no engine.

Every call takes a whole batch and returns one answer per item in the same order. An answer
depends on its own item alone, never on its neighbours in the batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from grice.models.stepwise import Chooser, Chosen

    Vector: TypeAlias = NDArray[np.float32]

Answer = TypeVar("Answer")


class Pair(NamedTuple):
    """Two sides to be judged together.

    Attributes:
        left: Segments of the left side in order; a premise is a single one.
        right: The text on the right side, such as a hypothesis.
    """

    left: tuple[str, ...]
    right: str


class TaggedSpan(NamedTuple):
    """A labelled stretch ``text[start:end]`` and how sure the tagger is, 0 to 1."""

    start: int
    end: int
    label: str
    confidence: float


class Segment(NamedTuple):
    """A stretch of a passage that a language model reads; ``scored`` asks for its tokens."""

    text: str
    scored: bool = False


Passage: TypeAlias = "Sequence[Segment]"
"""What a language model reads at once."""


class TokenScore(NamedTuple):
    """A token, ``text[start:end]`` of its segment, and its log probability (nats, at most 0)."""

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
    """What a chat model is asked.

    Attributes:
        temperature: How freely it draws its words; 0 takes the most probable ones.
        seed: Requests that differ in nothing else are answered independently.
    """

    messages: tuple[Message, ...]
    temperature: float = 0.0
    seed: int = 0
    max_tokens: int = 256


class Unanswered(NamedTuple):
    """Why a chat model gave no usable answer to a request."""

    reason: str


class Reader(Protocol):
    """Reads texts, of which some may be too long for it."""

    identity: str
    """Names the weights and the arithmetic; equal identities give equal numbers."""

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is too long to be read whole."""
        ...


@runtime_checkable
class Encoder(Reader, Protocol):
    """Turns texts into vectors."""

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        """Return one unit vector per text, each of shape ``(dimensions,)``, float32.

        A text without a word gives the zero vector.
        """
        ...


@runtime_checkable
class PairClassifier(Reader, Protocol):
    """Judges how well two sides go together."""

    def classify(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability of the positive class for each pair, 0 to 1."""
        ...


@runtime_checkable
class SpanTagger(Protocol):
    """Finds labelled stretches in texts."""

    identity: str

    def tag(self, texts: Sequence[str]) -> list[tuple[TaggedSpan, ...]]:
        """Return the spans of each text in order of their start, without overlap."""
        ...


@runtime_checkable
class TextScorer(Protocol):
    """Says how probable texts are after prompts."""

    identity: str

    def log_probabilities(self, prompts: Sequence[str], texts: Sequence[str]) -> list[float]:
        """Return the mean log probability of each text's tokens after its prompt, at most 0."""
        ...


@runtime_checkable
class CausalLM(Reader, TextScorer, Protocol):
    """A causal language model."""

    def token_scores(self, passages: Sequence[Passage]) -> list[list[list[TokenScore]]]:
        """Return for each passage the tokens of each of its scored segments."""
        ...


@runtime_checkable
class CausalGenerator(CausalLM, Protocol):
    """A causal language model that also writes."""

    def alternatives(
        self, prompts: Sequence[str], *, count: int, stop: str = "\n", max_tokens: int = 64
    ) -> list[tuple[Generated, ...]]:
        """Return continuations that differ from their first token on: the ``count`` likeliest.

        Each goes on with the best token each time, so that nothing is drawn at random. The log
        probability of a text is that of its first token.
        """
        ...


@runtime_checkable
class SteerableLM(CausalGenerator, Protocol):
    """A causal language model that shows the logits of every step and lets others choose."""

    @property
    def vocabulary(self) -> Sequence[str]:
        """The piece of each token id."""
        ...

    def choose(
        self,
        prompts: Sequence[str],
        choosers: Sequence[Chooser],
        *,
        stop: str = "\n",
        max_tokens: int = 64,
    ) -> list[Chosen]:
        """Return continuations whose tokens are chosen.

        Args:
            choosers: What chooses, one of its own for each prompt.
        """
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
    ) -> list[tuple[Chosen, ...]]:
        """Return continuations that are drawn as the model finds them probable.

        Args:
            count: How many texts of each; equal ones are not left out.
            seed: Of what is drawn; texts of a prompt depend on no other prompt.
            temperature: Logits are divided by it.
        """
        ...

    def read_logits(
        self,
        prompts: Sequence[str],
        texts: Sequence[str],
        use: Callable[[NDArray[np.float32], list[int]], Answer],
    ) -> list[Answer]:
        """Return what a function makes of each text, read behind its prompt.

        Args:
            use: Is given the logits before each token of the text, shape ``(tokens,
                vocabulary)``, and the ids of these tokens.
        """
        ...


@runtime_checkable
class PassageEncoder(Reader, Protocol):
    """Turns segments of passages into vectors that depend on all that stands before."""

    dimensions: int

    def mean_states(self, passages: Sequence[Passage]) -> list[list[Vector]]:
        """Return for each passage the mean state of each of its scored segments."""
        ...


@runtime_checkable
class Chat(Protocol):
    """A chat model that answers in a stated form."""

    identity: str

    def answers(
        self, requests: Sequence[ChatRequest], form: type[Answer]
    ) -> list[Answer | Unanswered]:
        """Return the answer to each request, or why there is none.

        Args:
            form: What each answer must be: a record whose JSON schema the model is given.

        Raises:
            StoppedError: If nothing more may be asked, or nobody answers any more.
        """
        ...
