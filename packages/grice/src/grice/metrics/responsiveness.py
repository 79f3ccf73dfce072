"""Responsiveness: does a reply answer the question or request right before it?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from grice.data import FeatureEvidence, Judgement, Response, Span
from grice.metrics.common import feature_at, probability, unscorable_reply
from grice.metrics.declaration import Example, metric
from grice.models.protocols import Encoder, encode_distinct
from grice.text.content import Stretch, questions

NEUTRAL = 0.5
WEIGHT_COSINE, WEIGHT_FORM, SHIFT = 3.3, 0.5, -0.95
"""Log odds of an answer, by logistic regression on replies that answer and that ignore."""
_NUMBER = (
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|"
    r"forty|fifty|dozen|hundred|thousand|million|half|once|twice|few|couple|all|none|long|"
    r"(?:minute|hour|day|week|month|year)s?)\b"
)
_TIME = (
    r"\d|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|today|tomorrow|tonight|yesterday|morning|"
    r"afternoon|evening|night|noon|midnight|ago|since|after|before|until|soon|next|last|spring|"
    r"summer|autumn|winter|january|february|march|april|may|june|july|august|september|october|"
    r"november|december|(?:minute|hour|day|week|month|year)s?)\b"
)
_YES_OR_NO = (
    r"^\W*(?:(?:oh|well|ah|um)\W+)?(?:yes|yeah|yep|no|nope|nah|not|sure|of course|absolutely|"
    r"definitely|certainly|maybe|probably|i do|i did|i am|i have|i don['’]t|i didn['’]t|never|"
    r"always|sometimes|only|both|either|neither)\b|\b(?:don['’]t|do not) (?:know|think|remember)\b|"
    r"\bnot sure\b|\bno idea\b"
)
_AUXILIARY = (
    r"^\W*(?:(?:and|so|but|oh|well)\W+)?(?:am|is|are|was|were|do|does|did|have|has|had|can|could|"
    r"will|would|shall|should|may|might|isn['’]t|aren['’]t|don['’]t|doesn['’]t|didn['’]t)\b"
)
_FORMS = tuple(
    (re.compile(asked, re.IGNORECASE), re.compile(answer, re.IGNORECASE))
    for asked, answer in (
        (r"\bhow (?:many|much|long|old|often|far|big|tall|late|early)\b|\bwhat time\b", _NUMBER),
        (r"\bwho\b", r"\b(?:my|his|her|our|their|your)\b|(?<=[a-z,] )(?-i:[A-Z])[a-z]+"),
        (r"\bwhen\b", _TIME),
        (r"\bwhere\b", r"\b(?:in|at|on|near|by|from|under|behind|to|down|up|here|there|over)\b"),
        (r"\bwhy\b", r"\b(?:because|since|so|to|for|cause|as|due|that)\b"),
        (_AUXILIARY, _YES_OR_NO),
    )
)
"""Patterns of questions, each with the form of its answers."""


def _reason_against(response: Response) -> str | None:
    if reason := unscorable_reply(response):
        return reason
    last = response.history[-1]
    if last.speaker == response.speaker:
        return "the turn before is by the same speaker"
    return None if questions(last.text) else "the turn before contains no question or request"


@metric(
    "responsiveness",
    version="2",
    summary="Does this reply answer the question or request before it?",
    judges="response",
    models={"encoder": "builtin:encoder"},
    protocols={"encoder": Encoder},
    source="Our own.",
    neutral=NEUTRAL,
    abstain=_reason_against,
    reader="encoder",
    example=Example(["Where do you work?", "I work at a school in Leeds."], 0.5, 1.0),
)
def responsiveness(responses: Sequence[Response], *, encoder: Encoder) -> Iterator[Judgement]:
    """Return how well a reply answers the question before it, 0 to 1; 1 is an answer.

    Questions and requests of the turn before, with or without their mark, are compared with the
    reply by the cosine of their vectors, and by the form that an answer has: a number after "how
    many", a yes or no after "do you". Of several, the best-answered one counts, and the
    evidence shows it. The metric abstains on a reply to a turn without a question.

    When to use it:
        To find replies that ignore a question.

    When not to:
        To judge whether an answer is right or complete, or a short one ("Blue.") that shares no
        meaning with its question.
    """
    asked = [questions(response.history[-1].text) for response in responses]
    texts = (s.text for own in asked for s in own)
    vectors = encode_distinct(encoder, [*(response.text for response in responses), *texts])
    for response, own in zip(responses, asked, strict=True):
        reply = vectors[response.text]
        answers = [_answer(q, response.text, float(vectors[q.text] @ reply)) for q in own]
        yield _judgement(response, max(answers, key=lambda answer: answer.odds))


class _Answer(NamedTuple):
    """How a reply answers a question of the turn before."""

    odds: float
    question: Stretch
    cosine: float
    form: float  # 1: the reply has the form of an answer, at ``place``; -1: not; 0: any will do
    place: tuple[int, int] | None


def _answer(question: Stretch, reply: str, cosine: float) -> _Answer:
    answer = next((answer for asked, answer in _FORMS if asked.search(question.text)), None)
    found = answer and answer.search(reply)
    form = 0.0 if answer is None else 1.0 if found else -1.0
    odds = WEIGHT_COSINE * cosine + WEIGHT_FORM * form + SHIFT
    return _Answer(odds, question, cosine, form, found.span() if found else None)


def _judgement(response: Response, best: _Answer) -> Judgement:
    value = probability(best.odds)
    verb = "answers" if value >= NEUTRAL else "does not answer"
    reason = f"{verb} the question of turn {response.positions[-1]} (cosine {best.cosine:.2f})"
    name, effect = "cosine of question and reply", WEIGHT_COSINE * best.cosine
    evidence = [feature_at(name, best.cosine, response.positions[-1], best.question, effect)]
    if best.form:
        place = best.place and Span(response.turn, *best.place)
        effect = WEIGHT_FORM * best.form
        evidence.append(FeatureEvidence("form of an answer", best.form, effect, place))
    return Judgement(value, "ok", reason, (), tuple(evidence))
