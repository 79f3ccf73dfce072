"""Guided and reranked replies beside those of the base model, judged by what did not steer.

Contexts are those of the thesis, up to four turns at a random position, of Topical-Chat's test
conversations. The base draws at temperature 0.7; the best of n is chosen out of further draws, by
their product of relevance and engagement; guides draw under their estimates, for rising
strengths. Stated are the steering metrics, metrics that had no part, length, repetition,
contradictions, distinct-2, perplexity under the base, and how often each is better than the base,
as it is and at one length. What people said in that place stands beside them.

Replies are read from the folder ``guides`` of the weights, where the recipe ``guide`` keeps them:
``test.jsonl`` those of the base, ``guided.jsonl`` those of guides. Contexts stand in an order that
was drawn, so that the first ones are a random part: a guide whose replies go to so many, the
perplexity, and the largest judge rest on such parts, and their n says on how many.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grice.errors import GriceError, InputError
from grice.evaluation.candidates import chat_prompt
from grice.evaluation.rerank import Blend
from grice.models.protocols import CausalLM
from grice.records import Conversation, FeatureEvidence, Turn
from grice.stats import mean
from grice.text.repetition import novelty
from grice_research.context import Skipped
from grice_research.length_controlled import length_controlled
from grice_research.recipes.guide.draw import read_drawn
from grice_research.recipes.guide.guided import read_guided
from grice_research.rows import DIFFERENCE, Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from grice.stats.estimate import Estimate
    from grice_research.context import BenchContext
    from grice_research.recipes.guide.draw import Drawn
    from grice_research.rows import Kind

__all__ = ["chosen_of", "measure", "systems_of", "texts_of"]

TITLE = "Steered replies on kept contexts: reranked, guided, judged by what did not steer"
PAPER = "thesis on automatic metrics of dialogue, chapter 6; NADO (Meng et al., NeurIPS 2022)"
MODEL = "model:medium"
STEERING = ("relevance", "engagement")
BLEND = Blend("product")
"""One of the ways to choose that the recipe ``guide`` can compare on the validation split."""
HELD_OUT = (
    "cross_encoder",
    "sense",
    "commonsense",
    "unanswered",
    "contradiction",
    "sense (medium)",
    "sense (large)",
)
COUNTS = (2, 4, 8, 16)
BASE, PEOPLE = "base", "people"
LARGER = ("sense (medium)", "sense (large)")
COMPARED = (BASE, "best of 8", "guide of relevance and engagement, strength 4")
"""Systems that the larger judges read."""
PARTLY = {"sense": 60, "sense (medium)": 60, "sense (large)": 40}
"""Judges that read the replies to the first contexts alone: a reply takes seconds."""
WEIGHED = 40
"""Contexts whose replies' perplexity is computed."""
GRAM = 4
REPEATED = "share of replies that repeat themselves"
CONTRADICTS = "share of replies that contradict"
DISTINCT = "distinct-2 of a reply"
PERPLEXITY = "nats a token under the base"
FLAW = "contradiction"


class _Judged(NamedTuple):
    """A metric's value of each reply, and the probability of a contradiction where it says so."""

    values: list[float]
    contradicts: list[float]
    signature: str


def measure(context: BenchContext) -> Iterator[Row]:
    """Yield what becomes of replies as guides get stronger, or more is chosen from."""
    drawn = _drawn(context)
    systems = dict(systems_of(context, drawn))
    judged = {
        name: {
            judge: each
            for judge in (*STEERING, *HELD_OUT, *LARGER)
            if judge not in LARGER or name in COMPARED
            if (each := _judged(context, judge, drawn, texts[: PARTLY.get(judge)]))
        }
        for name, texts in systems.items()
    }
    try:
        model = context.models().open(MODEL, CausalLM)
    except GriceError as error:
        raise Skipped(str(error)) from None
    judges = {judge: each.signature for judge, each in judged[BASE].items()}
    signature = f"{model.identity}|topical_chat test, {len(drawn)} contexts"
    columns = {
        name: {
            **{judge: each.values for judge, each in judged[name].items()},
            **_contradictions(judged[name]),
            **texts_of(drawn, texts),
            PERPLEXITY: _nats(model, drawn, texts[:WEIGHED]),
        }
        for name, texts in systems.items()
    }
    for name, texts in systems.items():
        steered = () if name in {BASE, PEOPLE} else STEERING
        for what, column in columns[name].items():
            by = what.removeprefix(f"{CONTRADICTS} by ")
            signed = _signed(judges, (*steered, by), signature)
            yield _row(name, what, _mean(what, column), signed)
            if name != BASE:
                yield _difference(name, what, column, columns[BASE][what], signed)
        if name != BASE:
            signatures = {by: _signed(judges, (*steered, by), signature) for by in judged[name]}
            yield from _wins(name, texts, systems[BASE], judged, signatures)


def _signed(judges: Mapping[str, str], names: Iterable[str], signature: str) -> str:
    """Return a signature with those of the metrics among names, by which replies were judged."""
    signatures = [judges[name] for name in dict.fromkeys(names) if name in judges]
    return "+".join([*signatures, signature])


def _drawn(context: BenchContext) -> list[Drawn]:
    path = context.weights("guides") / "test.jsonl"
    if not (drawn := read_drawn(path)):
        raise Skipped(f"{path}: no replies are there; python -m grice_research.recipes.guide.draw")
    return drawn


