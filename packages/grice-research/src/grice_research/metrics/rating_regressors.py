"""Models that learned ratings of replies, as baselines: ACCENT's cross-encoder and regressor.

After ACCENT (Ghazarian et al., Findings of ACL 2023), which fine-tunes BART-large and COMET on
history and reply, and fits an MLP on counted edges of ConceptNet, both on the ratings of its own
training part. What ships learned from ratings that may train; the recipe ``accent_baselines`` makes
those of the paper's data, to be named with ``file:``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.data import Judgement
from grice.metrics.common import empty_reply, score_or_abstain
from grice.metrics.declaration import Example, Metric, metric
from grice.models.protocols import Pair, PairClassifier

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.data import Response
    from grice.metrics.declaration import Count

EXAMPLE = Example(["What do you do for a living?", "I teach maths at a school."], 0.0, 1.0)


def _declared(name: str, summary: str, reference: str) -> Metric:
    @metric(
        name,
        version="2",
        summary=f"{summary} (a baseline)",
        judges="response",
        models={"model": reference},
        protocols={"model": PairClassifier},
        source="A baseline of ACCENT (Ghazarian et al., Findings of ACL 2023).",
        example=EXAMPLE,
    )
    def judge(
        responses: Sequence[Response], *, model: PairClassifier, history: Count = 4
    ) -> Iterator[Judgement]:
        """Return the rating that a model expects people to give the reply.

        Args:
            history: How many turns before the reply are read.
        """

        def judged(spoken: Sequence[Response]) -> Iterator[Judgement]:
            pairs = [
                Pair(tuple(turn.text for turn in response.history[-history:]), response.text)
                for response in spoken
            ]
            return map(Judgement, model.classify(pairs))

        return score_or_abstain(responses, empty_reply, judged, 0.5)

    return judge


cross_encoder = _declared(
    "cross_encoder",
    "Would people like the reply, read together with what was said before?",
    "bundle:cross-encoder",
)
mlp_regressor = _declared(
    "mlp_regressor",
    "Would people like the reply, by how its words are joined with those before?",
    "bundle:mlp-regressor",
)
