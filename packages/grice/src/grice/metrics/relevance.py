"""Relevance: does this reply answer what was said?

Every turn is encoded once. A dual encoder maps history and response to one space; a head scores
the vectors and their products, after RUBER's unreferenced score (Tao et al., 2018; with contextual
embeddings Ghazarian et al., 2019).
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec

from grice.data import Judgement, TurnEvidence
from grice.metrics.common import (
    check_width,
    encode_distinct,
    flag_truncated,
    repeated_share,
    unscorable_reply,
)
from grice.metrics.declaration import Example, metric
from grice.metrics.fluency import FluencyModel, language_model
from grice.models.loader import Settings, dependencies_of, model_type, read_settings
from grice.models.protocols import Encoder, Pair, PairClassifier
from grice.numeric import logits, np, sigmoid, unit_rows
from grice.text.content import novelty

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.data import Response
    from grice.metrics.declaration import Count
    from grice.models.folder import ModelFolder
    from grice.models.loader import ModelLoader
    from grice.numeric import Array

NEUTRAL = 0.5  # also the model's answer where history or response holds no word
NOTICEABLE = 0.005  # an effect below this would be printed as nothing
TURNS = 4  # turns of a history that the model reads, the last ones
ROWS = 256  # pairs whose features are held at once
COSINE_SCALE = 4  # brings cosines to the order of one, as the other features are
SURE = 1e-6  # least distance of a probability from 0 and 1 before its log odds are taken


@metric(
    "relevance",
    version="4",
    summary="Does this reply answer what was said?",
    judges="response",
    models={"model": "builtin:relevance"},
    protocols={"model": PairClassifier},
    source=(
        "After the unreferenced score of RUBER (Tao et al., AAAI 2018) with contextual "
        "embeddings (Ghazarian et al., NeuralGen 2019)."
    ),
    neutral=NEUTRAL,
    default=True,
    abstain=unscorable_reply,
    example=Example(["What do you do for a living?", "I teach maths at a school."], 0.5, 1.0),
)
def relevance(
    responses: Sequence[Response], *, model: PairClassifier, history: Count = 4
) -> Iterator[Judgement]:
    """Return the probability that the reply answers its history rather than another one.

    At 0.5 a true reply and a random one are equally likely. The evidence is the
    effect of each earlier turn: the score with it minus the score without it. A reply without
    history has 0.5.

    The log odds are a sum of three parts with weights of one sign: small networks on the vectors of
    the turns, the cosine of the reply with the last turn, and the fluency of the reply by a small
    dialogue language model. Sentences that repeat an earlier turn, or that ask for a good score,
    are stripped, and the score is multiplied by the fraction of the reply's words that is left.

    When to use it:
        To find replies that are off topic, and to compare systems on the same conversations.

    When not to:
        To judge whether a reply on the topic makes sense, is true or agrees with what was said
        before: it does not detect negations and contradictions (``grice perturb --score``). Where
        the cosine with the turn before ranks as well, ``cosine_last_turn`` is the simpler choice.

    Args:
        history: Number of turns before the reply that are used.
    """
    items = [_item(response, history) for response in responses]
    values = iter(model.classify([pair for item in items for pair in item.pairs]))
    judgements = (_judgement(item, list(islice(values, len(item.pairs)))) for item in items)
    texts = [(*item.pairs[0].left, item.pairs[0].right) for item in items]
    return flag_truncated(judgements, texts, model)


class _Item(NamedTuple):
    """A reply to score.

    Attributes:
        pairs: The history and the reply without repetition; then, of several turns, the same
            without each of them.
        novel: Fraction of the reply's words that is no repetition.
    """

    pairs: tuple[Pair, ...]
    positions: tuple[int, ...]
    novel: float


def _item(response: Response, history: int) -> _Item:
    novel = novelty(response.text, [turn.text for turn in response.history])
    turns = tuple(turn.text for turn in response.history[-history:])
    without = [turns[:i] + turns[i + 1 :] for i in range(len(turns)) if len(turns) > 1]
    pairs = tuple(Pair(left, novel.text) for left in (turns, *without))
    return _Item(pairs, tuple(response.positions[-history:]), novel.novel_fraction)


def _judgement(item: _Item, values: Sequence[float]) -> Judgement:
    """Return the judgement of a reply from the values of its pairs."""
    value, *without = (value * item.novel for value in values)
    effects = [value - other for other in without or (NEUTRAL,)]
    evidence = tuple(map(TurnEvidence, item.positions, effects))
    if value < NEUTRAL <= max(values[0], 1 - item.novel):
        reason = repeated_share(item.novel)
    else:
        reason = _reason(value, evidence)
    return Judgement(value, "ok", reason, (), evidence)


def _reason(value: float, evidence: Sequence[TurnEvidence]) -> str:
    """Return the turn that contributes most to a high score, or least to a low one."""
    best, worst = (pick(evidence, key=lambda item: item.effect) for pick in (max, min))
    single = len(evidence) == 1
    if value < NEUTRAL and worst.effect > -NOTICEABLE:
        return f"low relevance to all turns (most: turn {best.turn}, {best.effect:+.2f})"
    if value < NEUTRAL:
        degree, shown = "not relevant" if single else "least relevant", worst
    elif best.effect < NOTICEABLE:
        return f"no turn contributes {NOTICEABLE} or more"
    else:
        degree, shown = "relevant" if single else "most relevant", best
    return f"{degree} to turn {shown.turn} (contribution {shown.effect:+.2f})"


def history_summary(left: Array, *, decay: float) -> Array:
    """Return the last turn, the whole history and the turn before the last, ``(n, 3 * d)``.

    ``left`` holds unit vectors, oldest first, ``(n, turns, d)``; missing ones are zero. They are
    scaled by the root of ``d``, so that their elements are of order one. ``decay`` is the weight of
    a turn in the whole relative to the turn after it.
    """
    turns, dimensions = left.shape[1:]
    weights = np.float32(decay) ** np.arange(turns - 1, -1, -1, dtype=np.float32)
    whole = unit_rows((left * weights[:, None]).sum(axis=1))
    parts = np.concatenate([left[:, -1], whole, left[:, -2]], axis=1)
    return parts * np.float32(np.sqrt(dimensions))


def pair_features(left: Array, right: Array, towers: tuple[Array, Array], *, decay: float) -> Array:
    """Return the input of the head, ``(n, 7 * d + 5)``, from unit vectors.

    Seven blocks (see below), then five cosines: those of the response with the last turn, the whole
    history, the turn before the last and the nearest of all turns, and that of the towers.
    """
    dimensions = right.shape[1]
    scale = np.float32(np.sqrt(dimensions))
    summary = history_summary(left, decay=decay)
    last, whole = summary[:, :dimensions], summary[:, dimensions : 2 * dimensions]
    reply = right * scale
    met = towers[0] * towers[1]
    cosines = (left * right[:, None]).sum(axis=-1)
    whole_cosine = (whole * right).sum(axis=-1) / scale
    numbers = (cosines[:, -1], whole_cosine, cosines[:, -2], cosines.max(axis=1), met.sum(axis=-1))
    blocks = (
        last,
        whole,
        reply,
        last * reply,
        whole * reply,
        np.abs(last - reply),
        met * scale**2,
        np.stack(numbers, axis=1) * np.float32(COSINE_SCALE),
    )
    return np.concatenate(blocks, axis=1, dtype=np.float32)


class PairSettings(Settings, frozen=True):
    """Settings of a model of type ``pair-head``.

    Attributes:
        decay: Weight of a turn relative to the turn after it.
        weight_cosine: Log odds that a cosine of 1 between the response and the last turn adds to
            those of the networks, which depend more on their training corpora.
    """

    decay: Annotated[float, msgspec.Meta(ge=0, le=1)]
    weight_cosine: Annotated[float, msgspec.Meta(ge=0)] = 0.0


class PairHead:
    """Probability that a right side answers its left side, by networks on frozen vectors."""

    def __init__(self, folder: ModelFolder, settings: PairSettings, encoder: Encoder) -> None:
        from grice.models.mlp import Mlp

        self.identity = f"{folder.identity}/{encoder.identity}"
        self._folder, self._encoder, self._decay = folder.path, encoder, settings.decay
        self.truncated = encoder.truncated
        self._weight_cosine = np.float32(settings.weight_cosine)
        self._left, self._right, self._head = (
            Mlp.load(folder.file(f"{name}.npz")) for name in ("left", "right", "head")
        )

    def classify(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability of each pair; 0.5 if either side holds no word.

        The last four segments of the left side that are not blank are read.
        """
        read = [([text for text in left if text.strip()][-TURNS:], right) for left, right in pairs]
        texts = (text for left, right in read for text in (*left, right))
        vectors = encode_distinct(self._encoder, texts)
        worded = {text for text, vector in vectors.items() if vector.any()}
        scored = [
            (i, [vectors[text] for text in left if text in worded], right)
            for i, (left, right) in enumerate(read)
            if right in worded and not worded.isdisjoint(left)
        ]
        answers = [NEUTRAL] * len(pairs)
        if not scored:
            return answers
        rights = {right: row for row, right in enumerate(dict.fromkeys(r for _, _, r in scored))}
        replies = np.stack([vectors[right] for right in rights])
        towers = self._right_tower(replies)
        for start in range(0, len(scored), ROWS):
            part = scored[start : start + ROWS]
            left = np.zeros((len(part), TURNS, replies.shape[1]), np.float32)
            for row, (_, turns, _) in enumerate(part):
                left[row, TURNS - len(turns) :] = turns
            rows = [rights[right] for _, _, right in part]
            probabilities = self._probabilities(left, replies[rows], towers[rows])
            for (i, _, _), value in zip(part, probabilities.tolist(), strict=True):
                answers[i] = value
        return answers

    def _probabilities(self, left: Array, right: Array, right_tower: Array) -> Array:
        summary = history_summary(left, decay=self._decay)
        whole = summary[:, left.shape[2] : 2 * left.shape[2]]
        towers = (unit_rows(whole + self._left(summary)), right_tower)
        features = pair_features(left, right, towers, decay=self._decay)
        cosine = (left[:, -1] * right).sum(axis=1)
        return sigmoid(self._head(features)[:, 0] + self._weight_cosine * cosine)

    def _right_tower(self, replies: Array) -> Array:
        dimensions = replies.shape[1]
        check_width(dimensions, len(self._right.layers[0][0]), self._folder, self._encoder)
        reply = replies * np.float32(np.sqrt(dimensions))
        return unit_rows(reply + self._right(reply))


