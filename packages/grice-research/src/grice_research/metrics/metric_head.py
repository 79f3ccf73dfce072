"""A metric fitted to labels: a head that reads its value beside the reply itself."""

from __future__ import annotations

import math
from collections.abc import Sequence

from grice.data import Conversation, Response, Turn
from grice.errors import MetricError, ModelFolderError
from grice.metrics.declaration import Metric, find_metrics
from grice.models.folder import ModelFolder
from grice.models.loader import ModelLoader, model_type
from grice.models.protocols import Encoder, Pair
from grice.models.reply_head import ReplyHead, ReplySettings

KIND = "metric-head"


class MetricHeadSettings(ReplySettings, frozen=True, kw_only=True):
    """Settings in the card of such a head beside its scale."""

    metric: str  # the metric whose model it depends on
    metric_models: str  # version and models that it was fitted with


class MetricClassifier:
    """A metric as a classifier of replies: its value, from 0 at its lowest to 1 at its highest.

    What a metric has nothing to judge in has its neutral value. A metric of conversations judges
    the history with the reply.
    """

    def __init__(self, metric: Metric, models: dict[str, object], identity: str) -> None:
        if not (math.isfinite(metric.low) and math.isfinite(metric.high)):
            raise MetricError(f"{metric.name}: its values have no bounds, so that none is a half")
        self.identity = identity
        self._metric = metric
        self._given = {option.name: option.default for option in metric.options} | models

    def classify(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the value of each reply, 0 to 1."""
        metric = self._metric
        talks = [_conversation(pair, number) for number, pair in enumerate(pairs)]
        items = [_reply(talk) for talk in talks] if metric.judges == "response" else talks
        values = [
            metric.neutral if judged.value is None or judged.status != "ok" else judged.value
            for judged in metric.function(items, **self._given)
        ]
        return [(value - metric.low) / (metric.high - metric.low) for value in values]

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return that no text is cut: the metric says so of its own."""
        return [False for _ in texts]


def metric_classifier(name: str, loader: ModelLoader) -> MetricClassifier:
    """Return a metric, with the models that it has by default."""
    metric = find_metrics().named(name)
    models: dict[str, object] = {
        parameter: loader.load(reference, metric.protocols.get(parameter, object))
        for parameter, reference in metric.models.items()
        if reference
    }
    parts = [f"{metric.name}:{metric.version}"]
    parts += map(loader.fingerprint, filter(None, metric.models.values()))
    return MetricClassifier(metric, models, "|".join(parts))


def _conversation(pair: Pair, number: int) -> Conversation:
    texts = (*pair.left, pair.right)
    turns = (Turn("BA"[(len(texts) - i) % 2], text) for i, text in enumerate(texts))
    return Conversation(str(number), tuple(turns))


def _reply(talk: Conversation) -> Response:
    *history, last = talk.turns
    place = len(history)
    return Response(talk.id, place, last.text, last.speaker, tuple(history), tuple(range(place)))


@model_type("metric-head", task="relevance", settings=MetricHeadSettings)
def metric_head(
    folder: ModelFolder, settings: MetricHeadSettings, loader: ModelLoader
) -> ReplyHead:
    """Open a head and its metric."""
    base = metric_classifier(settings.metric, loader)
    if base.identity != settings.metric_models:
        raise ModelFolderError(
            f"{folder.path}: it was fitted on {settings.metric_models}, here that is "
            f"{base.identity}; run grice train metric again"
        )
    return ReplyHead(folder, settings, loader.encoder_of(folder, Encoder), base)
