"""Published encoder-decoders (T5, BART) on CTranslate2: text in, text out, by beam search.

A decoder alone that was trained as these are answers the same.

``exact`` gives what transformers gives in float32, with one difference of the engines: where
repeated n-grams are forbidden, CTranslate2 searches with what is left made to sum to one,
transformers without. Texts in which something was forbidden are therefore scored once more, each by
itself, and ranked as transformers does: by the sum of the log probabilities of their pieces, over
their number.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, NamedTuple, Protocol, runtime_checkable

import ctranslate2
import msgspec

from grice.errors import InputError, ModelFolderError
from grice.models.batching import groups, run_batches
from grice.models.loader import Settings, model_type
from grice.models.protocols import Generated
from grice.models.tokenization import open_tokenizer, tokenizable
from grice_research.published_models.convert import convert_seq2seq

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenizers import Tokenizer

    from grice.models.cache import Cache
    from grice.models.folder import ModelFolder
    from grice.models.loader import Mode, ModelLoader

ROWS = 64
"""Texts that are continued at once, over all prompts and beams."""
SPACES = re.compile(r" (?=[.?!,]|n't\b|'(?:m|s|ve|re)\b)")


class Search(NamedTuple):
    """How texts are looked for.

    Attributes:
        beams: Width of the search.
        returned: Texts that are returned, at most ``beams``.
        max_pieces: Longest text in pieces, the piece that ends it included.
        no_repeat: Length of n-grams of pieces that may not come twice; 0 allows all.
    """

    beams: int
    returned: int
    max_pieces: int
    no_repeat: int = 0


@runtime_checkable
class Seq2Seq(Protocol):
    """Writes texts from texts."""

    identity: str

    def write(self, prompts: Sequence[str], search: Search) -> list[tuple[Generated, ...]]:
        """Return texts per prompt, the best first, with their mean log probabilities."""
        ...

    def knows(self, piece: str) -> bool:
        """Return whether something is one piece of the vocabulary."""
        ...


class Seq2SeqSettings(Settings, frozen=True):
    """Settings of type ``seq2seq``.

    Attributes:
        arithmetic: ``float32`` or ``int8`` in both modes; empty leaves it to the mode.
        positions: Most pieces of a prompt; 0 if the model has no limit.
        first: Piece that every output begins with.
        separator: Stands behind a prompt that a decoder alone continues; empty for an
            encoder-decoder.
        end: Piece that ends what a decoder alone writes.
    """

    arithmetic: str = ""
    positions: Annotated[int, msgspec.Meta(ge=0)] = 0
    first: str = ""
    separator: str = ""
    end: str = ""


class Engine(Protocol):
    """Search options of text generation, all in pieces of the vocabulary."""

    end: str

    def read(self, prompt: str, search: Search) -> list[str]:
        """Return the pieces of a prompt, as many as there is room for."""
        ...

    def hypotheses(
        self, sources: Sequence[list[str]], search: Search, count: int
    ) -> list[list[tuple[list[str], float]]]:
        """Return so many outputs per prompt with their mean log probabilities."""
        ...

    def log_probabilities(self, source: list[str], body: list[str]) -> list[float]:
        """Return those of the pieces of an output, and of the piece that ends it."""
        ...


class EmbeddedSeq2Seq:
    """A :class:`Seq2Seq` whose answers are kept."""

    def __init__(
        self,
        folder: ModelFolder,
        settings: Seq2SeqSettings,
        cache: Cache,
        *,
        mode: Mode,
        threads: int,
    ) -> None:
        arithmetic = settings.arithmetic or {"exact": "float32", "fast": "int8"}[mode]
        self.identity = f"{folder.identity}/{arithmetic}/ct2-{ctranslate2.__version__}"
        self._cache = cache
        self._threads = threads
        self._tokenizer = open_tokenizer(folder)
        self._alone = arithmetic == "float32"
        self._engine = _open_engine(folder, settings, self._tokenizer, arithmetic, threads)

    def knows(self, piece: str) -> bool:
        """Return whether something is one piece of the vocabulary."""
        return self._tokenizer.token_to_id(piece) is not None

    def write(self, prompts: Sequence[str], search: Search) -> list[tuple[Generated, ...]]:
        """Return texts per prompt, the best first; see :class:`Seq2Seq`."""
        if not 1 <= search.returned <= search.beams:
            raise InputError(f"{search.returned} texts of a search of {search.beams}: 1 to as many")
        return self._cache.cached(
            f"{self.identity}/{'-'.join(map(str, search))}",
            prompts,
            lambda texts: self._computed(texts, search),
            tuple[Generated, ...],
        )

    def _computed(self, prompts: Sequence[str], search: Search) -> list[tuple[Generated, ...]]:
        sources = [self._engine.read(prompt, search) for prompt in prompts]
        written: list[tuple[Generated, ...]] = [()] * len(prompts)
        count = search.beams if search.no_repeat else search.returned

        def compute(batch: list[int]) -> None:
            results = self._engine.hypotheses([sources[i] for i in batch], search, count)
            for i, result in zip(batch, results, strict=True):
                best = self._best(sources[i], result, search)
                written[i] = tuple(Generated(self._text(pieces), score) for pieces, score in best)

        most = 1 if self._alone else max(1, ROWS // search.beams)
        batches = [
            group[start : start + most]
            for group in groups([len(source) for source in sources])
            for start in range(0, len(group), most)
        ]
        run_batches(compute, batches, self._threads)
        return written

    def _best(
        self, source: list[str], results: Sequence[tuple[list[str], float]], search: Search
    ) -> list[tuple[list[str], float]]:
        """Return the best hypotheses with their mean log probabilities.

        The engine's score is that or, where something was forbidden, more. So hypotheses are scored
        again, the likeliest first, until none of the others can be among the best.
        """
        best: list[tuple[list[str], float]] = []
        for pieces, most in sorted(results, key=lambda result: -result[1]):
            if len(best) == search.returned and most <= best[-1][1]:
                break
            again = _was_restricted(pieces, search.no_repeat)
            best.append((pieces, self._score(source, pieces) if again else most))
            best = sorted(best, key=lambda result: -result[1])[: search.returned]
        return best

    def _score(self, source: list[str], pieces: list[str]) -> float:
        """Return the mean log probability of a hypothesis, its end included if it has one."""
        body = pieces[:-1] if pieces[-1:] == [self._engine.end] else pieces
        logs = self._engine.log_probabilities(source, body)[: len(pieces)]
        return float(sum(logs)) / max(1, len(logs))

    def _text(self, pieces: Sequence[str]) -> str:
        ids = [self._tokenizer.token_to_id(piece) for piece in pieces]
        return cleaned(self._tokenizer.decode([i for i in ids if i is not None]))


class EncoderDecoder:
    """An :class:`Engine` with an encoder."""

    def __init__(
        self,
        translator: ctranslate2.Translator,
        tokenizer: Tokenizer,
        positions: int,
        first: str,
    ) -> None:
        self._translator, self._tokenizer, self._positions = translator, tokenizer, positions
        self._first = [first] if first else []
        # T5 and BART end what they read as they end what they write.
        self.end = "".join(tokenizer.encode("").tokens[-1:])

    def read(self, prompt: str, search: Search) -> list[str]:
        """Return the pieces of a prompt; see :class:`Engine`."""
        del search
        pieces = list(self._tokenizer.encode(tokenizable(prompt)).tokens)
        room = self._positions
        return pieces if not room or len(pieces) <= room else [*pieces[: room - 1], pieces[-1]]

    def hypotheses(
        self, sources: Sequence[list[str]], search: Search, count: int
    ) -> list[list[tuple[list[str], float]]]:
        """Return outputs; see :class:`Engine`."""
        results = self._translator.translate_batch(
            list(sources),
            target_prefix=[self._first for _ in sources],
            beam_size=search.beams,
            num_hypotheses=count,
            # Transformers counts the piece that starts the output, too.
            max_decoding_length=search.max_pieces - 1,
            min_decoding_length=0,  # as transformers: the end may come first
            max_input_length=0,
            no_repeat_ngram_size=search.no_repeat,
            return_scores=True,
            return_end_token=True,
        )
        return [list(zip(r.hypotheses, map(float, r.scores), strict=True)) for r in results]

    def log_probabilities(self, source: list[str], body: list[str]) -> list[float]:
        """Return those of an output; see :class:`Engine`."""
        (result,) = self._translator.score_batch([source], [body], max_input_length=0)
        return list(result.log_probs)


class Continuation:
    """A decoder alone, an :class:`Engine`: it goes on behind a prompt and a separator.

    N-grams that may not come twice are those of what it writes: what it reads does not count.
    """

    def __init__(
        self,
        generator: ctranslate2.Generator,
        tokenizer: Tokenizer,
        separator: str,
        end: str,
        positions: int,
    ) -> None:
        self._generator, self._tokenizer = generator, tokenizer
        self._separator = list(tokenizer.encode(separator, add_special_tokens=False).tokens)
        self.end, self._positions = end, positions

    def read(self, prompt: str, search: Search) -> list[str]:
        """Return the pieces of a prompt and of the separator; the text has room behind them.

        Where both are too long for the network, the prompt has half of the room at least.
        """
        room = max(self._positions // 2, self._positions - search.max_pieces) - len(self._separator)
        pieces = list(self._tokenizer.encode(tokenizable(prompt)).tokens)
        return [*(pieces[:room] if self._positions else pieces), *self._separator]

    def hypotheses(
        self, sources: Sequence[list[str]], search: Search, count: int
    ) -> list[list[tuple[list[str], float]]]:
        """Return continuations with their mean log probabilities."""
        longest = max(map(len, sources))
        left = self._positions - longest if self._positions else search.max_pieces
        results = self._generator.generate_batch(
            list(sources),
            include_prompt_in_result=False,
            beam_size=search.beams,
            num_hypotheses=count,
            max_length=min(search.max_pieces, left),
            min_length=0,  # the end may come first
            no_repeat_ngram_size=search.no_repeat,
            end_token=self.end,
            return_scores=True,
            return_end_token=True,
        )
        return [list(zip(r.sequences, map(float, r.scores), strict=True)) for r in results]

    def log_probabilities(self, source: list[str], body: list[str]) -> list[float]:
        """Return those of the pieces of a continuation, and of the piece that ends it."""
        (result,) = self._generator.score_batch([[*source, *body, self.end]])
        return list(result.log_probs)[len(source) - 1 :]


def _open_engine(
    folder: ModelFolder,
    settings: Seq2SeqSettings,
    tokenizer: Tokenizer,
    arithmetic: str,
    threads: int,
) -> Engine:
    given = {"device": "cpu", "inter_threads": threads, "intra_threads": 1}
    directory = str(folder.path)
    if settings.separator:
        if tokenizer.token_to_id(settings.end) is None:
            raise ModelFolderError(
                f"{directory}: card.toml: settings.end {settings.end!r} is no piece of the "
                "vocabulary; state the one that ends what this decoder writes"
            )
        generator = ctranslate2.Generator(directory, compute_type=arithmetic, **given)
        return Continuation(
            generator, tokenizer, settings.separator, settings.end, settings.positions
        )
    translator = ctranslate2.Translator(directory, compute_type=arithmetic, **given)
    return EncoderDecoder(translator, tokenizer, settings.positions, settings.first)


def _was_restricted(pieces: Sequence[str], no_repeat: int) -> bool:
    """Return whether some piece was forbidden where an output went on.

    >>> _was_restricted(["a", "b", "a", "c"], 2), _was_restricted(["a", "b", "a"], 2)
    (True, False)
    """
    before = [tuple(pieces[i : i + no_repeat - 1]) for i in range(len(pieces) - no_repeat + 1)]
    return no_repeat > 0 and len(set(before)) < len(before)


def cleaned(text: str) -> str:
    """Return text without the blank before punctuation, as the published systems decode it.

    >>> cleaned("PersonX doesn 't say it 's late .")
    "PersonX doesn 't say it's late."
    """
    return SPACES.sub("", text)


@model_type(
    "seq2seq", task="texts", protocol=Seq2Seq, settings=Seq2SeqSettings, convert=convert_seq2seq
)
def seq2seq(folder: ModelFolder, settings: Seq2SeqSettings, loader: ModelLoader) -> EmbeddedSeq2Seq:
    """Open an encoder-decoder."""
    return EmbeddedSeq2Seq(folder, settings, loader.cache, mode=loader.mode, threads=loader.workers)
