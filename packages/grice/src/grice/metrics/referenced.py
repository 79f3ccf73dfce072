"""The parts of RUBER that need no training: pooling, the score against references, the blend.

After Tao et al. (AAAI 2018); with contextual embeddings Ghazarian et al. (NeuralGen 2019). The
unreferenced score is the metric ``relevance``; the recipe ``ruber`` fits the published networks.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias

from grice.errors import InputError, did_you_mean
from grice.metrics.declaration import Example, metric
from grice.metrics.unjudged import empty, judge_or_abstain
from grice.models.protocols import Encoder
from grice.records import Judgement
from grice.text.script import unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from grice.records import Response

    Vectors: TypeAlias = NDArray[np.floating]

Pooling: TypeAlias = Literal["mean", "max", "max-min"]
Blend: TypeAlias = Literal["min", "max", "mean", "geometric"]

_BLENDS: dict[str, Callable[[float, float], float]] = {
    "min": min,
    "max": max,
    "mean": lambda a, b: (a + b) / 2,
    "geometric": lambda a, b: math.sqrt(a * b),
}


def pooled(tokens: Vectors, how: Pooling) -> Vectors:
    """Return one vector of the vectors of tokens.

    Args:
        tokens: Shape ``(tokens, d)``, at least one.
        how: Element by element the ``mean`` or the ``max``, both ``(d,)``, or the largest and
            then the smallest, ``(2 * d,)``, as RUBER does.

    Raises:
        InputError: If there is no token, or no such pooling.
    """
    if len(tokens) == 0:
        raise InputError("pooling needs the vector of one token at least")
    import numpy as np

    if how == "mean":
        return np.asarray(tokens.mean(axis=0))
    if how == "max":
        return np.asarray(tokens.max(axis=0))
    if how == "max-min":
        return np.concatenate([tokens.max(axis=0), tokens.min(axis=0)])
    raise InputError(f"pooling {how!r}{did_you_mean(how, ('mean', 'max', 'max-min'))}")


def scaled(scores: Sequence[float]) -> list[float]:
    """Return scores stretched to 0..1 over all of them, as RUBER does before it blends.

    A blended score then depends on the others that are scored with it; all the same give 0.

    >>> scaled([0.02, 0.9, 0.46])
    [0.0, 1.0, 0.5]
    """
    if not all(map(math.isfinite, scores)):
        raise InputError("scores: every one must be a finite number")
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return [(score - low) / (high - low) if high > low else 0.0 for score in scores]


def blend(unreferenced: Sequence[float], against: Sequence[float], how: Blend) -> list[float]:
    """Return both scores of each reply as one.

    Args:
        unreferenced: Scores of replies for their queries, 0 to 1.
        against: Scores of the same replies against references, 0 to 1.
        how: The smaller, the larger, or the arithmetic or geometric mean.

    Raises:
        InputError: If lengths differ, there is no such blend, or a geometric mean is asked of
            negative scores.

    >>> blend([0.25, 1.0], [1.0, 0.0], "geometric")
    [0.5, 0.0]
    """
    if len(unreferenced) != len(against):
        raise InputError(f"{len(unreferenced)} scores and {len(against)} against references")
    if how not in _BLENDS:
        raise InputError(f"blend {how!r}{did_you_mean(how, _BLENDS)}")
    if how == "geometric" and min((*unreferenced, *against), default=0.0) < 0:
        raise InputError("a geometric mean needs scores of 0 or more; see scaled()")
    return [_BLENDS[how](a, b) for a, b in zip(unreferenced, against, strict=True)]


@metric(
    "referenced",
    version="2",
    summary="How alike are the reply and the references that people wrote?",
    judges="response",
    models={"encoder": "bundle:encoder"},
    protocols={"encoder": Encoder},
    source=(
        "The referenced score of RUBER (Tao et al., AAAI 2018), with contextual embeddings "
        "(Ghazarian et al., NeuralGen 2019)."
    ),
    low=-1.0,
    neutral=0.0,
    example=Example(
        ["Do you like tea?", "I like green tea."], 0.5, 1.0, ["Green tea is my favourite."]
    ),
)
def referenced(responses: Sequence[Response], *, encoder: Encoder) -> Iterator[Judgement]:
    """Return the cosine with the nearest reference, over vectors pooled by mean.

    A good reply may say something else than every reference, and then scores low. A reply without
    references abstains; on rated replies that have some, this score follows people no less than
    ``relevance`` does (``grice meta-eval referenced relevance --on dailydialog_gupta``).
    """
    from grice.numeric import cosine

    def judge(judged: Sequence[Response]) -> Iterator[Judgement]:
        texts = [text for response in judged for text in (response.text, *response.references)]
        vectors = iter(encoder.encode(texts))
        for response in judged:
            reply = next(vectors)
            cosines = [cosine(next(vectors), reply) for _ in response.references]
            nearest = cosines.index(max(cosines))
            yield Judgement(cosines[nearest], "ok", f"nearest is reference {nearest + 1}")

    return judge_or_abstain(responses, _nothing_to_judge, judge, 0.0)


def _nothing_to_judge(response: Response) -> str | None:
    if reason := empty(response):
        return reason
    if reason := unreadable(response.text):
        return f"the reply {reason}"
    return None if any(map(str.strip, response.references)) else "it has no reference"
