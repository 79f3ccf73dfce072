"""How probable a generator finds the tail: "COMET (neural)" of ACCENT.

``exp(-loss)`` of the tail given head and relation (Ghazarian et al., Findings of ACL 2023), the
geometric mean of the probabilities of its word pieces. Stored triples have no such probabilities.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from grice.errors import InputError
from grice.knowledge.compatibility import checked
from grice.knowledge.protocols import TailProbabilities

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.knowledge.compatibility import Sources
    from grice.records import Triple

__all__ = ["compatibility"]


def compatibility(triples: Sequence[Triple], sources: Sources) -> list[float]:
    """Return the probability of each triple's tail, 0 to 1.

    Raises:
        InputError: If the knowledge base does not generate tails.
    """
    checked(triples)
    if not isinstance(sources.knowledge, TailProbabilities):
        raise InputError(
            "the scorer likelihood needs knowledge that generates tails; this one stores them. "
            "Name a generator, such as bundle:comet, or take the scorer cosine"
        )
    found = sources.knowledge.likelihoods(triples) if triples else []
    return [0.0 if one is None else math.exp(one.given) for one in found]
