"""Metrics joined to one score: their models, and their values on reference replies as ranks."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

import msgspec

from grice.errors import ModelFolderError
from grice.models.loader import ModelLoader, Settings, dependencies_of, model_type

if TYPE_CHECKING:
    from grice.models.folder import ModelFolder

FILE = "parts.json"


class Part(msgspec.Struct, frozen=True):
    """A metric that is joined, with the distribution of its values on the reference replies."""

    metric: str
    weight: float
    quantiles: tuple[float, ...]  # ascending, evenly spaced, from the smallest to the largest value
    models: dict[str, str]  # reference by parameter of the metric
    ceiling: float = 1.0  # values above count as this one: a detector tells them not apart
    identities: tuple[str, ...] = ()  # of these models when the quantiles were taken

    def rank(self, value: float) -> float:
        """Return the share of reference replies with a lower value, 0 to 1, ties counted half."""
        table, value = self.quantiles, min(value, self.ceiling)
        low, high = bisect_left(table, value), bisect_right(table, value)
        if low < high:
            place = (low + high - 1) / 2
        elif 0 < low < len(table):
            place = low - 1 + (value - table[low - 1]) / (table[low] - table[low - 1])
        else:
            place = min(low, len(table) - 1)
        return place / (len(table) - 1)

    def fits(self, signature: str) -> bool:
        """Return whether a signature names the models of the part, of any version."""
        names = (identity.partition("@")[0] for identity in self.identities)
        return all(f"{name}@" in signature for name in names)


class JoinedMetrics:
    """The parts of a joined score, with their models by metric and parameter."""

    def __init__(self, folder: ModelFolder, _: Settings, loader: ModelLoader) -> None:
        self.identity = folder.identity
        self.parts = read_parts(folder)
        self.models = {
            part.metric: {name: loader.load(place) for name, place in part.models.items()}
            for part in self.parts
        }


def read_parts(folder: ModelFolder) -> tuple[Part, ...]:
    """Return the parts of a model of type ``joined-metrics``, without opening their models.

    Raises:
        ModelFolderError: For a file that lists no parts, or a part with a wrong table, weight or
            model.
    """
    path = folder.file(FILE)
    try:
        parts = msgspec.json.decode(path.read_bytes(), type=tuple[Part, ...])
    except msgspec.DecodeError as error:
        raise ModelFolderError(f"{path}: {error}") from None
    stated = dependencies_of(folder.card)
    problem = "" if parts else "at least one part is needed"
    for part in parts:
        if other := next((name for name in part.models.values() if name not in stated), None):
            problem = f"{part.metric} depends on {other}, which the card does not list in its parts"
        elif len(part.quantiles) < 2 or list(part.quantiles) != sorted(part.quantiles):
            problem = f"{part.metric} needs two quantiles or more, in ascending order"
        elif not part.weight > 0:
            problem = f"{part.metric} has the weight {part.weight}, more than 0 is needed"
    if problem:
        raise ModelFolderError(f"{path}: {problem}")
    return parts


joined_metrics = model_type("joined-metrics", task="quality", settings=Settings)(JoinedMetrics)
