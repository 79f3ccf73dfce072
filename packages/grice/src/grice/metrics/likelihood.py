"""Likelihood of a reply given its history, by a causal language model."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from itertools import compress

from msgspec.structs import replace

from grice.data import FeatureEvidence, Judgement, Response
from grice.metrics.common import unscorable_reply, word_features
from grice.metrics.declaration import Example, metric
from grice.models.flaws import read_replies
from grice.models.protocols import CausalLM, TokenScore
from grice.numeric import np, sigmoid

NEUTRAL = 0.5
WEIGHT_AFTER, WEIGHT_GAIN, SHIFT = 0.083, 0.233, 0.500
"""Log odds, per nat, that a person would not mark the reply.

By the recipe ``review.likelihood`` of commit a7921dde, on chatbots' turns of DBDC3 and ConvAI 2017.
"""
WORDS = 3  # words shown as evidence


@metric(
    "likelihood",
    version="2",
    summary="How probable is this reply given its history?",
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
    """Return how well a reply follows, by its log likelihood and its gain from others' turns.

    All replies of a conversation are scored in one pass, and in a second one without the turns of
    others. The difference is the *gain*: it is low for a reply that does not respond to those
    turns, and for one that its speaker's own earlier turns explain as well. The evidence names the
    words that the others' turns make less probable.

    When to use it:
        To find replies that make no sense, or do not follow from what was said.

    When not to:
        To rank good replies: it rewards common ones. Repetitions, dull replies and a chatbot's
        contradictions of itself are probable too and are not detected.
    """
    after = read_replies(responses, model.token_scores)
    own = read_replies(list(map(_own_turns, responses)), model.token_scores, by_speaker=True)
    return map(_judgement, responses, after, own)


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
    features = word_features(
        response, "less probable after the others' turns", changes, operator.add
    )
    words = sorted((word for word in features if word.value < 0), key=lambda word: word.value)
    evidence = (
        FeatureEvidence("mean log likelihood after the history", mean, WEIGHT_AFTER * mean),
        FeatureEvidence("gain over the speaker's own turns", gain, WEIGHT_GAIN * gain),
        *words[:WORDS],
    )
    if value >= NEUTRAL and gain > 0:
        reason = f"the others' turns raise its log likelihood ({gain:+.1f} nats per token)"
    elif value >= NEUTRAL or not words:
        reason = f"mean log likelihood of {mean:.1f} nats per token"
    else:
        reason = f"{words[0].name} ({words[0].value:+.1f} nats)"
    return Judgement(value, "ok", reason, (), evidence)
