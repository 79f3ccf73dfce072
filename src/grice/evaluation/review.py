"""Which replies a person should look at first, why, and at which words.

Nothing is scored here: what metrics were run, and what they said, stands in the scores. The weights
come from turns that people marked (``docs/commands/review.md``).
"""

from __future__ import annotations

import heapq
from collections import Counter
from itertools import count, dropwhile, islice, takewhile
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from grice.errors import InputError, RecordError, plural
from grice.evaluation.joined import joined
from grice.evaluation.review_flaws import EMPTY_REPLY, empty_of, flaw_of, is_empty, verbatim_of
from grice.evaluation.review_stack import STACKS, Threshold, observed, open_stack
from grice.evaluation.scores import by_conversation, read_scores
from grice.records import Evidence, FeatureEvidence, TripleEvidence, TurnEvidence
from grice.scoring.items import unspoken
from grice.text.markdown import as_read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from grice.evaluation.review_stack import Observed, Stack, Witness
    from grice.records import Conversation, Score, Span

TOP = 20
"""Replies that are shown unless told otherwise."""
WORDS = 3
"""Stretches of text that are quoted for a reply."""


class Further(msgspec.Struct, frozen=True):
    """What a metric beside the first says against a reply, as in :class:`FlaggedTurn`."""

    metric: str
    value: float
    reason: str | None
    evidence: tuple[Evidence, ...]
    judges: Literal["response", "conversation"] = "response"


class FlaggedTurn(msgspec.Struct, frozen=True):
    """A reply that is worth a look.

    Attributes:
        rank: 1 is the first to look at.
        probability: That a person would mark it.
        flaw: What is most likely wrong: what the witness that speaks most against it looks for.
        metric: The metric of that witness.
        value: Its value; of a metric of whole conversations, the effect of the turn.
        reason: The reason of its score.
        words: Stretches of the conversation that its evidence points at, and that of ``further``,
            without marks of Markdown; none without texts.
        effects: What each witness adds to the log odds.
        evidence: The evidence of its score.
        further: Other scores that speak against the reply and point at words of it, worst first.
        speaker: Who says the reply; empty, as what follows, if texts were not given.
        before: The turn before it that is no instruction and no traffic of tools.
        reply: The reply.
        file: The file its conversation is of, where several were scored together.
        judges: What the metric scores. Of a metric of conversations, ``value`` is no score.
    """

    rank: int
    conversation: str
    turn: int
    probability: float
    flaw: str
    metric: str
    value: float
    reason: str | None
    words: tuple[str, ...]
    effects: dict[str, float]
    evidence: tuple[Evidence, ...]
    further: tuple[Further, ...] = ()
    speaker: str = ""
    before: str = ""
    reply: str = ""
    file: str | None = None
    judges: Literal["response", "conversation"] = "response"

    @property
    def headline(self) -> str:
        """The flaw, as a list is headed with it."""
        return "no flaw stands out" if self.flaw == "none" else self.flaw

    @property
    def spans(self) -> list[Span]:
        """Where the words stand that speak against it."""
        return _spans_of(
            [*self.evidence, *(piece for other in self.further for piece in other.evidence)]
        )


class WitnessUse(msgspec.Struct, frozen=True):
    """On how many of the replies a witness said something: a metric, or a figure it states."""

    metric: str
    feature: str
    turns: int


class Review(msgspec.Struct, frozen=True):
    """The order of review of a run.

    Attributes:
        turns: Replies on which any witness said something.
        items: The first of them.
        above: How many reach each of the thresholds.
        witnesses: What the order rests on.
        missing: Metrics that would say more, and were not run.
        thresholds: Probabilities by precision, measured on turns of training conversations.
        stack: Name and hash of the weights.
        empty: How many of the replies are empty; one stands in its place, the others come last.
    """

    turns: int
    items: tuple[FlaggedTurn, ...]
    above: tuple[int, ...]
    witnesses: tuple[WitnessUse, ...]
    missing: tuple[str, ...]
    thresholds: tuple[Threshold, ...]
    stack: str
    empty: int = 0


class _Candidate(NamedTuple):
    """A reply while it may still be among the first; of equal ones the earlier is."""

    probability: float
    order: int
    turn: int
    seen: Mapping[str, Observed]
    effects: dict[str, float]
    talk: Conversation | None


