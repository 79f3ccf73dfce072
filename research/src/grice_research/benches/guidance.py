"""Guided replies beside those of the base model and the best of n, judged by what did not steer.

Contexts are those of the thesis, up to four turns at a random position, of Topical-Chat's test
conversations. The base takes the likeliest token each time, a guide the likeliest under its
estimate, for rising strengths; the best of n is chosen by the mean of the metrics that the guides
were trained on, out of replies that begin with the n likeliest tokens, for rising n. Stated are the
steering metrics, metrics that had no part, length, repetition, distinct-2, perplexity under the
base, and how often each is better than the base. What people said in that place stands beside them.

Guides are read from the folder ``guides`` of the weights: ``grice train guide`` on conversations of
the validation split writes them.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grice.errors import GriceError, InputError
from grice.records import Conversation, Turn
from grice.runtime.protocols import SteerableLM
from grice.stats import mean
from grice.steer.generate import END, chat_prompt
from grice.steer.guide import load_guide
from grice.steer.guided import GuidedChoice, likeliest
from grice.text.repetition import novelty
from grice_research.context import Skipped
from grice_research.recipes.sense.sources import lines_of
from grice_research.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from grice.runtime.stepwise import Chooser
    from grice_research.context import BenchContext
    from grice_research.rows import Kind

__all__ = ["Context", "System", "measure", "read_contexts", "systems_of", "texts_of"]

TITLE = "Guided and reranked replies of a language model"
PAPER = "thesis on automatic metrics of dialogue, chapter 6; NADO (Meng et al., NeurIPS 2022)"
MODEL = "model:medium"
STEERING = ("relevance", "engagement")
HELD_OUT = ("sense", "commonsense", "unanswered", "cross_encoder")
GUIDES = ("both", "relevance", "engagement")
STRENGTHS = (1.0, 2.0, 4.0, 16.0)
ALONE = 4.0
"""The strength at which guides of one metric stand beside the one of both."""
COUNTS = (2, 4, 8)
CONTEXTS = 32
TURNS = 4
TOKENS = 40
BASE, PEOPLE = "base", "people"
ALIKE = 1.25
"""Replies are alike in length up to this ratio of words."""
GRAM = 4
REPEATED = "share of replies that repeat themselves"
PERPLEXITY = "nats a token under the base"
CHOSEN_TOKENS = "tokens computed"


class Context(NamedTuple):
    """Turns to be answered, and what was said there."""

    id: str
    turns: tuple[Turn, ...]
    reply: Turn


class System(NamedTuple):
    """A reply to each context, and how many tokens it took the model to write them all."""

    texts: list[str]
    tokens: int


def read_contexts(folder: Path, count: int = CONTEXTS, seed: int = 0) -> list[Context]:
    """Return contexts of different test conversations, drawn at random."""
    random = np.random.default_rng(seed)
    talks = [
        row
        for name in ("test_freq", "test_rare")
        for row in lines_of(folder / "topical_chat" / f"{name}.jsonl.gz")
    ]
    contexts = []
    for place in random.permutation(len(talks))[:count]:
        turns = [Turn(turn["speaker"], turn["text"]) for turn in talks[place]["turns"]]
        end = int(random.integers(1, len(turns)))
        before = tuple(turns[max(0, end - TURNS) : end])
        contexts.append(Context(str(talks[place]["id"]), before, turns[end]))
    return contexts


def measure(context: BenchContext) -> Iterator[Row]:
    """Yield what becomes of replies as guides get stronger, or more is chosen from."""
    contexts = read_contexts(context.folder)
    try:
        model = context.models().open(MODEL, SteerableLM)
    except GriceError as error:
        raise Skipped(str(error)) from None
    systems = dict(systems_of(context, model, contexts))
    judges = [*STEERING, *_there(context, HELD_OUT)]
    values = {
        name: {judge: _values(context, judge, contexts, system.texts) for judge in judges}
        for name, system in systems.items()
    }
    signature = f"{model.identity}|topical_chat test, {len(contexts)} contexts"
    for name, system in systems.items():
        others = texts_of(model, contexts, system.texts)
        for what, column in {**values[name], **others}.items():
            yield _row(name, what, column, signature)
        yield _row(name, CHOSEN_TOKENS, [system.tokens / len(contexts)] * len(contexts), signature)
        if name != BASE:
            yield from _wins(name, system, systems[BASE], values, signature)


def systems_of(
    context: BenchContext, model: SteerableLM, contexts: Sequence[Context]
) -> Iterator[tuple[str, System]]:
    """Yield each system by its name, the base first."""
    yield BASE, _written(model, contexts, [likeliest] * len(contexts))
    yield PEOPLE, System([each.reply.text for each in contexts], 0)
    folder = context.weights("guides")
    if not any((folder / name).is_dir() for name in GUIDES):
        raise Skipped(f"{folder}: no guide is there; grice train guide writes them")
    for name in GUIDES:
        if (folder / name).is_dir():
            guide = load_guide(folder / name)
            guide.check(model)
            for strength in STRENGTHS if name == GUIDES[0] else (ALONE,):
                choosers = [GuidedChoice(guide, strength) for _ in contexts]
                yield f"guide {name}, strength {strength:g}", _written(model, contexts, choosers)
    yield from _best_of(context, model, contexts)


def _written(
    model: SteerableLM, contexts: Sequence[Context], choosers: Sequence[Chooser]
) -> System:
    prompts = [chat_prompt(each.turns) for each in contexts]
    written = model.choose(prompts, choosers, stop=END, max_tokens=TOKENS)
    return System([each.text for each in written], sum(each.tokens for each in written))


def _best_of(
    context: BenchContext, model: SteerableLM, contexts: Sequence[Context]
) -> Iterator[tuple[str, System]]:
    """Yield the best of the first n alternatives of each context, by the steering metrics."""
    most = max(COUNTS)
    repeated = [each for each in contexts for _ in range(most)]
    choosers = [_Alternative(place) for _ in contexts for place in range(most)]
    prompts = [chat_prompt(each.turns) for each in repeated]
    written = model.choose(prompts, choosers, stop=END, max_tokens=TOKENS)
    scores = [
        _values(context, judge, repeated, [each.text for each in written]) for judge in STEERING
    ]
    blends = np.mean(scores, axis=0).reshape(len(contexts), most)
    sizes = np.array([each.tokens for each in written]).reshape(len(contexts), most)
    for count in COUNTS:
        places = blends[:, :count].argmax(axis=1) + most * np.arange(len(contexts))
        texts = [written[place].text for place in places]
        yield f"best of {count}", System(texts, int(sizes[:, :count].sum()))


class _Alternative:
    """Takes the token of a place first and then the likeliest, as ``alternatives`` does."""

    def __init__(self, place: int) -> None:
        self._place = place

    def __call__(self, logits: NDArray[np.float32], before: Sequence[int]) -> int:
        """Return the id of the next token."""
        if before:
            return likeliest(logits, before)
        return int(np.argsort(-logits, kind="stable")[self._place])


def texts_of(
    model: SteerableLM, contexts: Sequence[Context], texts: Sequence[str]
) -> dict[str, list[float]]:
    """Return what needs no metric of each reply: length, repetition, distinct-2, perplexity."""
    prompts = [chat_prompt(each.turns) for each in contexts]
    filled = [text or " " for text in texts]
    return {
        "words": [float(len(text.split())) for text in texts],
        REPEATED: [float(_repeats(text, each)) for text, each in zip(texts, contexts, strict=True)],
        "distinct-2 of a reply": [_distinct(text) for text in texts],
        PERPLEXITY: [-value for value in model.log_probabilities(prompts, filled)],
    }


def _repeats(text: str, context: Context) -> bool:
    """Return whether a reply says a sentence again, or four words within itself."""
    words = text.lower().split()
    grams = [tuple(words[i : i + GRAM]) for i in range(len(words) - GRAM + 1)]
    earlier = [turn.text for turn in context.turns]
    return len(set(grams)) < len(grams) or novelty(text, earlier).novel_fraction < 1


def _distinct(text: str) -> float:
    words = text.lower().split()
    pairs = list(pairwise(words))
    return len(set(pairs)) / len(pairs) if pairs else 1.0


def _there(context: BenchContext, names: Sequence[str]) -> Iterator[str]:
    """Yield the metrics whose models are at hand."""
    for name in names:
        try:
            context.grader(name)
        except GriceError:
            continue
        yield name


def _values(
    context: BenchContext, metric: str, contexts: Sequence[Context], texts: Sequence[str]
) -> list[float]:
    """Return a metric's value of each reply; the neutral one where it abstains."""
    grader, _ = context.grader(metric)
    talks = [
        Conversation(f"{number}", (*each.turns, Turn(each.reply.speaker, text)), (len(each.turns),))
        for number, (each, text) in enumerate(zip(contexts, texts, strict=True))
    ]
    values = [score.value for score in grader.score(talks)]
    if None in values:
        raise InputError(f"{metric} failed on a reply to {contexts[values.index(None)].id}")
    return [value for value in values if value is not None]