@model_type("pair-head", task="relevance", settings=PairSettings)
def pair_head(folder: ModelFolder, settings: PairSettings, loader: ModelLoader) -> PairHead:
    """Open the networks of a model."""
    return PairHead(folder, settings, loader.encoder_of(folder, Encoder))


class FluentSettings(Settings, frozen=True):
    """The log odds are ``weight_relevance * logit - weight_oddness * nats + weight_shift``."""

    weight_relevance: float
    weight_oddness: float
    weight_shift: float


class FluentPairHead:
    """A pair classifier that also uses the fluency of the right side.

    Sentence vectors hardly change if a word is dropped or wrongly inflected.
    """

    def __init__(
        self, settings: FluentSettings, head: PairClassifier, fluency: FluencyModel
    ) -> None:
        self._weights, self._head, self._fluency = settings, head, fluency
        self.truncated = head.truncated
        self.identity = f"{self._head.identity}/{fluency.identity}"

    def classify(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability of each pair; 0.5 if either side holds no word."""
        fitting = np.array(self._head.classify(pairs))
        disfluency = np.array(self._fluency.disfluency([pair.right for pair in pairs]))
        odds = self._weights.weight_relevance * logits(fitting, SURE)
        odds += self._weights.weight_shift - self._weights.weight_oddness * disfluency
        # The head's 0.5 means that there is nothing to judge.
        fluent = np.where(fitting == NEUTRAL, NEUTRAL, sigmoid(odds.astype(np.float32)))
        return list(map(float, fluent))


@model_type("fluent-pair-head", task="relevance", settings=FluentSettings)
def fluent_pair_head(
    folder: ModelFolder, settings: FluentSettings, loader: ModelLoader
) -> FluentPairHead:
    """Open the networks of a model and its language model."""
    _, below = dependencies_of(folder.card)
    head = PairHead(folder, read_settings(folder, PairSettings), loader.encoder_of(folder, Encoder))
    return FluentPairHead(settings, head, language_model(folder, below, loader))
