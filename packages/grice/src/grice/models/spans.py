"""Span tagger: a small network on token states with a linear-chain model of tags.

A token is outside every span, begins one or continues one. The network reads the states of a
token and its neighbours; a linear chain (Lafferty et al., 2001) picks the best sequence of tags
and gives the probability of each span.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Annotated, NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from grice.errors import ModelFolderError
from grice.models.cache import Cache
from grice.models.folder import ModelFolder
from grice.models.loader import ModelLoader, Settings, model_type
from grice.models.mlp import Mlp
from grice.models.protocols import TaggedSpan
from grice.text.tokens import cut_places

Array: TypeAlias = NDArray[np.float32]
Sums: TypeAlias = NDArray[np.float64]
Offsets: TypeAlias = list[tuple[int, int]]
State: TypeAlias = tuple[Array, Offsets]

OUTSIDE, BEGIN, INSIDE = range(3)
TAGS = 3
CHARACTERS = 600
"""Most characters tagged at once; a longer text is cut at the ends of sentences."""
WINDOWS = 512
"""Windows read at once: their states take some 20 MB for texts of common length. While these are
decoded the next ones are read, which needs the engine and hardly the interpreter."""
ALWAYS_READ = 200
"""A window of so many characters has fewer tokens than any encoder reads: it is never cut."""
NEVER = -1e4  # log weight of a transition that cannot be


class SpanSettings(Settings, frozen=True):
    """Settings of type ``span-head``; tags are in the order outside, begin, inside."""

    label: str
    reach: int  # neighbours on each side that the network reads
    start: Annotated[tuple[float, ...], msgspec.Meta(min_length=TAGS, max_length=TAGS)]
    transitions: Annotated[tuple[float, ...], msgspec.Meta(min_length=TAGS**2, max_length=TAGS**2)]


class _Window(NamedTuple):
    """A part of a text that is tagged at once."""

    text: int
    start: int
    content: str

    def cut(self, most: int) -> list[_Window]:
        """Cut at ends of sentences or words into windows of at most ``most`` characters."""
        return [
            _Window(self.text, self.start + a, self.content[a:b])
            for a, b in pairwise(cut_places(self.content, most, most))
            if self.content[a:b].strip()
        ]


class SpanHead:
    """Tagger of spans, each by the tokens around it.

    A span's borders are borders of words. A text longer than :data:`CHARACTERS` is tagged in
    windows, which no span crosses.
    """

    def __init__(
        self,
        settings: SpanSettings,
        folder: Path,
        hidden_states: Callable[[Sequence[str]], Sequence[State]],
        identity: str,
        cache: Cache | None = None,
    ) -> None:
        self.identity = identity
        self._hidden_states = hidden_states
        self._cache = cache
        self._network = Mlp.load(folder / "head.npz")
        self._label = settings.label
        self._reach = settings.reach
        self._start = np.array(settings.start, np.float32)
        self._start[INSIDE] = NEVER
        self._transitions = np.array(settings.transitions, np.float32).reshape(TAGS, TAGS)
        if self._network.layers[-1][0].shape[1] != TAGS:
            raise ModelFolderError(
                f"{folder / 'head.npz'}: the network does not give {TAGS} outputs"
            )

    def tag(self, texts: Sequence[str]) -> list[tuple[TaggedSpan, ...]]:
        """Return the spans of each text in order of their start, without overlap.

        Their confidence is the probability that exactly these characters are a span.
        """
        if self._cache is None:
            return self._tagged(texts)
        return self._cache.cached(self.identity, texts, self._tagged, tuple[TaggedSpan, ...])

    def _tagged(self, texts: Sequence[str]) -> list[tuple[TaggedSpan, ...]]:
        tagged: list[list[TaggedSpan]] = [[] for _ in texts]
        whole = (_Window(i, 0, text) for i, text in enumerate(texts))
        windows = [window for text in whole for window in text.cut(CHARACTERS)]
        windows.sort(key=lambda window: len(window.content))
        for block, answers in self._read_ahead(windows):
            read: list[tuple[_Window, Array, Offsets]] = []
            for window, (states, offsets) in zip(block, answers, strict=True):
                inner = [i for i, (start, end) in enumerate(offsets) if end > start]
                first = offsets[inner[0]][0] if inner else 0
                if len(window.content) > ALWAYS_READ and window.content[:first].strip():
                    windows += window.cut(-(-len(window.content) // 2))
                elif inner:
                    read.append((window, states[inner], [offsets[i] for i in inner]))
            read.sort(key=lambda each: -len(each[2]))
            for (window, *_), spans in zip(read, self._spans(read) if read else (), strict=True):
                tagged[window.text] += spans
        return [tuple(sorted(spans)) for spans in tagged]

    def _read_ahead(
        self, windows: list[_Window]
    ) -> Iterator[tuple[list[_Window], Sequence[State]]]:
        """Take windows from the end with their states; the next ones are already computed."""
        with ThreadPoolExecutor(1) as thread:
            waiting: list[tuple[list[_Window], Future[Sequence[State]]]] = []
            while windows or waiting:
                if block := windows[-WINDOWS:]:
                    del windows[-WINDOWS:]
                    texts = [window.content for window in block]
                    waiting.append((block, thread.submit(self._hidden_states, texts)))
                if len(waiting) > 1 or not windows:
                    block, answers = waiting.pop(0)
                    yield block, answers.result()

    def _spans(self, read: Sequence[tuple[_Window, Array, Offsets]]) -> list[list[TaggedSpan]]:
        """Return the spans of windows, the longest first; each has a token or more."""
        lengths = np.array([len(states) for _, states, _ in read])
        emissions = np.zeros((len(read), lengths[0], TAGS), np.float32)
        starts = np.ones((len(read), lengths[0]), np.bool_)
        for row, (window, states, offsets) in enumerate(read):
            tokens = neighbourhood(states, self._reach)
            emissions[row, : len(tokens)] = self._network.forward_joint(tokens)
            starts[row, : len(tokens)] = word_starts(window.content, offsets)
        weights = _weights_into(self._transitions, starts)
        chain = _Chain(emissions, self._start, weights, lengths)
        paths = best_paths(emissions, self._start, weights, lengths)
        return [
            [
                TaggedSpan(
                    window.start + offsets[first][0],
                    window.start + offsets[last][1],
                    self._label,
                    chain.probability(row, first, last),
                )
                for first, last in _runs(path)
            ]
            for row, ((window, _, offsets), path) in enumerate(zip(read, paths, strict=True))
        ]


class _Chain:
    """A linear chain over the tags of texts, all at once; see :func:`best_paths`."""

    def __init__(
        self, emissions: Array, start: Array, weights: Array, lengths: NDArray[np.int64]
    ) -> None:
        self._emissions, self._weights, self._lengths = emissions, weights, lengths
        # Sums in logarithms over all paths up to each tag, and behind it.
        self._forward = forward = np.empty(emissions.shape, np.float64)
        self._backward = backward = np.zeros(emissions.shape, np.float64)
        counts = (lengths[:, None] > np.arange(emissions.shape[1])).sum(axis=0)
        forward[:, 0] = start + emissions[:, 0]
        for i in range(1, emissions.shape[1]):
            live = slice(counts[i])
            into = forward[live, i - 1, :, None] + weights[live, i]
            forward[live, i] = _log_sum(into.swapaxes(1, 2)) + emissions[live, i]
        for i in range(emissions.shape[1] - 1, 0, -1):
            live = slice(counts[i])
            onward = weights[live, i] + emissions[live, i, None] + backward[live, i, None]
            backward[live, i - 1] = _log_sum(onward)

    def probability(self, row: int, first: int, last: int) -> float:
        """Return the probability that exactly these tokens of a text are a span."""
        emissions, weights = self._emissions[row], self._weights[row]
        end = self._lengths[row]
        score = self._forward[row, first, BEGIN]
        for i in range(first + 1, last + 1):
            score += weights[i, INSIDE if i - 1 > first else BEGIN, INSIDE] + emissions[i, INSIDE]
        state = INSIDE if last > first else BEGIN
        if last + 1 < end:  # the next token must not continue the span
            following = (
                weights[last + 1, state] + emissions[last + 1] + self._backward[row, last + 1]
            )
            score += _log_sum(following[[OUTSIDE, BEGIN]])
        return min(1.0, float(np.exp(score - _log_sum(self._forward[row, end - 1]))))


def best_paths(
    emissions: Array, start: Array | Sums, weights: Array, lengths: NDArray[np.int64]
) -> list[list[int]]:
    """Return the most probable sequence of tags of each text, the longest text first."""
    counts = (lengths[:, None] > np.arange(emissions.shape[1])).sum(axis=0)
    score = start + emissions[:, 0]
    back = np.zeros(emissions.shape, np.int64)
    for i in range(1, emissions.shape[1]):
        live = slice(counts[i])
        into = score[live, :, None] + weights[live, i]
        back[live, i] = into.argmax(axis=1)
        score[live] = into.max(axis=1) + emissions[live, i]
    tags = np.zeros(emissions.shape[:2], np.int64)
    tag = score.argmax(axis=1)
    for i in range(emissions.shape[1] - 1, 0, -1):
        live = slice(counts[i])
        tags[live, i] = tag[live]
        tag[live] = back[np.arange(counts[i]), i, tag[live]]
    tags[:, 0] = tag
    return [row[:length].tolist() for row, length in zip(tags, lengths, strict=True)]


def neighbourhood(states: Array, reach: int) -> Array:
    """Return each token's state between those of its neighbours, zeros beyond the text."""
    padded = np.zeros((len(states) + 2 * reach, states.shape[1]), np.float32)
    padded[reach : reach + len(states)] = states
    return np.concatenate(
        [padded[i : i + len(states)] for i in range(2 * reach + 1)], axis=1, dtype=np.float32
    )


