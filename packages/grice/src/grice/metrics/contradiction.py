"""Contradiction: does a reply contradict earlier turns of its speaker?

The model is decomposable attention (Parikh et al., EMNLP 2016): every token of a sentence is
compared with its soft alignment in the other one, and the comparisons are pooled by mean and
maximum. Its tokens are hidden states of a sentence encoder, each with two flags: whether it occurs
in the other sentence, too, and whether it is a negation.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec

from grice.data import Judgement, TurnEvidence
from grice.metrics.common import feature_at, own_turns, unscorable_reply
from grice.metrics.declaration import Example, metric
from grice.models.loader import Settings, model_type
from grice.models.protocols import Encoder, Pair, PairClassifier, encode_distinct
from grice.numeric import np, sigmoid, softmax
from grice.text.content import Stretch, sentences
from grice.text.tokens import PLAIN_WORDS_AND_NUMBERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from grice.data import Evidence, Response
    from grice.models.embedded import HiddenStates
    from grice.models.folder import ModelFolder
    from grice.models.loader import ModelLoader
    from grice.models.mlp import Mlp
    from grice.numeric import Array

HALF = 0.5  # below this value a reply is reported as contradicting
NEUTRAL = 1.0  # value of a reply without earlier statements of its speaker
SHIFT = 0.83
"""Of the log odds of the pair that most likely contradicts, since many pairs are compared.

Set so that one in twenty replies that contradict nothing is below one half.
"""
FEWEST_WORDS = 3
"""Less ("Yes.", "Thank you.") states nothing."""
NEAREST = 4  # earlier sentences that a sentence is compared with, those of the largest cosine
WORDS = 3  # words shown as evidence


def _reason_against(response: Response) -> str | None:
    if reason := unscorable_reply(response):
        return reason
    if not _statements(response.text):
        return "the reply contains no statement"
    return None if _earlier(response) else "no earlier statement by the same speaker"


@metric(
    "contradiction",
    version="2",
    summary="Is this reply consistent with what its speaker said before?",
    judges="response",
    models={"encoder": "builtin:encoder", "model": "builtin:contradiction"},
    accepts={"model": ("contradiction",)},
    protocols={"encoder": Encoder, "model": PairClassifier},
    source=(
        "Decomposable attention (Parikh et al., EMNLP 2016) over pairs of sentences, as DECODE "
        "(Nie et al., ACL 2021) compares a reply with each earlier turn."
    ),
    neutral=NEUTRAL,
    abstain=_reason_against,
    reader="encoder",
    example=Example(
        ["I have two dogs.", "How nice! Tell me more.", "I do not have any dogs."], 0.0, 0.5
    ),
)
def contradiction(
    responses: Sequence[Response], *, encoder: Encoder, model: PairClassifier
) -> Iterator[Judgement]:
    """Return the consistency of a reply with earlier turns of its speaker, 0 to 1.

    Every sentence of the reply that states something is compared with those of the speaker's
    earlier sentences that are nearest to it by the cosine of their vectors, and the pair that most
    likely contradicts decides. The evidence is the earlier turn, the two sentences, and, for a
    reported contradiction, the words that contribute most to it.

    When to use it:
        To find replies that say the opposite of an earlier turn: negations, antonyms, other
        numbers, colours or places.

    When not to:
        To find contradictions that need inference ("I am vegan" before "I had a steak"),
        or that contradict the partner, whose turns are not compared.
    """

    def chances(pairs: Iterable[tuple[str, str]]) -> Iterator[float]:
        return map(_shifted, model.classify([Pair((left,), right) for left, right in pairs]))

    compared = _compared(responses, encoder)
    values = chances((two.before.text, two.now.text) for every in compared for two in every)
    worst = [_worst([(next(values), two) for two in every]) for every in compared]
    # Of each flagged pair the sentence without each of its words, too.
    words = [_without_words(w.two.now) if w.chance > HALF else [] for w in worst]
    without = chances(
        (w.two.before.text, rest) for w, own in zip(worst, words, strict=True) for _, rest in own
    )
    for response, each, own in zip(responses, worst, words, strict=True):
        effects = [(each.chance - next(without), word) for word, _ in own]
        effects.sort(key=lambda pair: -pair[0])
        shown = [(effect, word) for effect, word in effects[:WORDS] if effect > 0]
        yield _judgement(response.turn, each, shown)


class _Two(NamedTuple):
    """A sentence of a reply paired with an earlier one of its speaker, in the turn ``position``."""

    position: int
    before: Stretch
    now: Stretch


def _statements(text: str) -> list[Stretch]:
    """Return the sentences that state something: no questions, and no single words."""
    return [
        sentence
        for sentence in sentences(text)
        if len(sentence.text.split()) >= FEWEST_WORDS and not sentence.text.endswith("?")
    ]


def _earlier(response: Response) -> list[tuple[int, Stretch]]:
    """Return the statements of the speaker's earlier turns, each with the index of its turn."""
    return [(i, said) for i, turn in own_turns(response) for said in _statements(turn.text)]


