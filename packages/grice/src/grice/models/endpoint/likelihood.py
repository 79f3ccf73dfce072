"""How probable texts are, by an endpoint that says so: completions that echo their prompt."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from grice.errors import ModelError
from grice.models.endpoint.chat import CHARACTERS
from grice.models.endpoint.dispatch import Dispatcher, only_choice
from grice.models.endpoint.usage import Tokens
from grice.models.protocols import Segment, TokenScore, Unanswered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.models.cache import Cache
    from grice.models.endpoint.client import Client
    from grice.models.endpoint.usage import RequestCounter
    from grice.models.protocols import Passage
    from grice.records import Json

PROBE = "The sky is blue."
"""Asked once, before anything of the user's is sent."""


class _LogProbabilities(msgspec.Struct):
    tokens: list[str] = []
    token_logprobs: list[float | None] = []
    text_offset: list[int] = []


class _Choice(msgspec.Struct):
    text: str = ""
    logprobs: _LogProbabilities | None = None


class EndpointLikelihood:
    """A language model of an endpoint; a :class:`~grice.models.protocols.CausalLM`."""

    def __init__(
        self, model: str, identity: str, client: Client, cache: Cache, requests: RequestCounter
    ) -> None:
        self.identity = identity
        self._model = model
        self._url = client.url
        self._cache = cache
        self._requests = requests
        self.close = client.close
        self._dispatcher = Dispatcher(model, client, requests)
        requests.open(model)

    def check(self) -> None:
        """Ask for the log probabilities of a sentence."""
        if not self._requests.options.dry_run:
            self._tokens([PROBE])

    def token_scores(self, passages: Sequence[Passage]) -> list[list[list[TokenScore]]]:
        """Return for each passage the tokens of each of its scored segments."""
        texts = ["".join(segment.text for segment in passage) for passage in passages]
        return [
            _by_segment(passage, tokens)
            for passage, tokens in zip(passages, self._tokens(texts), strict=True)
        ]

    def log_probabilities(self, prompts: Sequence[str], texts: Sequence[str]) -> list[float]:
        """Return the mean log probability of the tokens of each text after its prompt."""
        passages = [
            (Segment(prompt), Segment(text, scored=True))
            for prompt, text in zip(prompts, texts, strict=True)
        ]
        return [
            sum(token.log_probability for token in tokens) / max(1, len(tokens))
            for (tokens,) in self.token_scores(passages)
        ]

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return false for each text: a server refuses what is too long."""
        return [False for _ in texts]

    def _tokens(self, texts: Sequence[str]) -> list[tuple[TokenScore, ...]]:
        if self._requests.options.dry_run:  # nothing is kept of what was not answered
            for text in dict.fromkeys(texts):
                self._requests.plan(self._model, Tokens(-(-len(text) // CHARACTERS), 1))
            return [tuple(TokenScore(i, i + 1, 0.0) for i in range(len(text))) for text in texts]

        def compute(missing: list[str]) -> list[tuple[TokenScore, ...]]:
            answers = self._dispatcher.map(missing, self._asked)
            for answer in answers:
                if isinstance(answer, Unanswered):
                    raise ModelError(
                        f"the likelihood of a text by {self._model!r} is not known: {answer.reason}"
                    )
            return [answer for answer in answers if not isinstance(answer, Unanswered)]

        return self._cache.cached(f"{self.identity}/echo", texts, compute, tuple[TokenScore, ...])

    def _asked(self, text: str) -> tuple[TokenScore, ...] | Unanswered:
        body: dict[str, Json] = {
            "model": self._model,
            "prompt": text,
            "max_tokens": 1,  # none is refused by some servers; what is written is left out
            "temperature": 0.0,
            "echo": True,
            "logprobs": 1,
        }

        def read(content: bytes) -> tuple[tuple[TokenScore, ...], Tokens | None]:
            return self._read(content, text)

        return self._dispatcher.send("completions", lambda _: body, read)

    def _read(self, content: bytes, text: str) -> tuple[tuple[TokenScore, ...], Tokens | None]:
        choice, used = only_choice(content, _Choice)
        returned = choice.logprobs or _LogProbabilities()
        known = any(
            value is not None and start < len(text)
            for start, value in zip(returned.text_offset, returned.token_logprobs, strict=False)
        )
        if not known or not choice.text.startswith(text):
            raise ModelError(
                f"{self._url}: the server returns no log probabilities of the prompt for "
                f"{self._model!r}, so it cannot say how probable a text is (vLLM does; the "
                "servers of llama.cpp, Ollama and OpenAI's chat models do not); take another "
                "server, or a model here: model:medium"
            )
        ends = [*returned.text_offset[1:], len(choice.text)]
        return tuple(
            TokenScore(start, min(end, len(text)), min(0.0, value))
            for start, end, value in zip(
                returned.text_offset, ends, returned.token_logprobs, strict=False
            )
            if value is not None and start < len(text)
        ), used


def _by_segment(passage: Passage, tokens: Sequence[TokenScore]) -> list[list[TokenScore]]:
    """Return the tokens of each scored segment, by where they end, with places in it."""
    edges = [0]
    for segment in passage:
        edges.append(edges[-1] + len(segment.text))
    return [
        [
            TokenScore(max(0, token.start - start), token.end - start, token.log_probability)
            for token in tokens
            if start < token.end <= end
        ]
        for segment, (start, end) in zip(passage, pairwise(edges), strict=True)
        if segment.scored
    ]
