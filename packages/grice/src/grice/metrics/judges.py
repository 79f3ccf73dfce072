"""Metrics that ask a chat model of an endpoint, one for each aspect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.errors import shortened
from grice.metrics.common import score_or_abstain
from grice.metrics.declaration import Example, metric
from grice.metrics.judges import TURNS, Aspect, item_data, rate
from grice.models.protocols import Chat
from grice.records import Conversation, FeatureEvidence, Judgement, Response

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.metrics.declaration import Count, Metric
    from grice.metrics.judges import Rated
    from grice.records import Turn

MODEL = "model"
"""Name of the option with the judge."""
NEUTRAL = 0.5
LONGEST = 300
"""Characters of a judge's reason that are shown."""

ASPECTS = {
    "judge_relevance": Aspect(
        "An LLM judge: does this reply answer what was said?",
        "Rate how well `reply` takes up what was said in `history`. 5: it answers or follows up "
        "exactly what was said last. 3: it stays on the subject without taking up what was said. "
        "1: it has nothing to do with it. Length, style and politeness do not count.",
        "response",
        ("What do you do for a living?", "I teach maths at a school."),
    ),
    "judge_engagement": Aspect(
        "An LLM judge: would one want to go on talking after this reply?",
        "Rate how much `reply` makes a person want to go on with the conversation in `history`. "
        "5: specific, personal or curious, and it leaves something to answer. 3: acceptable and "
        "dull. 1: it ends or annoys the conversation. Length alone does not count.",
        "response",
        ("I went hiking.", "I love hiking! Which trail did you take, and was it steep?"),
    ),
    "judge_commonsense": Aspect(
        "An LLM judge: is what this reply says of the world plausible?",
        "Rate whether what `reply` says, after `history`, agrees with common sense: causes and "
        "effects, what people want and do, where and when things are. 5: all of it is plausible. "
        "3: something is odd. 1: it is impossible or absurd. Whether it is on the subject does "
        "not count.",
        "response",
        ("I lost my keys.", "Then you cannot get in. Call the landlord!"),
    ),
    "judge_coherence": Aspect(
        "An LLM judge: does the whole conversation hold together?",
        "Rate how well the turns in `conversation` hold together. 5: every turn follows from those "
        "before, and nobody contradicts themselves. 3: some turns do not follow. 1: the turns have "
        "nothing to do with each other.",
        "conversation",
        ("Do you like to cook?", "I love it. I made pasta yesterday.", "What kind of pasta?"),
    ),
}
"""What judges are asked, by name of the metric."""

JUDGES = tuple(ASPECTS)


def _declared(name: str) -> Metric:
    aspect = ASPECTS[name]

    @metric(
        name,
        version="2",
        summary=aspect.question,
        judges=aspect.judges,
        models={MODEL: "openai:MODEL@URL"},
        accepts={MODEL: ("chat",)},
        protocols={MODEL: Chat},
        source=(
            "A model asked for a rating by a guideline, as in G-Eval (Liu et al., EMNLP 2023) and "
            "LLM-Eval (Lin and Chen, NLP4ConvAI 2023)."
        ),
        neutral=NEUTRAL,
        example=Example(list(aspect.examples), 0.0, 1.0),
    )
    def judge(
        items: Sequence[Response | Conversation],
        *,
        model: Chat,
        repeats: Count = 1,
        temperature: float = 0.0,
        history: Count = TURNS,
    ) -> Iterator[Judgement]:
        """Return the mean rating by a chat model of an endpoint, scaled from 1–5 to 0–1.

        What was said is sent to the address that the model's reference names, and nowhere else.
        The judge answers as JSON with a reason. What a model writes around it (reasoning in
        ``<think>``, a fence, a sentence) is left out; an answer that cannot be read is asked for
        again, and an item without one has failed. The reason is quoted as the judge's. A reply
        with nothing said before it is not judged, nor is a conversation of a single turn.

        When to use it:
            After ``grice audit`` has compared the judge with people and measured its biases.

        When not to:
            Where text may not leave the machine, or where the same number is needed tomorrow: a
            server may change its model under one name.

        Args:
            repeats: How often each item is judged; the mean counts.
            temperature: How freely the judge draws its words; 0 takes the most probable ones.
            history: How many turns are shown, the last ones.
        """

        def judged(chosen: Sequence[Response | Conversation]) -> Iterator[Judgement]:
            data = [item_data(item, history) for item in chosen]
            rated = rate(model, aspect, data, repeats=repeats, temperature=temperature)
            return map(_judgement, rated)

        def nothing(item: Response | Conversation) -> str | None:
            return _nothing(item, history)

        return score_or_abstain(items, nothing, judged, NEUTRAL)

    return judge


def _nothing(item: Response | Conversation, turns: int) -> str | None:
    """Return why there is nothing to judge in the last turns; judges read all languages."""
    if isinstance(item, Response):
        if not item.text.strip():
            return "the reply is empty"
        return None if _spoken(item.history[-turns:]) else "no turn before it"
    return None if _spoken(item.turns[-turns:]) > 1 else "fewer than two turns"


def _spoken(turns: Sequence[Turn]) -> int:
    """Return in how many turns something is said."""
    return sum(bool(turn.text.strip()) for turn in turns)


def _judgement(rated: Rated) -> Judgement:
    if rated.value is None:
        return Judgement(None, "failed", rated.unanswered[0])
    evidence = tuple(
        FeatureEvidence(f"judge: {shortened(rating.reason, LONGEST)!r}", float(rating.rating))
        for rating in rated.ratings
    )
    reason = f"judge: {shortened(rated.ratings[0].reason, LONGEST)!r}"
    flags = ("partly_unanswered",) if rated.unanswered else ()
    return Judgement(rated.value, "ok", reason, flags, evidence)


judge_relevance = _declared("judge_relevance")
judge_engagement = _declared("judge_engagement")
judge_commonsense = _declared("judge_commonsense")
judge_coherence = _declared("judge_coherence")
