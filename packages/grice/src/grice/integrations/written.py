"""The scores of a file that tools are told of."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from grice.errors import InputError
from grice.evaluation.scores import read_scores

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from grice.records import Score


def scores_to_write(file: str | Path) -> Iterator[tuple[str, Score]]:
    """Yield each score that has a value, with a key that is the same whenever it is read.

    Raises:
        InputError: If the file holds none.
    """
    none = True
    for _, score in read_scores(str(file)):
        if score.status == "ok" and score.value is not None:
            none = False
            place = f"{score.conversation}\0{score.turn}\0{score.metric}\0{score.signature}"
            yield hashlib.blake2b(place.encode(), digest_size=16).hexdigest(), score
    if none:
        raise InputError(f"{file}: holds no score with a value")