class Reviewer:
    """Collects the replies to look at first while scores come in; memory holds only these.

    It may be a listener of a run (:func:`grice.scoring.run.run`). The first conversation decides
    which weights count for all: those that know most of the metrics that were run.

    Args:
        top: How many replies to keep.
    """

    def __init__(self, top: int = TOP) -> None:
        if top < 1:
            raise InputError(f"top {top}: at least 1 reply is needed")
        self._top = top
        self._stack: Stack | None = None
        self._run: dict[str, str] = {}
        self._first: list[_Candidate] = []
        self._empty: list[_Candidate] = []
        self._empties = 0
        self._orders = count(0, -1)
        self._used: Counter[str] = Counter()
        self._turns = 0
        self._above: Counter[float] = Counter()

    def add(self, talk: Conversation, scores: Sequence[Score]) -> None:
        """Take one conversation with all its scores."""
        self.add_scores(scores, talk)

    def add_scores(self, scores: Sequence[Score], talk: Conversation | None = None) -> None:
        """Take all scores of one conversation, with its texts if they are known.

        Raises:
            InputError: If a score is of a turn that the conversation does not have.
        """
        if not scores:  # of nobody, so that they do not choose the weights
            return
        self._run |= {score.metric: score.signature for score in scores}
        stack = self._stack = self._stack or _chosen(self._run)
        levels = [threshold.probability for threshold in stack.thresholds]
        for turn, seen in observed(scores).items():
            if talk is not None and turn >= len(talk.turns):
                raise InputError(
                    f"conversation {talk.id!r} has {plural(len(talk.turns), 'turn')}, and a score "
                    f"is of turn {turn}: give the file that was scored"
                )
            if effects := stack.effects(seen):
                probability = stack.probability(effects.values())
                self._turns += 1
                self._above.update(level for level in levels if probability >= level)
                self._used.update(effects.keys())
                self._offer(_Candidate(probability, next(self._orders), turn, seen, effects, talk))

    def _offer(self, candidate: _Candidate) -> None:
        empty = any(is_empty(seen.score) for seen in candidate.seen.values())
        self._empties += empty
        first = self._empty if empty else self._first
        full = len(first) == self._top
        (heapq.heappushpop if full else heapq.heappush)(first, candidate)

    def _best(self) -> list[_Candidate]:
        """Return the first replies; empty ones are all alike, and one stands for the others.

        The others have what places are left.
        """
        empty = sorted(self._empty, reverse=True)
        best = sorted([*self._first, *empty[:1]], reverse=True)[: self._top]
        return [*best, *empty[1:]][: self._top]

    def review(self) -> Review:
        """Return what has come together so far."""
        stack = self._stack or _chosen({})
        best = self._best()
        wanted = open_stack(STACKS[0]).metrics
        return Review(
            self._turns,
            tuple(_flagged(rank, candidate, stack) for rank, candidate in enumerate(best, 1)),
            tuple(self._above[threshold.probability] for threshold in stack.thresholds),
            tuple(
                WitnessUse(witness.metric, witness.feature, self._used[witness.name])
                for witness in stack.witnesses
            ),
            tuple(name for name in wanted if name not in self._run),
            stack.thresholds,
            stack.name,
            self._empties,
        )


def review(scores: str, files: Sequence[str | Path] = (), *, top: int = TOP) -> Review:
    """Return the replies of a file of scores that a person should look at first.

    No model is opened: metrics that were not run are missing, and the result says which.

    Args:
        scores: What ``grice score`` wrote, gzipped or not; ``-`` is standard input.
        files: The conversations that were scored, for the texts; without them the order is the
            same, and the replies are named by conversation and turn.
        top: How many replies to return.

    Raises:
        RecordError: For a line that is no score.
        InputError: If there is no score of a reply that says anything, or a conversation is not in
            ``files``.
    """
    reviewer = Reviewer(top)
    if files:
        for talk, group in joined(scores, files):
            if not isinstance(talk, RecordError):
                reviewer.add(talk, group)
    else:
        for group in by_conversation(score for _, score in read_scores(scores)):
            reviewer.add_scores(group)
    reviewed = reviewer.review()
    if not reviewed.turns:
        wanted = ", ".join(open_stack(STACKS[-1]).metrics)
        raise InputError(f"{scores}: no reply has a score that says anything of {wanted}")
    return reviewed


def _chosen(signatures: Mapping[str, str]) -> Stack:
    """Return the weights that know most of the metrics that were run; of equals the fewest."""
    stacks = [open_stack(name) for name in STACKS]
    return max(stacks, key=lambda stack: (len(stack.known(signatures)), -len(stack.metrics)))


