"""Signatures say what exactly a metric computed: ``name:version|option:value|model:name@hash``."""

from __future__ import annotations

from functools import lru_cache

from grice.metrics.registry import find_metrics
from grice.models.bundle import RENAMED


@lru_cache(maxsize=256)
def current_signature(signature: str) -> str:
    """Return a signature with the names that options and shipped models have now.

    >>> current_signature("commonsense:5|most:3|mode:fast")
    'commonsense:5|max_triples:3|mode:fast'
    """
    renamed = _renamed().get(signature.partition(":")[0], {})
    parts = (part.partition(":") for part in signature.split("|"))
    return "|".join(
        f"{renamed.get(name, name)}{colon}{_current_models(value)}" for name, colon, value in parts
    )


def _current_models(fingerprint: str) -> str:
    name, at, rest = fingerprint.partition("@")
    return f"{RENAMED.get(name, name)}{at}{rest}" if at else fingerprint


@lru_cache(maxsize=1)
def _renamed() -> dict[str, dict[str, str]]:
    return {name: metric.renamed for name, metric in find_metrics().metrics.items()}
