"""What heads of ``sense`` say of turns whose conversations they have not learned from."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from grice.numeric import sigmoid
from grice.records import Response
from grice.runtime.models import Models
from grice.runtime.protocols import PassageEncoder
from grice_research.places import work_folder
from grice_research.recipes.sense.fit import (
    averaged,
    nets_of,
    read_items,
    response_of,
    states_of,
)
from grice_research.recipes.sense.sources import shortened

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from grice_research.recipes.review.data import Marked

__all__ = ["sense_out_of_fold"]

FOLDS = 5


def sense_out_of_fold(marked: Sequence[Marked], data: Path, base: str) -> NDArray[np.float64]:
    """Return the value of ``sense`` of each turn, by heads that have not learned from its fold.

    An item belongs to the folds of all conversations in which one of its replies follows the same
    turn, so that stock lines of chatbots do not join what is parted.

    Args:
        marked: Turns of chatbots.
        data: Folder of data sets.
        base: Reference of the model whose states they read.
    """
    items = read_items(data, chatbots=True)
    responses = [response_of(reading) for item in items for reading in item.readings]
    models = Models(mode="fast", workers=1, cache=work_folder("sense"))
    reader = models.open(base, PassageEncoder)
    learned = states_of(reader, responses)
    states = states_of(reader, [_response(turn) for turn in marked])
    models.close()
    folds = np.array([crc32(turn.group.encode()) % FOLDS for turn in marked])
    held: list[set[tuple[str, str]]] = [set() for _ in range(FOLDS)]
    for turn, fold in zip(marked, folds, strict=True):
        texts = [shortened(spoken.text) for spoken in turn.talk.turns]
        held[fold] |= set(pairwise(["", *texts]))
    values = np.zeros(len(marked))
    for fold in range(FOLDS):
        kept = [
            not any(
                (("", *reading.history)[-1], reading.reply) in held[fold]
                for reading in item.readings
            )
            for item in items
        ]
        rows = np.repeat(kept, [len(item.readings) for item in items])
        some = [item for item, keep in zip(items, kept, strict=True) if keep]
        network = averaged(*nets_of(learned[rows], some))
        own = folds == fold
        values[own] = 1 - sigmoid(network.together(states[own])[:, 0])
    return values


def _response(turn: Marked) -> Response:
    spoken = turn.talk.turns[turn.turn]
    return Response(
        turn.talk.id,
        turn.turn,
        spoken.text,
        spoken.speaker,
        turn.talk.turns[: turn.turn],
        tuple(range(turn.turn)),
    )
