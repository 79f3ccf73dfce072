"""How probable a reply is after what was said, to a causal language model."""

from __future__ import annotations

import operator
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from grice.data import FeatureEvidence, Judgement
from grice.metrics.common import unscorable_reply, word_features
from grice.metrics.declaration import Example, metric
from grice.models.protocols import CausalLM, PromptPart
from grice.numeric import np, sigmoid

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from grice.data import Response
    from grice.models.protocols import Prompt, TokenScore


class Reading(NamedTuple):
    """Turns that are read at once, and the number of the scored reply by the index of its turn."""

    turns: list[tuple[str, str]]
    replies: dict[int, int]

    def numbers(self) -> list[int]:
        """Return the numbers of the scored replies in the order of their turns."""
        return [self.replies[turn] for turn in sorted(self.replies)]

    def prompt(self, first: str, rest: str = "") -> Prompt:
        """Return the turns as lines of speakers A, B, …; those of replies are scored."""
        names = {first: "A"}
        segments = []
        for place, (speaker, text) in enumerate(self.turns):
            name = names.setdefault(speaker, chr(ord("A") + len(names) % 26))
            line = f" {text.strip()}"
            segments.append(PromptPart(f"{name}:"))
            if place in self.replies:
                segments += [PromptPart(line + rest, target=True), PromptPart("\n"[len(rest) :])]
            else:
                segments.append(PromptPart(f"{line}\n"))
        return segments


def readings(
    responses: Sequence[Response], key: Callable[[Response], Hashable] = lambda _: None
) -> Iterator[Reading]:
    """Join each reply to the reading of its key, if that is the beginning of its history."""
    open_readings: dict[Hashable, Reading] = {}
    for number, response in enumerate(responses):
        turns = [(turn.speaker, turn.text) for turn in response.history]
        turns.append((response.speaker, response.text))
        group = key(response)
        reading = open_readings.get(group)
        begun = len(reading.turns) if reading else 0
        # A reply that comes once more is a reading of its own, so that both are scored.
        if reading and begun < len(turns) and turns[:begun] == reading.turns:
            reading.turns.extend(turns[begun:])
            reading.replies[len(turns) - 1] = number
            continue
        if reading:
            yield reading
        open_readings[group] = Reading(turns, {len(turns) - 1: number})
    yield from open_readings.values()


NEUTRAL = 0.5
WEIGHT_AFTER, WEIGHT_GAIN, SHIFT = 0.083, 0.233, 0.500
"""Log odds, per nat, that a person would not mark the reply.

By the recipe ``review.likelihood`` of commit a7921dde, on chatbots' turns of DBDC3 and ConvAI 2017.
"""
WORDS = 3  # words shown as evidence


@metric(
    "likelihood",
    version="2",
    summary="How probable is this reply after what was said?",
    judges="response",
    models={"model": "model:medium"},
    accepts={"model": ("likelihood",)},
    protocols={"model": CausalLM},
    source=(
        "Mean log likelihood and pointwise mutual information (Li et al., NAACL 2016) by a causal "
        "language model."
    ),
    neutral=NEUTRAL,
    abstain=unscorable_reply,
    reader="model",
    example=Example(["What do you do for a living?", "I teach maths at a school."], 0.5, 1.0),
)
def likelihood(responses: Sequence[Response], *, model: CausalLM) -> Iterator[Judgement]:
    """Return how well a reply follows, by its log likelihood and what others' turns add to it.

    Every conversation is read once; all its replies are scored in that reading, and in a second one
    that leaves out what others said. What the others' turns add is the *gain*: it is low for a
    reply that does not take them up, and for one that its speaker's own earlier turns explain as
    well. The evidence names the words that the others' turns make less probable.

    When to use it:
        To find replies that make no sense, or do not follow from what was said.

    When not to:
        To rank good replies: it rewards what is usual. Repetitions, dull replies and a chatbot's
        contradictions of itself are probable too, and go unnoticed.
    """
    after = _token_scores(responses, model)
    own = _token_scores(list(map(_own_turns, responses)), model, lambda own: own.speaker)
    return map(_judgement, responses, after, own)


def _token_scores(
    responses: Sequence[Response],
    model: CausalLM,
    key: Callable[[Response], Hashable] = lambda _: None,
) -> list[list[TokenScore]]:
    """Return the tokens of each reply; replies of one key share the reading of a history."""
    read = list(readings(responses, key))
    scores: list[list[TokenScore]] = [[] for _ in responses]
    prompts = [reading.prompt(first=reading.turns[0][0]) for reading in read]
    for reading, segments in zip(read, model.token_scores(prompts), strict=True):
        for number, tokens in zip(reading.numbers(), segments, strict=True):
            scores[number] = tokens
    return scores


def _own_turns(response: Response) -> Response:
    """Return a reply after its speaker's earlier turns alone."""
    own = [turn.speaker == response.speaker for turn in response.history]
    return replace(
        response,
        history=tuple(compress(response.history, own)),
        positions=tuple(compress(response.positions, own)),
    )


def _judgement(
    response: Response, after: Sequence[TokenScore], own: Sequence[TokenScore]
) -> Judgement:
    mean = float(np.mean([token.log_probability for token in after]))
    gain = mean - float(np.mean([token.log_probability for token in own]))
    value = float(sigmoid(np.array(WEIGHT_AFTER * mean + WEIGHT_GAIN * gain + SHIFT)))
    # Tokens come with offsets in the stripped reply behind a space.
    indent = len(response.text) - len(response.text.lstrip()) - 1
    changes = (
        (here.end + indent - 1, here.log_probability - alone.log_probability)
        for here, alone in zip(after, own, strict=True)
    )
    features = word_features(response, "less probable here", changes, operator.add)
    words = sorted((word for word in features if word.value < 0), key=lambda word: word.value)
    evidence = (
        FeatureEvidence("mean log likelihood after the history", mean, WEIGHT_AFTER * mean),
        FeatureEvidence("gain over own turns alone", gain, WEIGHT_GAIN * gain),
        *words[:WORDS],
    )
    if value >= NEUTRAL and gain > 0:
        reason = f"others' turns make it more probable ({gain:+.1f} nats a token)"
    elif value >= NEUTRAL or not words:
        how = "probable" if value >= NEUTRAL else "improbable"
        reason = f"{how} as a whole ({mean:+.1f} nats a token)"
    else:
        reason = f"{words[0].name} ({words[0].value:+.1f} nats)"
    return Judgement(value, "ok", reason, (), evidence)