def _flagged(rank: int, candidate: _Candidate, stack: Stack) -> FlaggedTurn:
    witnesses = {witness.name: witness for witness in stack.witnesses}
    values = {name: candidate.seen[witnesses[name].metric] for name in candidate.effects}
    empty, plain = empty_of(values), verbatim_of(values, candidate.effects, witnesses)
    worst = max(empty or plain or candidate.effects, key=lambda name: candidate.effects[name])
    witness = witnesses[worst]
    score = candidate.seen[witness.metric].score
    evidence = _evidence_of(score, candidate.turn)
    turns = () if candidate.talk is None else candidate.talk.turns
    spoken = zip(turns, unspoken(turns), strict=True)
    earlier = [turn.text for turn, silent in islice(spoken, candidate.turn) if not silent]
    before = next(filter(str.strip, reversed(earlier)), "")
    further = tuple(_further(candidate, witnesses, witness.metric))
    pieces = [*evidence, *(piece for other in further for piece in other.evidence)]
    flaw = flaw_of(witness, evidence) if candidate.effects[worst] > 0 else "none"
    return FlaggedTurn(
        rank,
        score.conversation,
        candidate.turn,
        candidate.probability,
        EMPTY_REPLY if empty else flaw,
        witness.metric,
        candidate.seen[witness.metric].value,
        _reason(score, evidence),
        tuple(islice(_words(_spans_of(pieces), [turn.text for turn in turns]), WORDS)),
        candidate.effects,
        evidence,
        further,
        turns[candidate.turn].speaker if turns else "",
        before,
        turns[candidate.turn].text if turns else "",
        str(file) if (file := score.meta.get("file")) else None,
        _judges(score),
    )


def _evidence_of(score: Score, turn: int) -> tuple[Evidence, ...]:
    """Return the evidence of a score; of a whole conversation's, what is said of one turn."""
    if score.turn is not None:
        return score.evidence
    named = dropwhile(lambda piece: getattr(piece, "turn", None) != turn, score.evidence)
    own = list(islice(named, 1))
    return (*own, *takewhile(lambda piece: not isinstance(piece, TurnEvidence), named))


def _further(
    candidate: _Candidate, witnesses: Mapping[str, Witness], first: str
) -> Iterator[Further]:
    """Yield the scores of other metrics that speak against a reply and point at words of it."""
    against = sorted(candidate.effects.items(), key=lambda effect: -effect[1])
    metrics = dict.fromkeys(witnesses[name].metric for name, effect in against if effect > 0)
    for metric in metrics:
        seen = candidate.seen[metric]
        evidence = _evidence_of(seen.score, candidate.turn)
        if metric != first and any(span.turn == candidate.turn for span in _spans_of(evidence)):
            reason = _reason(seen.score, evidence)
            yield Further(metric, seen.value, reason, evidence, _judges(seen.score))


def _judges(score: Score) -> Literal["response", "conversation"]:
    return "conversation" if score.turn is None else "response"


def _reason(score: Score, evidence: Sequence[Evidence]) -> str | None:
    """Return why a reply is flagged; a metric of conversations gives the reason of its turn."""
    if score.turn is not None:
        return score.reason
    names = [piece.name for piece in evidence if isinstance(piece, FeatureEvidence)]
    if names:
        return ", ".join(names)
    return "less coherent than turns around it" if evidence else "nothing stands out at this turn"


def _spans_of(evidence: Sequence[Evidence]) -> list[Span]:
    """Return the places that evidence points at: of features, and of the least plausible triple."""
    spans = [piece.span for piece in evidence if isinstance(piece, FeatureEvidence)]
    triples = [piece for piece in evidence if isinstance(piece, TripleEvidence)]
    if triples:
        worst = min(triples, key=lambda piece: piece.plausibility).triple
        spans += [worst.head_span, worst.tail_span]
    return [span for span in spans if span is not None]


def _words(spans: Sequence[Span], texts: Sequence[str]) -> Iterator[str]:
    """Yield the stretches of text that spans point at, as a person reads them; none twice."""
    quoted: list[str] = []
    for span in spans:
        if span.turn < len(texts):
            words = as_read(texts[span.turn], span.start, span.end).strip()
            if words and not any(words in longer for longer in quoted):
                quoted.append(words)
                yield words
