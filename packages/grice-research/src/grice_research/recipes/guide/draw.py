r"""Draw replies of a language model to contexts of Topical-Chat and keep them, a context a line.

    python -m grice_research.recipes.guide.draw MODEL DATA OUT.jsonl --split valid \
        --contexts 200 --replies 8

MODEL is the folder of a model that was fetched. A context is that of the thesis: up to four turns
of a conversation before a place that is drawn. What trains, of the split ``valid``, holds no text
of a set that is evaluated. The replies of a context are drawn together, which takes the engine a
quarter of the time that one by one takes it; a run that was stopped goes on behind the last line.
"""

from __future__ import annotations

import argparse
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import ctranslate2
import msgspec
import numpy as np
import tokenizers

from grice.evaluation.candidates import END, chat_prompt
from grice.evaluation.overlap import normalised
from grice.progress import track
from grice.records import Turn
from grice_research.recipes.relevance.corpora import evaluated_texts
from grice_research.recipes.sense.sources import lines_of
from grice_tasks.steering.samples import MOST_TURNS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

__all__ = ["Drawn", "contexts", "read_drawn", "shuffled"]

TEMPERATURE = 0.7
TOKENS = 40
BATCH = 9
"""Replies that are drawn together: seventeen take as long for each."""


class Drawn(msgspec.Struct, frozen=True):
    """A context, what people said there, and what the model says."""

    id: str
    turns: tuple[Turn, ...]
    reply: Turn
    texts: tuple[str, ...] = ()


def read_drawn(path: Path) -> list[Drawn]:
    """Return the contexts of a file with their replies."""
    decode = msgspec.json.Decoder(Drawn).decode
    return [decode(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def contexts(data: Path, split: str, without: Collection[str], seed: int = 0) -> Iterator[Drawn]:
    """Yield a context of each conversation of a split, in an order that is drawn.

    Args:
        data: The folder of data sets.
        split: ``valid`` or ``test``.
        without: Normalised texts, none of which may stand in a context.
        seed: Of order and places.
    """
    random = np.random.default_rng(seed)
    names = (f"topical_chat/{split}_{part}.jsonl.gz" for part in ("freq", "rare"))
    talks = [talk for name in names for talk in lines_of(data / name)]
    for place in random.permutation(len(talks)):
        turns = tuple(Turn(turn["speaker"], turn["text"]) for turn in talks[place]["turns"])
        end = int(random.integers(1, len(turns)))
        before = turns[max(0, end - MOST_TURNS) : end]
        if not any(normalised(turn.text) in without for turn in (*before, turns[end])):
            yield Drawn(str(talks[place]["id"]), before, turns[end])


class Engine:
    """Draws replies of a model.

    Args:
        folder: The model, in the format of CTranslate2.
        seed: Of what is drawn.
    """

    def __init__(self, folder: Path, seed: int = 0) -> None:
        ctranslate2.set_random_seed(seed)
        self._tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._engine = ctranslate2.Generator(
            str(folder), compute_type="int8", inter_threads=1, intra_threads=1
        )

    def texts(self, prompt: str, count: int) -> list[str]:
        """Return so many replies to a prompt."""
        tokens = self._tokenizer.encode(prompt, add_special_tokens=False).tokens
        (result,) = self._engine.generate_batch(
            [tokens[-1:]],
            static_prompt=tokens[:-1],
            cache_static_prompt=False,
            include_prompt_in_result=False,
            sampling_topk=0,
            sampling_temperature=TEMPERATURE,
            num_hypotheses=count,
            max_length=TOKENS,
            end_token=END,
        )
        return [self._tokenizer.decode(ids).strip() for ids in result.sequences_ids]


def shuffled(texts: Sequence[str], name: str) -> list[str]:
    """Return the replies to a context in an order that says nothing of them.

    The engine gives them by their probability: the first one is no draw of the model, but the
    likeliest of so many.
    """
    order = np.random.default_rng(zlib.crc32(name.encode())).permutation(len(texts))
    return [texts[place] for place in order]


def main() -> None:
    """Draw what is not there."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--split", choices=("valid", "test"), default="valid")
    parser.add_argument("--contexts", type=int, default=200)
    parser.add_argument("--replies", type=int, default=8)
    given = parser.parse_args()
    without = evaluated_texts(given.data) if given.split == "valid" else ()
    chosen = [each for each, _ in zip(contexts(given.data, given.split, without),
                                      range(given.contexts), strict=False)]  # fmt: skip
    done = len(read_drawn(given.output))
    engine = Engine(given.model, seed=done)
    with given.output.open("ab") as lines:
        for each in track(chosen[done:], "contexts", len(chosen) - done):
            prompt = chat_prompt(each.turns)
            sizes = [min(BATCH, given.replies - start) for start in range(0, given.replies, BATCH)]
            texts = [text for size in sizes for text in engine.texts(prompt, size)]
            texts = shuffled(texts, each.id)
            lines.write(
                msgspec.json.encode(msgspec.structs.replace(each, texts=tuple(texts))) + b"\n"
            )
            lines.flush()


if __name__ == "__main__":
    main()
