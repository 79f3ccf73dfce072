"""The referenced score of RUBER: similarity of a reply and its references."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grice.data import Judgement, Response
from grice.metrics.common import empty_reply
from grice.metrics.declaration import Example, metric
from grice.models.protocols import Encoder
from grice.numeric import cosine
from grice.text.language import unreadable


def _reason_against(response: Response) -> str | None:
    if reason := empty_reply(response):
        return reason
    if reason := unreadable(response.text):
        return f"the reply {reason}"
    return None if any(map(str.strip, response.references)) else "the reply has no reference"


REFERENCES = 100
"""References of a reply that are read: each takes some 16 ms of a core, if it is long."""


@metric(
    "reference_similarity",
    version="2",
    summary="How similar are the reply and its human references?",
    judges="response",
    models={"encoder": "builtin:encoder"},
    protocols={"encoder": Encoder},
    source=(
        "The referenced score of RUBER (Tao et al., AAAI 2018), with contextual embeddings "
        "(Ghazarian et al., NeuralGen 2019)."
    ),
    low=-1.0,
    neutral=0.0,
    abstain=_reason_against,
    example=Example(
        ["Do you like tea?", "I like green tea."], 0.5, 1.0, ["Green tea is my favourite."]
    ),
)
def reference_similarity(responses: Sequence[Response], *, encoder: Encoder) -> Iterator[Judgement]:
    """Return the cosine with the nearest reference, over vectors pooled by mean.

    A good reply may differ from every reference, and then scores low. Of more than 100 references
    the first 100 are read, and the score has the flag ``truncated``. The metric abstains on a
    reply without references; on rated replies with references it agrees with people no less than
    ``relevance`` does (``grice meta-eval reference_similarity relevance --on dailydialog_gupta``).
    """
    read = [response.references[:REFERENCES] for response in responses]
    texts = [
        text
        for response, own in zip(responses, read, strict=True)
        for text in (response.text, *own)
    ]
    vectors = iter(encoder.encode(texts))
    for response, own in zip(responses, read, strict=True):
        reply = next(vectors)
        cosines = [cosine(next(vectors), reply) for _ in own]
        nearest = cosines.index(max(cosines))
        value, reason = cosines[nearest], f"most similar to reference {nearest + 1}"
        flags = ("truncated",) if len(response.references) > len(own) else ()
        yield Judgement(value, "ok", f"{reason} (cosine {value:.2f})", flags)
