"""The private names of grice that benches and recipes stand on, each imported here alone.

What a module of grice declares in ``__all__`` is imported from there; one that has none is for the
package alone. The rest may be renamed at any time: then this file breaks and no other, and a test
says so. Helpers of the command line are for :mod:`grice_research.commands` alone.
"""

from __future__ import annotations

from grice.knowledge.extraction import Scale
from grice.metrics.coherence import LOWEST
from grice.perturb.deam import base, exchanged, placeholder
from grice_tasks.cider.statistics import published
from grice_tasks.explagraphs.classifiers import projections, random_features
from grice_tasks.explagraphs.wording import STOP_WORDS

__all__ = [
    "LOWEST",
    "STOP_WORDS",
    "Scale",
    "base",
    "exchanged",
    "placeholder",
    "projections",
    "published",
    "random_features",
]
