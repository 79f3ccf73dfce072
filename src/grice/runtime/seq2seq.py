"""Published encoder-decoders (T5, BART) on CTranslate2: text in, text out, by beam search.

What transformers gives in float32 comes out, with one difference of the engines: where repeated
n-grams are forbidden, CTranslate2 searches with what is left made to sum to one, transformers
without. So the texts found are scored once more, each by itself, and ranked as transformers does:
by the sum of the log probabilities of their pieces, over their number.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, NamedTuple, Protocol, runtime_checkable

import ctranslate2
import msgspec

from grice.errors import InputError
from grice.runtime.batching import groups, run_batches
from grice.runtime.memo import remember
from grice.runtime.protocols import Generated
from grice.runtime.registry import Settings, model_kind
from grice.runtime.store.published import convert_seq2seq
from grice.runtime.tokenization import open_tokenizer, tokenizable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.runtime.bundle import Bundle
    from grice.runtime.embedded import Mode
    from grice.runtime.memo import Memo
    from grice.runtime.registry import Opener

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
        """Return texts per prompt, the best first, with their mean log probabilities.

        Raises:
            InputError: If more texts are asked for than the search is wide.
        """
        ...

    def knows(self, piece: str) -> bool:
        """Return whether something is one piece of the vocabulary."""
        ...


class Seq2SeqSettings(Settings, frozen=True):
    """Of a bundle of kind ``seq2seq``.

    Attributes:
        arithmetic: ``float32`` where the weights are stored so, and then in both modes; empty
            leaves it to the mode.
        positions: Most pieces of a prompt; 0 if the model has no limit.
        first: Piece that every output begins with.
    """

    arithmetic: str = ""
    positions: Annotated[int, msgspec.Meta(ge=0)] = 0
    first: str = ""


class EmbeddedSeq2Seq:
    """A :class:`Seq2Seq` whose answers are kept.

    Args:
        mode: ``exact`` computes in float32, ``fast`` in int8 unless the card states float32.
    """

    def __init__(
        self, bundle: Bundle, settings: Seq2SeqSettings, memo: Memo, *, mode: Mode, threads: int
    ) -> None:
        arithmetic = settings.arithmetic or {"exact": "float32", "fast": "int8"}[mode]
        self.identity = f"{bundle.identity}/{arithmetic}/ct2-{ctranslate2.__version__}"
        self._settings = settings
        self._memo = memo
        self._threads = threads
        self._tokenizer = open_tokenizer(bundle)
        self._alone = arithmetic == "float32"
        self._engine = ctranslate2.Translator(
            str(bundle.folder),
            device="cpu",
            compute_type=arithmetic,
            inter_threads=threads,
            intra_threads=1,
        )

    def knows(self, piece: str) -> bool:
        """Return whether something is one piece of the vocabulary."""
        return self._tokenizer.token_to_id(piece) is not None

    def write(self, prompts: Sequence[str], search: Search) -> list[tuple[Generated, ...]]:
        """Return texts per prompt, the best first; see :class:`Seq2Seq`."""
        if not 1 <= search.returned <= search.beams:
            raise InputError(f"{search.returned} texts of a search of {search.beams}: 1 to as many")
        return remember(
            self._memo,
            f"{self.identity}/{'-'.join(map(str, search))}",
            prompts,
            lambda texts: self._computed(texts, search),
            msgspec.json.encode,
            msgspec.json.Decoder(tuple[Generated, ...]).decode,
        )

    def _computed(self, prompts: Sequence[str], search: Search) -> list[tuple[Generated, ...]]:
        sources = [self._pieces(prompt) for prompt in prompts]
        written: list[tuple[Generated, ...]] = [()] * len(prompts)
        first = [self._settings.first] if self._settings.first else []

        def compute(batch: list[int]) -> None:
            results = self._engine.translate_batch(
                [sources[i] for i in batch],
                target_prefix=[first for _ in batch],
                beam_size=search.beams,
                num_hypotheses=search.beams if search.no_repeat else search.returned,
                # Transformers counts the piece that starts the output, too.
                max_decoding_length=search.max_pieces - 1,
                min_decoding_length=0,  # as transformers: the end may come first
                max_input_length=0,
                no_repeat_ngram_size=search.no_repeat,
                return_scores=True,
                return_end_token=True,
            )
            for i, result in zip(batch, results, strict=True):
                hypotheses = list(zip(result.hypotheses, map(float, result.scores), strict=True))
                if search.no_repeat:
                    hypotheses = self._ranked(sources[i], result.hypotheses)
                written[i] = tuple(
                    Generated(self._text(pieces), score)
                    for pieces, score in hypotheses[: search.returned]
                )

        most = 1 if self._alone else max(1, ROWS // search.beams)
        batches = [
            group[start : start + most]
            for group in groups([len(source) for source in sources])
            for start in range(0, len(group), most)
        ]
        run_batches(compute, batches, self._threads)
        return written

    def _ranked(
        self, source: list[str], hypotheses: list[list[str]]
    ) -> list[tuple[list[str], float]]:
        """Return hypotheses, the best first, with their mean log probabilities."""
        end = self._end(source)
        bodies = [pieces[:-1] if pieces[-1:] == [end] else pieces for pieces in hypotheses]
        # All of one length at a time: padding changes the last bits.
        scores = [0.0] * len(bodies)
        for group in groups([len(body) for body in bodies]):
            results = self._engine.score_batch(
                [source for _ in group], [bodies[i] for i in group], max_input_length=0
            )
            for i, result in zip(group, results, strict=True):
                ended = len(hypotheses[i]) > len(bodies[i])
                logs = list(result.log_probs)[: len(bodies[i]) + ended]
                scores[i] = float(sum(logs)) / max(1, len(logs))
        order = sorted(range(len(bodies)), key=lambda i: -scores[i])
        return [(hypotheses[i], scores[i]) for i in order]

    def _end(self, source: list[str]) -> str:
        # T5 and BART end what is read as they end what is written.
        return source[-1] if source else ""

    def _pieces(self, prompt: str) -> list[str]:
        pieces = list(self._tokenizer.encode(tokenizable(prompt)).tokens)
        room = self._settings.positions
        return pieces if not room or len(pieces) <= room else [*pieces[: room - 1], pieces[-1]]

    def _text(self, pieces: Sequence[str]) -> str:
        ids = [self._tokenizer.token_to_id(piece) for piece in pieces]
        return cleaned(self._tokenizer.decode([i for i in ids if i is not None]))


def cleaned(text: str) -> str:
    """Return text without the blank before punctuation, as the published systems decode it.

    >>> cleaned("PersonX doesn 't say it 's late .")
    "PersonX doesn 't say it's late."
    """
    return SPACES.sub("", text)


@model_kind(
    "seq2seq", answers="texts", protocol=Seq2Seq, settings=Seq2SeqSettings, convert=convert_seq2seq
)
def seq2seq(bundle: Bundle, settings: Seq2SeqSettings, opener: Opener) -> EmbeddedSeq2Seq:
    """Open an encoder-decoder."""
    return EmbeddedSeq2Seq(bundle, settings, opener.memo, mode=opener.mode, threads=opener.workers)