def _compared(responses: Sequence[Response], encoder: Encoder) -> list[list[_Two]]:
    """Pair each sentence of a reply with the earlier ones that are nearest to it."""
    stated = [(_statements(response.text), _earlier(response)) for response in responses]
    every = (s for now, before in stated for s in (*now, *(earlier for _, earlier in before)))
    vectors = encode_distinct(encoder, (sentence.text for sentence in every))
    compared = []
    for statements, before in stated:
        matrix = np.stack([vectors[sentence.text] for _, sentence in before])
        compared.append(
            [
                _Two(before[i][0], before[i][1], now)
                for now in statements
                for i in np.argsort(-(matrix @ vectors[now.text]), kind="stable")[:NEAREST]
            ]
        )
    return compared


def _shifted(chance: float) -> float:
    """Return a probability whose log odds are shifted."""
    if chance in (0.0, 1.0):
        return chance
    return 1 / (1 + (1 - chance) / chance * math.exp(-SHIFT))


class _Worst(NamedTuple):
    """The two sentences that most likely contradict, and the probability for another turn."""

    chance: float
    two: _Two
    elsewhere: float


def _worst(chances: Sequence[tuple[float, _Two]]) -> _Worst:
    chance, two = max(chances, key=lambda pair: pair[0])
    others = [other for other, pair in chances if pair.position != two.position]
    return _Worst(chance, two, max(others, default=0.0))


def _without_words(sentence: Stretch) -> list[tuple[Stretch, str]]:
    """Return each word of a sentence, at its place in the turn, and the sentence without it."""
    start, _, text = sentence
    return [
        (Stretch(start + word.start(), start + word.end(), word[0]),
         text[: word.start()] + text[word.end() :])
        for word in PLAIN_WORDS_AND_NUMBERS.finditer(text)
    ]  # fmt: skip


def _judgement(turn: int, worst: _Worst, words: Sequence[tuple[float, Stretch]]) -> Judgement:
    chance, two, elsewhere = worst
    evidence: tuple[Evidence, ...] = (
        TurnEvidence(two.position, elsewhere - chance),
        feature_at("contradicting span", chance, turn, two.now),
        feature_at("earlier span", chance, two.position, two.before),
        *(feature_at(f"word: {word.text!r}", effect, turn, word) for effect, word in words),
    )
    if chance > HALF:
        reason = f"contradicts turn {two.position} (probability {chance:.2f})"
    else:
        limit = f"probability {chance:.2f}, threshold {HALF:.2f}"
        reason = f"no clear contradiction of turn {two.position} ({limit})"
    return Judgement(1 - chance, "ok", reason, (), evidence)


NEGATIONS = frozenset(
    ("not", "no", "never", "none", "nothing", "nobody", "neither", "nor", "without", "cannot",
     "hardly")
)  # fmt: skip
MOST = 40  # tokens of a sentence that are read
PORTION = 2000
"""Pairs whose token states are held at once: those of a long conversation would fill the memory."""
FLAGS = 2  # flags of a token: it occurs in the other sentence; it is a negation


class AttentionSettings(Settings, frozen=True):
    """Settings of a model of type ``decomposable-attention``: the number of its networks."""

    networks: Annotated[int, msgspec.Meta(ge=1)]


