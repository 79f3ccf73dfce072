"""A complete plugin package in one module: what somebody else would publish."""

from grice.data import FeatureEvidence, Judgement
from grice.metrics import Example, metric
from grice.models.protocols import Pair, PairClassifier

EXAMPLE = Example(["Where were you?", "AT HOME."], low=0.0, high=0.2)


@metric(
    "calm", version="1", summary="Is the reply free of shouting?", judges="response",
    source="Nobody published this.", neutral=1.0, example=EXAMPLE,
)  # fmt: skip
def calm(responses, *, weight: float = 1.0):
    """Return one minus the weighted share of capitals among the letters.

    Args:
        weight: How much a capital counts.
    """
    for response in responses:
        letters = [c for c in response.text if c.isalpha()]
        if not letters:
            yield Judgement(1.0, "abstained", "no letters")
            continue
        share = sum(c.isupper() for c in letters) / len(letters)
        evidence = (FeatureEvidence("share of capitals", share),)
        yield Judgement(max(0.0, 1 - weight * share), evidence=evidence)


@metric(
    "calm_model", version="1", summary="Does a model find the reply calm?", judges="response",
    source="Nobody published this.", models={"model": "shout:1"},
    protocols={"model": PairClassifier}, example=EXAMPLE,
)  # fmt: skip
def calm_model(responses, *, model):
    """Return what the model says of each reply."""
    pairs = [Pair((), response.text) for response in responses]
    return [Judgement(value) for value in model.classify(pairs)]