def word_starts(text: str, offsets: Iterable[tuple[int, int]]) -> list[bool]:
    """Return for each token whether a word or a mark starts with it."""
    starts = []
    end_before = -1
    for start, end in offsets:
        inside = start == end_before and text[start].isalnum() and text[start - 1].isalnum()
        starts.append(not inside)
        end_before = end
    return starts


def _weights_into(transitions: Array, starts: NDArray[np.bool_]) -> Array:
    """Return the log weights of the tags into each token, where no tag cuts a word."""
    within = ~starts
    weights = np.tile(transitions, (*within.shape, 1, 1))
    weights[:, :, OUTSIDE, INSIDE] = NEVER
    weights[within, :, BEGIN] = NEVER
    weights[within, BEGIN, OUTSIDE] = NEVER
    weights[within, INSIDE, OUTSIDE] = NEVER
    return weights


def _log_sum(values: Array | Sums) -> Sums:
    top = values.max(axis=-1, keepdims=True)
    sums: Sums = top[..., 0] + np.log(np.exp(values - top, dtype=np.float64).sum(axis=-1))
    return sums


def _runs(path: list[int]) -> list[tuple[int, int]]:
    """Return first and last token of each span of a sequence of tags."""
    runs: list[tuple[int, int]] = []
    for i, tag in enumerate(path):
        if tag == BEGIN:
            runs.append((i, i))
        elif tag == INSIDE:
            runs[-1] = (runs[-1][0], i)
    return runs


@model_type("span-head", task="events", settings=SpanSettings)
def span_head(folder: ModelFolder, settings: SpanSettings, loader: ModelLoader) -> SpanHead:
    """Open a tagger with its encoder."""
    from grice.models.embedded import EmbeddedEncoder

    encoder = loader.encoder_of(folder, EmbeddedEncoder)
    identity = f"{folder.identity}/{encoder.identity}"
    return SpanHead(settings, folder.path, encoder.hidden_states, identity, loader.cache)
