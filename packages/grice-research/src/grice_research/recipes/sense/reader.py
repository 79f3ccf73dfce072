"""Make the model ``reader``: a causal language model's first layers, small enough to ship.

    python -m grice_research.recipes.sense.reader SmolLM2-135M-Instruct.Q4_1.gguf

The file is that of ``medium`` in the index of models. Of its 30 layers 12 are kept, and of its
49,152 tokens the first 24,576. Weights stay int8, which the run-time format needs, but take 33
values of a row: a compressed wheel stores them in under five bits each.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from ctranslate2.specs import ModelSpec
from msgspec.structs import replace
from numpy.typing import NDArray

from grice.errors import ModelFolderError
from grice.models.conversion import (
    EMBEDDING,
    HEAD,
    Checkpoint,
    int8_matrices,
    quantize,
    read_checkpoint,
    state_network,
    write_network,
)
from grice.models.download import MIDDLE, WINDOW
from grice.models.store import known_models
from grice_research.places import MODELS
from grice_research.recipes.common import parser_of, update_card

NAME = "reader"
LAYERS, VOCABULARY = 12, 24_576
LEVELS, STEP = 16, 4
"""Of each sign, and how far they are apart: two neighbours never exceed 128, so that no sum
saturates (:mod:`grice.models.conversion`)."""
LARGEST = np.arange(1.0, 0.59, -0.1)
"""Of a row's largest weight, what the outermost level stands for; the best for the row is taken."""


def coarse(weights: NDArray[np.int8]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return rows of few values, and by what each row was multiplied."""
    exact = weights.astype(np.float32)
    largest = np.maximum(np.abs(exact).max(axis=1), 1)
    error = np.full(len(exact), np.inf, np.float32)
    best, factors = np.zeros_like(exact), np.ones(len(exact), np.float32)
    for share in LARGEST.astype(np.float32):
        step = largest * share / LEVELS
        levels = np.clip(np.rint(exact / step[:, None]), -LEVELS, LEVELS)
        off = np.square(levels * step[:, None] - exact).sum(axis=1)
        better = off < error
        error[better], best[better] = off[better], levels[better]
        factors[better] = STEP / step[better]
    return (best * STEP).astype(np.int8), factors


def coarsen(spec: ModelSpec) -> None:
    """Change the int8 matrices of a network in place."""
    for weights, scales in int8_matrices(spec):
        weights[:], factors = coarse(weights)
        scales *= factors


def with_first_tokens(checkpoint: Checkpoint, count: int) -> Checkpoint:
    """Return a decoder with the first tokens of its vocabulary: bytes, then pairs in order."""
    tokenizer = json.loads(checkpoint.tokenizer)
    model = tokenizer["model"]
    kept = {token: number for token, number in model["vocab"].items() if number < count}
    merges = [pair for pair in model["merges"] if {*pair, "".join(pair)} <= kept.keys()]
    whole = all(len(token) > 1 or token in kept for token in model["vocab"])
    if not whole or merges != model["merges"][: len(merges)]:
        raise ModelFolderError(f"the first {count} tokens are no vocabulary of byte pairs")
    model["vocab"], model["merges"] = kept, merges
    tokenizer["added_tokens"] = [one for one in tokenizer["added_tokens"] if one["id"] < count]
    tensors = {
        name: (lambda read=read: read()[:count]) if name in (EMBEDDING, HEAD) else read
        for name, read in checkpoint.tensors.items()
    }
    return checkpoint._replace(
        config=replace(checkpoint.config, vocab_size=count),
        tensors=tensors,
        tokens=checkpoint.tokens[:count],
        tokenizer=json.dumps(tokenizer, ensure_ascii=False),
    )


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("source", type=Path, help="the GGUF file")
    given = parser.parse_args()
    scale = str(known_models()["medium-states"].settings["scale"])
    out = MODELS / NAME
    out.mkdir(parents=True, exist_ok=True)
    exponents = [int(digit) - MIDDLE for digit in scale]
    checkpoint = with_first_tokens(read_checkpoint(given.source), VOCABULARY)
    spec = quantize(state_network(checkpoint, LAYERS, exponents))
    coarsen(spec)
    write_network(spec, checkpoint.tokenizer, out)
    settings = {"layers": LAYERS, "scale": scale, "max_tokens": WINDOW}
    files = ("config.json", "model.bin", "tokenizer.json", "vocabulary.json")
    update_card(out, files=files, settings=settings)


if __name__ == "__main__":
    main()
