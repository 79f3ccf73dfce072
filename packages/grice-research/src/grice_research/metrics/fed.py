"""FED's follow-ups as baselines: what would be said next if the reply made sense?

After Mehri and Eskenazi (SIGDIAL 2020), in the two qualities that ACCENT (Ghazarian et al.,
Findings of ACL 2023) compares itself with. Any model that says how probable a text is after
another one will do. Where FED takes the loss of a decoder over history and follow-up together,
the follow-up alone is scored here: the history is the same on both sides, and with one model and
one length the two differ by a constant factor.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from grice.data import FeatureEvidence, Judgement
from grice.metrics.common import empty_reply, score_or_abstain
from grice.metrics.declaration import Example, Metric, metric
from grice.models.protocols import Pair, PairClassifier, TextScorer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.data import Response
    from grice.metrics.declaration import Count

SOURCE = (
    "A baseline: FED (Mehri and Eskenazi, SIGDIAL 2020) in the form of ACCENT's comparison "
    "(Ghazarian et al., Findings of ACL 2023)."
)
MODELS = {"model": "bundle:relevance"}
SAYS_SENSE = ("That makes sense!", "You have a good point.")
NO_SENSE = ("That makes no sense!",)
NOT_UNDERSTOOD = (
    "I don't understand at all!",
    "I'm so confused!",
    "That makes no sense!",
    "What does that even mean?",
)
SEPARATOR = " <|endoftext|> "
"""Between turns, as in FED's input to DialoGPT."""

LEAST = 1e-6
EXAMPLE = Example(["What do you do for a living?", "I teach maths at a school."], -8.0, 8.0)


def _declared(name: str, asked: str, negative: tuple[str, ...]) -> Metric:
    @metric(
        name,
        version="2",
        summary=f"Would someone answer that {asked}? (a baseline, {name.replace('fed_', 'FED-')})",
        judges="response",
        models=MODELS,
        accepts={"model": ("relevance", "likelihood")},
        source=SOURCE,
        low=-math.inf,
        high=math.inf,
        neutral=0.0,
        example=EXAMPLE,
    )
    def judge(
        responses: Sequence[Response], *, model: TextScorer | PairClassifier, history: Count = 4
    ) -> list[Judgement]:
        """Return how much more probable approval is than the opposite as the next turn.

        The difference of mean log probabilities; what is said in either case stands among the
        evidence. ``model`` is a generator that scores texts, or the shipped judge of what belongs
        together, which needs none.

        Args:
            history: How many turns before the reply are read.
        """
        follow_ups = (*SAYS_SENSE, *negative)

        def judged(spoken: Sequence[Response]) -> Iterator[Judgement]:
            said = [
                (*(turn.text for turn in response.history[-history:]), response.text)
                for response in spoken
            ]
            asked = [(turns, text) for turns in said for text in follow_ups]
            values = iter(_log_probabilities(model, asked))
            return (_judgement(follow_ups, [next(values) for _ in follow_ups]) for _ in spoken)

        return list(score_or_abstain(responses, empty_reply, judged, 0.0))

    return judge


def _judgement(follow_ups: Sequence[str], given: Sequence[float]) -> Judgement:
    """Return the difference of both kinds of follow-ups, those that approve first."""
    approving = len(SAYS_SENSE)
    sense = sum(given[:approving]) / approving
    none = sum(given[approving:]) / (len(given) - approving)
    evidence = tuple(
        FeatureEvidence(f"log probability of {text!r}", value)
        for text, value in zip(follow_ups, given, strict=True)
    )
    return Judgement(sense - none, evidence=evidence)


def _log_probabilities(
    model: TextScorer | PairClassifier, asked: Sequence[tuple[tuple[str, ...], str]]
) -> list[float]:
    """Return how probable each text is after its turns: of a generator, or as what belongs."""
    if not asked:
        return []
    if isinstance(model, TextScorer):
        prompts = [SEPARATOR.join(turns) for turns, _ in asked]
        return model.log_probabilities(prompts, [text for _, text in asked])
    chances = model.classify([Pair(turns, text) for turns, text in asked])
    return [math.log(max(LEAST, chance)) for chance in chances]


fed_appropriate = _declared("fed_appropriate", "it makes sense", NO_SENSE)
fed_understandable = _declared("fed_understandable", "they understand", NOT_UNDERSTOOD)
