"""What is wrong with a reply, read from the states of a language model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grice.errors import BundleError
from grice.metrics.likelihood import readings
from grice.metrics.sense import FlawModel
from grice.models.loader import Settings, model_type
from grice.models.mlp import Mlp
from grice.models.protocols import PassageEncoder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice.models.bundle import Bundle
    from grice.models.loader import ModelLoader
    from grice.records import Response


class FlawSettings(Settings, frozen=True):
    """Of a bundle of kind ``flaw-heads``: the model that reads, and the flaw of each output."""

    base: str
    flaws: list[str]


class FlawHeads:
    """A small network over the mean state of a reply, with an output per flaw."""

    def __init__(self, bundle: Bundle, settings: FlawSettings, reader: PassageEncoder) -> None:
        self.identity = f"{bundle.identity}/{reader.identity}"
        self.flaws = tuple(settings.flaws)
        self._reader = reader
        self._network = Mlp.load(bundle.path("head.npz"))
        weight, bias = self._network.layers[0][0], self._network.layers[-1][1]
        if (len(weight), len(bias)) != (reader.dimensions, len(self.flaws)):
            raise BundleError(
                f"{bundle.folder}: head.npz maps {len(weight)} dimensions to {len(bias)} flaws; "
                f"{reader.dimensions} and {len(self.flaws)} are expected"
            )

    def log_odds(self, responses: Sequence[Response]) -> NDArray[np.float32]:
        """Return the log odds of each flaw of each reply, shape ``(replies, flaws)``."""
        states = reply_states(self._reader, responses)
        return self._network(states)

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is too long to be read whole."""
        return self._reader.truncated(texts)


def reply_states(reader: PassageEncoder, responses: Sequence[Response]) -> NDArray[np.float32]:
    """Return the mean state of each reply after its history, shape ``(replies, dimensions)``.

    A conversation is read once for all replies of a speaker, who is called A in it.
    """
    read = list(readings(responses, course=lambda response: response.speaker))
    states = np.zeros((len(responses), reader.dimensions), np.float32)
    passages = [
        reading.passage(first=responses[reading.numbers()[0]].speaker, rest="\n")
        for reading in read
    ]
    for reading, vectors in zip(read, reader.mean_states(passages), strict=True):
        states[reading.numbers()] = vectors
    return states


@model_type("flaw-heads", task="flaws", protocol=FlawModel, settings=FlawSettings)
def flaw_heads(bundle: Bundle, settings: FlawSettings, loader: ModelLoader) -> FlawHeads:
    """Open the heads and the model they stand on."""
    reader = loader.dependency(bundle, settings.base, PassageEncoder, "states")
    return FlawHeads(bundle, settings, reader)
