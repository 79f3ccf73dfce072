"""A kind of model and a scheme of references, as somebody else would publish them."""

from hashlib import sha256
from pathlib import Path

from grice.models.folder import Card, ModelFolder
from grice.models.loader import Settings, model_type


class ShoutSettings(Settings, frozen=True):
    weight: float


class ShoutHead:
    """Judges a reply by its capitals alone."""

    def __init__(self, identity, weight):
        self.identity = identity
        self._weight = weight

    def classify(self, pairs):
        """Return one less the weighted share of capitals, 0 to 1."""
        return [max(0.0, 1 - self._weight * share(pair.right)) for pair in pairs]

    def truncated(self, texts):
        """Return false: every text is read whole."""
        return [False for _ in texts]


def share(text):
    """Return the share of capitals among the letters."""
    letters = [c for c in text if c.isalpha()]
    return sum(c.isupper() for c in letters) / max(1, len(letters))


@model_type("shout-head", task="relevance", settings=ShoutSettings)
def shout_head(folder, settings, loader):
    """Open a judge by capitals."""
    return ShoutHead(f"{folder.card.name}@{folder.digest}", settings.weight)


def shout(place):
    """Return the model of ``shout:WEIGHT``; there is nothing on disk."""
    summary = f"a capital counts {place}"
    card = Card("shout", "shout-head", "1", summary, "MIT", {}, settings={"weight": float(place)})
    return ModelFolder(Path(), card, sha256(place.encode()).hexdigest()[:8])