def systems_of(context: BenchContext, drawn: Sequence[Drawn]) -> Iterator[tuple[str, list[str]]]:
    """Yield the replies of each system to the first contexts by its name, the base first."""
    yield BASE, [each.texts[0] for each in drawn]
    yield PEOPLE, [each.reply.text for each in drawn]
    most = min(len(each.texts) for each in drawn) - 1
    repeated = [each for each in drawn for _ in range(most)]
    texts = [text for each in drawn for text in each.texts[1 : most + 1]]
    scores = {name: _judged(context, name, repeated, texts) for name in STEERING}
    for count in (count for count in COUNTS if count <= most):
        places = [
            start + chosen_of({name: each.values[start : start + count]
                               for name, each in scores.items() if each})
            for start in range(0, len(texts), most)
        ]  # fmt: skip
        yield f"best of {count}", [texts[place] for place in places]
    guided: dict[str, dict[str, str]] = {}
    for each in read_guided(context.weights("guides") / "guided.jsonl"):
        name = f"guide of {each.guide}, strength {each.strength:g}"
        guided.setdefault(name, {})[each.id] = each.text
    for name, replies in guided.items():
        count = next((n for n, each in enumerate(drawn) if each.id not in replies), len(drawn))
        yield name, [replies[each.id] for each in drawn[:count]]


def chosen_of(scores: Mapping[str, Sequence[float]]) -> int:
    """Return the place of the reply that the blend prefers."""
    rows = [dict(zip(scores, row, strict=True)) for row in zip(*scores.values(), strict=True)]
    return int(np.argmax([BLEND.value(row) for row in rows]))


def texts_of(contexts: Sequence[Drawn], texts: Sequence[str]) -> dict[str, list[float]]:
    """Return what needs no model of each reply: length, repetition, distinct-2."""
    return {
        "words": [float(len(text.split())) for text in texts],
        REPEATED: [float(_repeats(*each)) for each in zip(texts, contexts, strict=False)],
        DISTINCT: [_distinct(text) for text in texts],
    }


def _nats(model: CausalLM, contexts: Sequence[Drawn], texts: Sequence[str]) -> list[float]:
    prompts = [chat_prompt(each.turns) for each in contexts[: len(texts)]]
    return [-value for value in model.log_probabilities(prompts, [text or " " for text in texts])]


def _contradictions(judged: Mapping[str, _Judged]) -> dict[str, list[float]]:
    """Return by judge that says so whether each reply contradicts."""
    return {
        f"{CONTRADICTS} by {judge}": [float(chance > 0.5) for chance in each.contradicts]
        for judge, each in judged.items()
        if each.contradicts
    }


def _repeats(text: str, context: Drawn) -> bool:
    """Return whether a reply says a sentence again, or four words within itself."""
    words = text.lower().split()
    grams = [tuple(words[i : i + GRAM]) for i in range(len(words) - GRAM + 1)]
    earlier = [turn.text for turn in context.turns]
    return len(set(grams)) < len(grams) or novelty(text, earlier).novel_fraction < 1


def _distinct(text: str) -> float:
    words = text.lower().split()
    pairs = list(pairwise(words))
    return len(set(pairs)) / len(pairs) if pairs else 1.0


def _judged(
    context: BenchContext, metric: str, contexts: Sequence[Drawn], texts: Sequence[str]
) -> _Judged | None:
    """Return what a metric says of each reply, the neutral value where it abstains.

    None if its model is not at hand, or there is no such metric.
    """
    try:
        grader, signatures = context.grader(metric)
    except GriceError:
        return None
    talks = [
        Conversation(f"{number}", (*each.turns, Turn(each.reply.speaker, text)), (len(each.turns),))
        for number, (each, text) in enumerate(zip(contexts, texts, strict=False))
    ]
    scores = list(grader.score(talks))
    values = [score.value for score in scores if score.value is not None]
    if len(values) < len(talks):
        raise InputError(f"{metric} failed on {len(talks) - len(values)} replies")
    if metric == FLAW:
        return _Judged(values, [1 - value for value in values], signatures[metric])
    chances = [
        piece.value
        for score in scores
        for piece in score.evidence
        if isinstance(piece, FeatureEvidence) and piece.name == FLAW
    ]
    contradicts = chances if len(chances) == len(talks) else []
    return _Judged(values, contradicts, signatures[metric])


def _wins(
    name: str,
    texts: Sequence[str],
    base: Sequence[str],
    judged: Mapping[str, Mapping[str, _Judged]],
    signatures: Mapping[str, str],
) -> Iterator[Row]:
    """Yield how often a system is better than the base, ties half, as it is and at one length."""
    sizes = [
        (len(own.split()), len(theirs.split())) for own, theirs in zip(texts, base, strict=False)
    ]
    for judge, own in judged[name].items():
        pairs = zip(own.values, judged[BASE][judge].values, strict=False)
        won = [0.5 if mine == theirs else float(mine > theirs) for mine, theirs in pairs]
        what = f"share better than the base by {judge}"
        yield _row(name, what, _mean(what, won), signatures[judge])
        controlled = length_controlled(won, sizes[: len(won)])
        yield _row(name, f"{what}, at one length", controlled, signatures[judge])


def _difference(
    name: str, what: str, own: Sequence[float], base: Sequence[float], signature: str
) -> Row:
    """Return how far a system is above the base on the same contexts."""
    estimate = mean([mine - theirs for mine, theirs in zip(own, base, strict=False)])
    return _row(name, f"{DIFFERENCE}{what} to the base", estimate, signature)


def _mean(what: str, values: Sequence[float]) -> Estimate:
    return mean(values, bounds=(0, 1) if what.startswith("share") else (-math.inf, math.inf))


def _row(name: str, what: str, estimate: Estimate, signature: str) -> Row:
    kind: Kind = "ours" if name not in {BASE, PEOPLE} else "baseline"
    return Row(row=name, measure=what, estimate=estimate, kind=kind, on="Topical-Chat test",
               signature=signature)  # fmt: skip
