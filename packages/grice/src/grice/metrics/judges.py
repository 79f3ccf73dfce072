"""LLM judges: metrics that use a chat model of an endpoint, one per aspect, and their prompts.

The judged text is one JSON object in the user's message, where quotation marks, angle brackets,
control and invisible characters are escaped: nothing in it can end the data, look like the start of
another message, or hide.
"""

from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from importlib import resources
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from grice.data import Conversation, FeatureEvidence, Json, Judgement, Response, Turn
from grice.errors import shortened
from grice.metrics.common import empty_reply, flag_truncated, score_or_abstain
from grice.metrics.declaration import Count, Example, Metric, metric
from grice.models.protocols import Chat, ChatRequest, Message, RubricJudge, Unanswered

MODEL = "model"  # name of the option with the judge
NEUTRAL = 0.5
LONGEST = 300  # characters of a judge's reason that are shown
LOW, HIGH = 1, 5  # ends of the rating scale of judges

TURNS = 40  # number of turns in the prompt, the last ones

_TEXTS = tomllib.loads(resources.files("grice").joinpath("data/judges.toml").read_text("utf-8"))
RULES, RATE, PREFER = _TEXTS["rules"], _TEXTS["rate"], _TEXTS["prefer"]


class Rating(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer of a judge of one text."""

    reason: str
    rating: Annotated[int, msgspec.Meta(ge=LOW, le=HIGH)]


class Aspect(NamedTuple):
    """The question that a metric answers, the instructions of its judge, and example turns."""

    question: str
    guideline: str
    judges: Literal["response", "conversation"]
    examples: Sequence[str]
    form: type[Rating] = Rating


ASPECTS = {name: Aspect(**texts) for name, texts in _TEXTS["aspects"].items()}
"""The questions to judges, by name of the metric."""
JUDGES = tuple(ASPECTS)


class Preference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer of a judge of two replies."""

    reason: str
    better: Literal["first", "second", "equal"]


class Rated(NamedTuple):
    """The answers to one item: the given ones, and the reasons of missing ones."""

    ratings: tuple[Rating, ...]
    unanswered: tuple[str, ...]

    @property
    def value(self) -> float | None:
        """The mean rating, 0 to 1; None if there is none."""
        ratings = [rating.rating for rating in self.ratings]
        return (sum(ratings) / len(ratings) - LOW) / (HIGH - LOW) if ratings else None


def _declared(name: str) -> Metric:
    aspect = ASPECTS[name]

    @metric(
        name,
        version="2",
        summary=aspect.question,
        judges=aspect.judges,
        models={MODEL: "openai:MODEL@URL"},
        accepts={MODEL: ("chat", "rubric")},
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
        model: Chat | RubricJudge,
        repeats: Count = 1,
        temperature: float = 0.0,
        history: Count = TURNS,
    ) -> Iterator[Judgement]:
        """Return the mean rating by a chat model, scaled from 1–5 to 0–1.

        A model of type ``yes-no`` or ``digits`` runs here and gives the expected answer, in one
        pass whatever ``repeats`` and ``temperature``. Texts for an endpoint are sent only to the
        address in the model's reference.
        The judge answers as JSON with a reason. Text around it (reasoning in ``<think>``, a
        fence, a sentence) is ignored; an invalid answer is requested again, and an item without a
        valid one has failed. The reason is quoted from the judge. The metric abstains on a reply
        without history and on a conversation of a single turn.

        When to use it:
            After ``grice audit`` has compared the judge with people and measured its biases.

        When not to:
            Where text may not leave the machine, or where scores must be reproducible: a server may
            change its model under one name.

        Args:
            repeats: Number of requests per item; the score is their mean.
            temperature: Sampling temperature of the judge; 0 is greedy.
            history: Number of turns in the prompt, the last ones.
        """

        def score(scored: Sequence[Response | Conversation]) -> Iterator[Judgement]:
            if isinstance(model, RubricJudge):
                return _graded(model, aspect, [last_turns(item, history) for item in scored])
            data = [item_data(item, history) for item in scored]
            rated = rate(model, aspect, data, repeats=repeats, temperature=temperature)
            return map(judgement, rated)

        return score_or_abstain(items, partial(unanswerable, turns=history), score, NEUTRAL)

    return judge


judge_relevance, judge_engagement, judge_commonsense, judge_coherence = map(_declared, ASPECTS)


def unanswerable(item: Response | Conversation, turns: int) -> str | None:
    """Return why the last turns cannot be judged; judges read all languages."""
    history = item.history if isinstance(item, Response) else item.turns
    spoken = sum(bool(turn.text.strip()) for turn in history[-turns:])
    if isinstance(item, Conversation):
        return None if spoken > 1 else "fewer than two turns contain text"
    return empty_reply(item) or (None if spoken else "no turn before the reply")


def last_turns(item: Response | Conversation, turns: int) -> Response | Conversation:
    """Return an item with the last turns of its history."""
    if isinstance(item, Conversation):
        return replace(item, turns=item.turns[-turns:])
    return replace(item, history=item.history[-turns:], positions=item.positions[-turns:])


def _graded(
    judge: RubricJudge, aspect: Aspect, items: Sequence[Response | Conversation]
) -> Iterator[Judgement]:
    values = judge.grade(items, aspect.guideline).tolist()
    judgements = (Judgement(x, "ok", f"expected answer {x:.2f}, from 0 to 1") for x in values)
    return flag_truncated(judgements, (), judge, items)


def judgement(rated: Rated) -> Judgement:
    """Return the mean rating with the reasons of the judge, or why there is none."""
    if rated.value is None:
        return Judgement(None, "failed", rated.unanswered[0])
    evidence = tuple(
        FeatureEvidence(f"judge: {shortened(rating.reason, LONGEST)!r}", float(rating.rating))
        for rating in rated.ratings
    )
    flags = ("partly_unanswered",) if rated.unanswered else ()
    return Judgement(rated.value, "ok", evidence[0].name, flags, evidence)


def rate(
    chat: Chat,
    aspect: Aspect,
    items: Sequence[dict[str, Json]],
    *,
    repeats: int = 1,
    temperature: float = 0.0,
) -> list[Rated]:
    """Return the ratings of each item, as records of the aspect's form."""
    system = Message("system", f"{RULES}\n\n{aspect.guideline}\n\n{RATE}")
    requests = [
        ChatRequest((system, Message("user", escaped_json(item))), temperature, seed)
        for seed in range(repeats)
        for item in items
    ]
    answers = chat.answers(requests, aspect.form)
    # Repeats of an item are apart: one that cannot be answered does not end the run alone.
    groups = (answers[place :: len(items)] for place in range(len(items)))
    return [
        Rated(
            tuple(answer for answer in group if isinstance(answer, Rating)),
            tuple(answer.reason for answer in group if isinstance(answer, Unanswered)),
        )
        for group in groups
    ]


def prefer(
    chat: Chat, aspect: Aspect, items: Sequence[tuple[Json, str, str]]
) -> list[tuple[Preference | Unanswered, Preference | Unanswered]]:
    """Return which of two replies to a history a judge prefers, in both orders."""
    system = Message("system", f"{RULES}\n\n{aspect.guideline}\n\n{PREFER}")
    requests = [
        ChatRequest((system, Message("user", escaped_json(asked))))
        for history, first, other in items
        for asked in (
            {"history": history, "first": first, "second": other},
            {"history": history, "first": other, "second": first},
        )
    ]
    answers = iter(chat.answers(requests, Preference))
    return [(next(answers), next(answers)) for _ in items]


def talk_data(turns: Iterable[Turn]) -> list[Json]:
    """Return turns in the format of the prompt."""
    return [{"speaker": turn.speaker, "text": turn.text} for turn in turns]


def item_data(item: Response | Conversation, turns: int = TURNS) -> dict[str, Json]:
    """Return a reply with its history, or a conversation, in the format of the prompt."""
    if isinstance(item, Conversation):
        return {"conversation": talk_data(item.turns[-turns:])}
    return {"history": talk_data(item.history[-turns:]), "reply": item.text}


def escaped_json(data: dict[str, Json]) -> str:
    """Return JSON in which no character is invisible or begins a tag."""
    import json  # here: reading a help text needs none

    def escaped(character: str) -> str:
        visible = unicodedata.category(character)[0] != "C" and character not in "<>|"
        if visible or character == "\n":
            return character
        units = character.encode("utf-16-be", "surrogatepass").hex()
        return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))

    return "".join(map(escaped, json.dumps(data, ensure_ascii=False, indent=1)))
