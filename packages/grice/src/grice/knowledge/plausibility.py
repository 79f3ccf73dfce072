"""Plausibility of triples: a low-rank bilinear form per relation on encoder vectors.

It is fitted so that a known tail scores above the tails of other heads.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np

from grice.errors import InputError, ModelFolderError, did_you_mean
from grice.files import writing
from grice.knowledge.schema import head_text, load_schema, tail_text
from grice.models.loader import ModelLoader, Settings, model_type
from grice.models.mlp import Columns
from grice.models.protocols import Encoder, encode_distinct
from grice.numeric import sigmoid

if TYPE_CHECKING:
    from grice.data import KnownTail, Triple
    from grice.models.folder import ModelFolder
    from grice.numeric import Array

ROWS = 256  # triples whose features are held at once


class Bilinear:
    """One score per relation: ``scale * (cosine + shared form + form of the relation) + bias``.

    A form is the inner product of two linear maps, one of the head and one of the tail. A score
    of 0 means: as likely a known triple as a mismatched one.
    """

    def __init__(
        self, head: Array, tail: Array, *, cosine: Array, scale: Array, bias: Array, shared: int
    ) -> None:
        self._maps = [np.ascontiguousarray(each, np.float32) for each in (head, tail)]
        self.heads, self.tails = map(Columns, self._maps)
        self.shared = shared
        self.cosine, self.scale, self.bias = (
            np.asarray(values, np.float32) for values in (cosine, scale, bias)
        )

    @classmethod
    def load(cls, path: Path) -> Bilinear:
        """Read the arguments of the class from the arrays of an ``.npz`` file."""
        with np.load(path, allow_pickle=False) as stored:
            arrays = dict(stored)
        return cls(**{**arrays, "shared": int(arrays["shared"])})

    def save(self, path: Path) -> None:
        """Write the maps as half-precision arrays, which :meth:`load` reads back."""
        head, tail = (each.astype(np.float16) for each in self._maps)
        arrays: dict[str, Any] = {"head": head, "tail": tail, "shared": np.int64(self.shared)}
        arrays |= {name: getattr(self, name) for name in ("cosine", "scale", "bias")}
        with writing(path) as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)

    def __call__(self, head: Array, tail: Array) -> Array:
        """Return scores of shape ``(n, relations)`` for vectors of shape ``(n, dimensions)``.

        The bits of a row depend on that row alone.
        """
        products = self.heads.product(head) * self.tails.product(tail)
        own = products[:, self.shared :].reshape(len(products), len(self.scale), -1)
        shared = products[:, : self.shared].sum(axis=1, keepdims=True)
        cosines = (head * tail).sum(axis=1, keepdims=True)
        form = self.cosine * cosines + shared + np.ascontiguousarray(own).sum(axis=2)
        return np.asarray(self.scale * form + self.bias, np.float32)


class TripleSettings(Settings, frozen=True):
    """Settings of type ``triple-head``."""

    schema: str
    relations: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]  # of the form's outputs
    known_weight: float  # of the similarity of the nearest known tail
    known_centre: float  # similarity from which it counts for the triple


class TripleHead:
    """Plausibility of triples of ATOMIC's event relations."""

    def __init__(self, folder: ModelFolder, settings: TripleSettings, encoder: Encoder) -> None:
        self.identity = f"{folder.identity}/{encoder.identity}"
        self.encoder = encoder
        self.known = settings.relations
        self._settings = settings
        self._schema = load_schema(settings.schema)
        self._form = Bilinear.load(folder.file("plausibility.npz"))
        if (outputs := len(self._form.scale)) != len(self.known):
            raise ModelFolderError(
                f"model {folder.card.name!r}: plausibility.npz has {outputs} outputs, the "
                f"settings name {len(self.known)}"
            )

    def plausibility(
        self, triples: Sequence[Triple], known: Sequence[KnownTail | None] | None = None
    ) -> list[float]:
        """Return the plausibility of each triple, 0 to 1; ``known`` are nearest known tails."""
        for triple in triples:
            if triple.relation not in self.known:
                hint = did_you_mean(triple.relation, self.known)
                raise InputError(f"no plausibility is learned for {triple.relation!r}{hint}")
        if not triples:
            return []
        heads = [head_text(triple.head) for triple in triples]
        tails = [tail_text(triple.tail, self._schema[triple.relation]) for triple in triples]
        vectors = encode_distinct(self.encoder, (*heads, *tails))
        blocks = [
            self._form(
                np.stack([vectors[text] for text in heads[start : start + ROWS]]),
                np.stack([vectors[text] for text in tails[start : start + ROWS]]),
            )
            for start in range(0, len(heads), ROWS)
        ]
        columns = [self.known.index(triple.relation) for triple in triples]
        scores = np.concatenate(blocks)[np.arange(len(columns)), columns]
        if known is not None:
            weight, centre = self._settings.known_weight, self._settings.known_centre
            support = [weight * (tail.tail_similarity - centre) if tail else 0.0 for tail in known]
            scores = scores + np.array(support, np.float32)
        return [float(value) for value in sigmoid(scores)]


@model_type("triple-head", task="plausibility of triples", settings=TripleSettings)
def triple_head(folder: ModelFolder, settings: TripleSettings, loader: ModelLoader) -> TripleHead:
    """Open a bilinear form with its encoder."""
    return TripleHead(folder, settings, loader.encoder_of(folder, Encoder))
