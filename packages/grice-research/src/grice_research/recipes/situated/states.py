"""Token states of texts, kept in ``work/states``: encoded once, read by every fit after it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from grice.models.embedded import EmbeddedEncoder
from grice_research.places import work_folder

FOLDER = work_folder("situated") / "states"
BLOCK = 4000
State = tuple[np.ndarray, list[tuple[int, int]]]


def states_of(texts: Sequence[str], encoder: EmbeddedEncoder) -> dict[str, State]:
    """Return states (float16, as the fits read them) and characters of the tokens of each text.

    Texts are kept in files of some thousand, named by what is in them: what was encoded before a
    run broke off is not encoded again.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    distinct = sorted(set(texts))
    by_text: dict[str, State] = {}
    for begin in range(0, len(distinct), BLOCK):
        block = distinct[begin : begin + BLOCK]
        key = hashlib.sha256("\n".join((encoder.identity, *block)).encode()).hexdigest()[:16]
        file = FOLDER / f"{key}.npz"
        if not file.is_file():
            _write(file, [tuple(hidden_states) for hidden_states, _ in encoder.hidden(block)])
        with np.load(file) as packed:
            states, offsets, ends = packed["states"], packed["offsets"], packed["ends"]
        starts = [0, *ends[:-1]]
        for text, start, end in zip(block, starts, ends, strict=True):
            places = [(int(a), int(b)) for a, b in offsets[start:end]]
            by_text[text] = states[start:end], places
    return by_text


def _write(file: Path, block: list[State]) -> None:
    part = file.with_suffix(".part.npz")
    np.savez(
        part,
        states=np.concatenate([states for states, _ in block]).astype(np.float16),
        offsets=np.array([place for _, offsets in block for place in offsets], np.int32),
        ends=np.cumsum([len(offsets) for _, offsets in block]),
    )
    part.replace(file)
