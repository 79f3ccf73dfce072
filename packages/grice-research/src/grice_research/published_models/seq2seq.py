"""Published encoder-decoders (T5, BART) on CTranslate2: text in, text out, by beam search.

``exact`` gives what transformers gives in float32, with one difference of the engines: where
repeated n-grams are forbidden, CTranslate2 searches with what is left made to sum to one,
transformers without. Texts in which something was forbidden are therefore scored once more, each by
itself, and ranked as transformers does: by the sum of the log probabilities of their pieces, over
their number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import ctranslate2
import msgspec

from grice.errors import InputError, ModelFolderError
from grice.models.embedded import groups, open_tokenizer, run_batches, tokenizable
from grice.models.folder import ModelFolder
from grice.models.loader import ModelLoader, Settings, model_type
from grice.models.protocols import Generated
from grice_research.published_models.convert import convert_seq2seq

ROWS = 64  # texts that are continued at once, over all prompts and beams
SPACES = re.compile(r" (?=[.?!,]|n't\b|'(?:m|s|ve|re)\b)")


class Search(NamedTuple):
    """How texts are looked for."""

    beams: int
    returned: int  # at most ``beams``
    max_pieces: int  # of a text, the piece that ends it included
    no_repeat: int = 0  # length of n-grams of pieces that may not come twice; 0 allows all


class Seq2SeqSettings(Settings, frozen=True):
    """Settings of type ``seq2seq``."""

    arithmetic: str = ""  # float32 or int8 in both modes; empty leaves it to the mode
    positions: Annotated[int, msgspec.Meta(ge=0)] = 0  # most pieces of a prompt; 0: no limit
    first: str = ""  # piece that every output begins with


class Seq2Seq:
    """Writes texts from texts; its answers are cached."""

    def __init__(self, folder: ModelFolder, settings: Seq2SeqSettings, loader: ModelLoader) -> None:
        arithmetic = settings.arithmetic or {"exact": "float32", "fast": "int8"}[loader.mode]
        self.identity = f"{folder.identity}/{arithmetic}/ct2-{ctranslate2.__version__}"
        self._cache = loader.cache
        self._threads = loader.workers
        self._tokenizer = open_tokenizer(folder)
        self._alone = arithmetic == "float32"
        self._positions = settings.positions
        self._first = [settings.first] if settings.first else []
        # T5 and BART end what they read as they end what they write.
        self._end = "".join(self._tokenizer.encode("").tokens[-1:])
        self._engine = ctranslate2.Translator(
            str(folder.path),
            device="cpu",
            compute_type=arithmetic,
            inter_threads=loader.workers,
            intra_threads=1,
        )

    def knows(self, piece: str) -> bool:
        """Return whether something is one piece of the vocabulary."""
        return self._tokenizer.token_to_id(piece) is not None

    def write(self, prompts: Sequence[str], search: Search) -> list[tuple[Generated, ...]]:
        """Return texts per prompt, the best first, with their mean log probabilities."""
        if not 1 <= search.returned <= search.beams:
            raise InputError(f"{search.returned} texts of a search of {search.beams}: 1 to as many")
        return self._cache.cached(
            f"{self.identity}/{'-'.join(map(str, search))}",
            prompts,
            lambda texts: self._computed(texts, search),
            tuple[Generated, ...],
        )

    def _computed(self, prompts: Sequence[str], search: Search) -> list[tuple[Generated, ...]]:
        sources = list(map(self._pieces, prompts))
        written: list[tuple[Generated, ...]] = [()] * len(prompts)

        def compute(batch: list[int]) -> None:
            # Transformers counts the piece that starts the output, too; the end may come first.
            results = self._engine.translate_batch(
                [sources[i] for i in batch],
                target_prefix=[self._first for _ in batch],
                beam_size=search.beams,
                max_decoding_length=search.max_pieces - 1,
                num_hypotheses=search.beams if search.no_repeat else search.returned,
                min_decoding_length=0,
                max_input_length=0,
                no_repeat_ngram_size=search.no_repeat,
                return_scores=True,
                return_end_token=True,
            )
            for i, result in zip(batch, results, strict=True):
                found = zip(result.hypotheses, map(float, result.scores), strict=True)
                best = self._best(sources[i], list(found), search)
                written[i] = tuple(Generated(self._text(pieces), score) for pieces, score in best)

        most = 1 if self._alone else max(1, ROWS // search.beams)
        batches = [
            group[start : start + most]
            for group in groups([len(source) for source in sources])
            for start in range(0, len(group), most)
        ]
        run_batches(compute, batches, self._threads)
        return written

    def _pieces(self, prompt: str) -> list[str]:
        pieces = list(self._tokenizer.encode(tokenizable(prompt)).tokens)
        room = self._positions
        return pieces if not room or len(pieces) <= room else [*pieces[: room - 1], pieces[-1]]

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
        body = pieces[:-1] if pieces[-1:] == [self._end] else pieces
        (result,) = self._engine.score_batch([source], [body], max_input_length=0)
        logs = list(result.log_probs)[: len(pieces)]
        return float(sum(logs)) / max(1, len(logs))

    def _text(self, pieces: Sequence[str]) -> str:
        ids = [self._tokenizer.token_to_id(piece) for piece in pieces]
        return cleaned(self._tokenizer.decode([i for i in ids if i is not None]))


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


seq2seq = model_type("seq2seq", task="texts", settings=Seq2SeqSettings, convert=convert_seq2seq)(
    Seq2Seq
)


GENERATE = "[GEN]"  # token behind the relation
RELATION = "xWant"  # one of the names that the released training adds to the vocabulary


def query(head: str, relation: str) -> str:
    """Return what COMET continues.

    >>> query("PersonX eats", "xWant")
    'PersonX eats xWant [GEN]'
    """
    return f"{head} {relation} {GENERATE}"


@model_type("comet", task="tails of events", settings=Seq2SeqSettings, convert=convert_seq2seq)
def comet(folder: ModelFolder, settings: Seq2SeqSettings, loader: ModelLoader) -> Seq2Seq:
    """Open a COMET (Hwang et al., AAAI 2021): BART-large, fine-tuned on ATOMIC-2020."""
    model = Seq2Seq(folder, settings, loader)
    if not model.knows(GENERATE) and not model.knows(RELATION):
        raise ModelFolderError(
            f"{folder.path}: no COMET: its vocabulary has neither {GENERATE} nor {RELATION} as "
            "one piece; a BART that was not trained on ATOMIC would write tails at random"
        )
    return model