def _wins(
    name: str,
    system: System,
    base: System,
    values: Mapping[str, Mapping[str, Sequence[float]]],
    signature: str,
) -> Iterator[Row]:
    """Yield how often a system is better than the base, ties half, and of replies of one length."""
    sizes = [
        sorted((len(own.split()) + 1, len(theirs.split()) + 1))
        for own, theirs in zip(system.texts, base.texts, strict=True)
    ]
    alike = [longer <= ALIKE * shorter for shorter, longer in sizes]
    for judge, column in values[name].items():
        pairs = list(zip(column, values[BASE][judge], strict=True))
        won = [0.5 if own == theirs else float(own > theirs) for own, theirs in pairs]
        yield _row(name, f"share better than the base by {judge}", won, signature)
        kept = [value for value, is_alike in zip(won, alike, strict=True) if is_alike]
        if kept:
            about = f"share better than the base by {judge}, of one length"
            yield _row(name, about, kept, signature)


def _row(name: str, what: str, values: Sequence[float], signature: str) -> Row:
    is_share = what.startswith("share")
    estimate = mean(values, bounds=(0, 1) if is_share else (-math.inf, math.inf))
    kind: Kind = "ours" if name not in {BASE, PEOPLE} else "baseline"
    return Row(row=name, measure=what, estimate=estimate, kind=kind, on="Topical-Chat test",
               signature=signature)  # fmt: skip
