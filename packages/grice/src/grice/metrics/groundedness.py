"""Groundedness: is a reply supported by its knowledge, by its words or by a model?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from textwrap import wrap

from grice.data import Judgement, Response
from grice.errors import shortened
from grice.metrics.common import feature_at, flag_truncated, unscorable_reply
from grice.metrics.declaration import Example, metric
from grice.models.protocols import (
    EntailmentClassifier,
    GroundedReply,
    Pair,
    SpanDetector,
    TaggedSpan,
)
from grice.text import cached
from grice.text.content import Stretch, content_words, sentences
from grice.text.language import unreadable
from grice.text.lexicon import base_form
from grice.text.tokens import PLAIN_WORDS_AND_NUMBERS

NEUTRAL = 1.0  # value of a reply without claims, or without a source
SHOWN = 8  # words shown as evidence
SHORT = 3  # a word of no more letters has no ending
UNSUPPORTED = "not supported"
HALF = 0.5  # probability from which a part of a reply is shown as not supported
PASSAGE = (
    1000  # characters of a premise, in whole sentences: models of entailment learned short ones
)


def _reason_against(response: Response) -> str | None:
    if reason := unscorable_reply(response):
        return reason
    if all(unreadable(text) for text in response.knowledge):
        return "no knowledge is given"
    return None if content_words(response.text) else "the reply has no content word"


@metric(
    "groundedness",
    version="2",
    summary="Is this reply supported by the knowledge it was given?",
    judges="response",
    models={"model": ""},
    accepts={"model": ("entailment", "unsupported spans")},
    source=(
        "Word overlap, a baseline of BEGIN (Dziri et al., TACL 2022), on content words; with a "
        "model, entailment by sentence after SummaC (Laban et al., TACL 2022), or token spans as "
        "in LettuceDetect (Kovács and Recski, 2025)."
    ),
    neutral=NEUTRAL,
    abstain=_reason_against,
    example=Example(
        ["Where is it?", "The tower stands in Lisbon."],
        0.0,
        0.7,
        knowledge=["The tower was built in Porto."],
    ),
)
def groundedness(
    responses: Sequence[Response], *, model: EntailmentClassifier | SpanDetector | None
) -> Iterator[Judgement]:
    """Return the share of a reply's content words that occur in its knowledge, 0 to 1.

    Knowledge is the field ``knowledge`` of the turn, or of a record with a single reply (a text or
    a list of texts), and what tools answered since the turn before it. Forms of one
    word are the same. The evidence is the words that do not occur there.

    With a model, the score is one minus the largest probability that a part of the reply is not
    supported: that no passage of the knowledge entails a sentence, or, of a model of token spans,
    that of a token. The evidence is the parts at 0.5 or more, and the reason names the worst.

    When to use it:
        To find statements that a chatbot with retrieval invented.

    When not to:
        Without knowledge: it abstains. Without a model, a claim that rearranges the words of its
        source counts as grounded, and a paraphrase does not; opinions and greetings count as not
        grounded.
    """
    if isinstance(model, SpanDetector):
        last = [each.history[-1].text for each in responses]
        replies = [
            GroundedReply(q, r.knowledge, r.text) for q, r in zip(last, responses, strict=True)
        ]
        return flag_truncated(
            map(_worst, responses, model.unsupported(replies)), (), model, replies
        )
    if model is not None:
        return map(_worst, responses, _by_sentence(responses, model))
    return map(_judgement, responses)


def _by_sentence(
    responses: Sequence[Response], model: EntailmentClassifier
) -> Iterator[list[TaggedSpan]]:
    """Yield the sentences of each reply that hold a content word."""
    claims = [[s for s in sentences(each.text) if content_words(s.text)] for each in responses]
    passages = [
        [part for text in each.knowledge if not unreadable(text) for part in _passages(text)]
        for each in responses
    ]
    pairs = [
        Pair((passage,), claim.text)
        for own, known in zip(claims, passages, strict=True)
        for claim in own
        for passage in known
    ]
    chances = iter(model.label_chances("entailment", pairs))
    for own, known in zip(claims, passages, strict=True):
        best = [max(next(chances) for _ in known) for _ in own]
        yield [
            TaggedSpan(c.start, c.end, UNSUPPORTED, 1 - p) for c, p in zip(own, best, strict=True)
        ]


def _passages(text: str) -> list[str]:
    """Return the parts of a text that are premises; each overlaps the one after it by half."""
    halves = wrap(text, PASSAGE // 2)
    return [" ".join(halves[i : i + 2]) for i in range(max(1, len(halves) - 1))]


def _worst(response: Response, parts: Sequence[TaggedSpan]) -> Judgement:
    """Return the judgement by the part that is least supported."""
    if not parts:
        return Judgement(NEUTRAL, "abstained", "the reply has no statement")
    worst = max(parts, key=lambda part: part.confidence)
    spans: list[tuple[float, Stretch]] = []
    for unsupported, run in groupby(parts, lambda part: part.confidence >= HALF):
        if unsupported:
            own = list(run)
            start, end = own[0].start, own[-1].end
            chance = max(part.confidence for part in own)
            spans.append((chance, Stretch(start, end, response.text[start:end])))
    spans.sort(key=lambda span: -span[0])
    evidence = tuple(
        feature_at(UNSUPPORTED, chance, response.turn, span) for chance, span in spans[:SHOWN]
    )
    text = spans[0][1].text if spans else response.text[worst.start : worst.end]
    reason = f"least supported: {shortened(text)!r} (probability {worst.confidence:.2f})"
    return Judgement(1 - worst.confidence, "ok", reason, (), evidence)


def _judgement(response: Response) -> Judgement:
    known = _roots(response.knowledge)
    words = content_words(response.text)
    foreign = [word for word in words if _root(word.text) not in known]
    value = 1 - len(foreign) / len(words)
    evidence = tuple(
        feature_at(f"not in the knowledge: {word.text!r}", 1.0, response.turn, word)
        for word in foreign[:SHOWN]
    )
    reason = f"{len(words) - len(foreign)} of {len(words)} content words occur in the knowledge"
    return Judgement(value, "ok", reason, (), evidence)


@cached
def _roots(texts: tuple[str, ...]) -> frozenset[str]:
    found = (PLAIN_WORDS_AND_NUMBERS.finditer(text.lower()) for text in texts)
    return frozenset(_root(word[0]) for words in found for word in words)


def _root(word: str) -> str:
    """Return a word without the ending of its number, tense or owner, as far as a table knows."""
    bare = word.removesuffix("'s")
    root = base_form(bare)
    return root[:-1] if len(root) > SHORT and root.endswith("s") and root[-2] != "s" else root