class Tokens(NamedTuple):
    """The tokens of a sentence.

    Attributes:
        states: Shape ``(tokens, dimensions)``.
        words: Text of each in lower case.
        negates: Whether it is a negation, 0 or 1.
    """

    states: Array
    words: list[str]
    negates: Array


def tokens(text: str, hidden: HiddenStates) -> Tokens:
    """Return the first tokens of a sentence that stand for text."""
    inner = [i for i, (start, end) in enumerate(hidden.offsets) if end > start][:MOST]
    low = text.lower()
    places = [hidden.offsets[i] for i in inner]
    words = [low[start:end] for start, end in places]
    negates = [
        word in NEGATIONS or (word == "t" and low[start - 1 : start] in ("'", "’"))
        for word, (start, _) in zip(words, places, strict=True)
    ]
    return Tokens(hidden.states[inner], words, np.array(negates, np.float32))


class _Network(NamedTuple):
    """The parts of one network, in the order in which they are applied."""

    project: Mlp
    attend: Mlp
    compare: Mlp
    decide: Mlp

    def log_odds(self, premise: Tokens, hypothesis: Tokens) -> float:
        before = self._projected(premise, hypothesis)
        after = self._projected(hypothesis, premise)
        alike = self._attended(after) @ self._attended(before).T
        alike /= np.sqrt(np.float32(self.attend.layers[-1][0].shape[1]))
        pooled = [
            self._compared(after, softmax(alike) @ before),
            self._compared(before, softmax(np.ascontiguousarray(alike.T)) @ after),
        ]
        return float(self.decide.forward_joint(np.concatenate(pooled)[None])[0, 0])

    def _projected(self, own: Tokens, other: Tokens) -> Array:
        shared = frozenset(other.words)
        flags = np.array([word in shared for word in own.words], np.float32)
        states = np.tanh(self.project.forward_joint(own.states))
        return np.column_stack([states, flags, own.negates])

    def _attended(self, own: Array) -> Array:
        return np.maximum(self.attend.forward_joint(own), 0)

    def _compared(self, own: Array, other: Array) -> Array:
        a, b = own[:, :-FLAGS], other[:, :-FLAGS]
        both = [a, b, np.abs(a - b), a * b, own[:, -FLAGS:], other[:, -FLAGS:]]
        compared = np.maximum(self.compare.forward_joint(np.concatenate(both, axis=1)), 0)
        return np.concatenate([compared.mean(axis=0), compared.max(axis=0)])


class DecomposableAttention:
    """The probability that a sentence contradicts what was said before."""

    def __init__(
        self, folder: ModelFolder, settings: AttentionSettings, loader: ModelLoader
    ) -> None:
        from grice.models.embedded import EmbeddedEncoder
        from grice.models.mlp import Mlp

        self._encoder = loader.encoder_of(folder, EmbeddedEncoder)
        self._cache, self.truncated = self._encoder.cache, self._encoder.truncated
        self.identity = f"{folder.identity}/{self._encoder.identity}"
        self._networks = [
            _Network(*(Mlp.load(folder.file(f"{part}-{i}.npz")) for part in _Network._fields))
            for i in range(settings.networks)
        ]

    def classify(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability that the right side contradicts the left, 0 to 1."""
        items = [(" ".join(pair.left), pair.right) for pair in pairs]
        values = self._cache.cached_arrays(self.identity, items, self._computed, np.float32)
        return [value.item() for value in values]

    def _computed(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        values: list[float] = []
        for start in range(0, len(pairs), PORTION):
            part = pairs[start : start + PORTION]
            texts = list(dict.fromkeys(text for pair in part for text in pair))
            hidden = self._encoder.hidden_states(texts)
            read = {text: tokens(text, own) for text, own in zip(texts, hidden, strict=True)}
            values += [self._probability(read[left], read[right]) for left, right in part]
        return values

    def _probability(self, premise: Tokens, hypothesis: Tokens) -> float:
        if not (premise.words and hypothesis.words):
            return 0.0
        odds = [network.log_odds(premise, hypothesis) for network in self._networks]
        return float(sigmoid(np.array(np.mean(odds), np.float32)))


decomposable_attention = model_type(
    "decomposable-attention", task="contradiction", settings=AttentionSettings
)(DecomposableAttention)
