"""Commonsense on triples that a baseline reads: what the extractor of the metric is set beside.

They are the metric itself with another extractor, ACCENT's mean and without the reply's fit; the
rest of its options stays as it is.
"""

from __future__ import annotations

import msgspec

import grice.metrics.commonsense as whole
from grice.metrics.declaration import Example, Metric

SETTINGS = {"relevance_weight": 0.0, "aggregation": "mean", "min_confidence": 0.0}
EXAMPLE = Example(["What do you do?", "I was fired because I made a mistake at work."], 0.0, 1.0)


def _with_extractor(name: str, reference: str, summary: str, source: str) -> Metric:
    return msgspec.structs.replace(
        whole.commonsense,
        name=name,
        version="3",
        summary=summary,
        source=f"A baseline: {source} ACCENT (Ghazarian et al., Findings of ACL 2023).",
        default=False,
        example=EXAMPLE,
        models=whole.MODELS | {"extractor": reference},
        options=tuple(
            msgspec.structs.replace(option, default=SETTINGS.get(option.name, option.default))
            for option in whole.commonsense.options
        ),
    )


commonsense_patterns = _with_extractor(
    "commonsense_patterns",
    "bundle:patterns",
    "Are events joined by because, so or but plausibly related? (a baseline)",
    "an extractor in the manner of ASER, as in the comparison of",
)
commonsense_search = _with_extractor(
    "commonsense_search",
    "bundle:search",
    "Are known triples that hold words of the reply plausible? (a baseline)",
    "the search of a knowledge base that stands beside the extractor of",
)
