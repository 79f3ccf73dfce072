"""Which replies a person should look at first, why, and at which words.

Nothing is scored here: what metrics were run, and what they said, stands in the scores. The weights
come from turns that people marked (``docs/commands/review.md``).

A witness is one metric's value of the reply. Its distance from the values of training replies, in
the direction that is bad, weighs at least nothing in the log odds of a mark; one that abstained,
failed or was not asked adds 0.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from itertools import count, islice, takewhile
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from grice.detectors import EMPTY, RULES, SYSTEMATIC, certain_flaws
from grice.errors import BundleError, InputError, RecordError, plural
from grice.evaluation.scores import by_conversation, joined, read_scores
from grice.metrics.sense import cause_of
from grice.models.bundle import open_bundle
from grice.readers.roles import unspoken
from grice.records import Evidence, FeatureEvidence, Finding, TripleEvidence, TurnEvidence
from grice.scoring.items import EMPTY as EMPTY_FLAG
from grice.text.markdown import as_read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from grice.records import Conversation, Score, Span, Turn


FILE = "stack.json"
STACKS = ("review-large", "review-medium", "review-small")
"""The weights that ship, those for the largest models first."""


class Witness(msgspec.Struct, frozen=True):
    """A metric whose value of a reply speaks for or against it.

    Attributes:
        flaw: The flaw if it speaks most; empty if the metric's evidence names the flaw.
        scale: Its standard deviation there. Low values are bad.
        weight: Log odds per standard deviation, at least 0.
    """

    metric: str
    flaw: str
    center: float
    scale: float
    weight: float

    def effect(self, value: float) -> float:
        """Return what a value adds to the log odds of a mark."""
        return self.weight * (self.center - value) / self.scale


class Threshold(msgspec.Struct, frozen=True):
    """From which probability on so many of the replies are marked, on replies not fitted to."""

    precision: float
    probability: float


class Stack(msgspec.Struct, frozen=True):
    """Weights of witnesses, as a bundle of kind ``review`` holds them.

    Attributes:
        models: By metric, the model whose scores were fitted, if the metric runs with several.
    """

    intercept: float
    witnesses: tuple[Witness, ...]
    thresholds: tuple[Threshold, ...] = ()
    models: dict[str, str] = {}
    name: str = ""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that are asked."""
        return tuple(witness.metric for witness in self.witnesses)

    def known(self, signatures: Mapping[str, str]) -> set[str]:
        """Return the metrics of a run that it has weights for, by their signatures."""
        return {
            metric
            for metric in self.metrics
            if metric in signatures and self.models.get(metric, "") in signatures[metric]
        }

    def effects(self, seen: Mapping[str, Score]) -> dict[str, float]:
        """Return what each witness that is there adds to the log odds, by its metric."""
        known = self.known({metric: score.signature for metric, score in seen.items()})
        return {
            witness.metric: witness.effect(seen[witness.metric].value or 0.0)
            for witness in self.witnesses
            if witness.metric in known
        }

    def probability(self, effects: Iterable[float]) -> float:
        """Return the probability that a person would mark the reply."""
        return 1 / (1 + math.exp(-self.intercept - math.fsum(effects)))


def observed(
    scores: Sequence[Score], turns: Iterable[int] | None = None
) -> dict[int, dict[str, Score]]:
    """Return by turn the scores of metrics that judged it, from the scores of one conversation.

    A metric of whole conversations judges each turn by its evidence; see :func:`_of_turn`.
    """
    if turns is None:
        turns = {score.turn for score in scores if score.turn is not None}
    seen: dict[int, dict[str, Score]] = {turn: {} for turn in sorted(turns)}
    for score in scores:
        if score.status != "ok" or score.value is None:
            continue
        for turn in seen if score.turn is None else {score.turn} & seen.keys():
            seen[turn][score.metric] = _of_turn(score, turn)
    return seen


def _of_turn(score: Score, turn: int) -> Score:
    """Return the score of a turn; of a conversation's, 1 and the effect of the turn on it."""
    if score.turn is not None:
        return score
    evidence = score.evidence
    first = next(
        (i for i, e in enumerate(evidence) if isinstance(e, TurnEvidence) and e.turn == turn), None
    )
    if first is None:
        return replace(score, turn=turn, value=1.0, reason=None, evidence=())
    rest = takewhile(lambda piece: not isinstance(piece, TurnEvidence), evidence[first + 1 :])
    own = (evidence[first], *rest)
    effect = sum(piece.effect for piece in own[:1] if isinstance(piece, TurnEvidence))
    names = [piece.name for piece in own if isinstance(piece, FeatureEvidence)]
    value = min(max(1 + effect, 0.0), 1.0)
    return replace(score, turn=turn, value=value, reason=", ".join(names) or None, evidence=own)


def open_stack(place: str | Path) -> Stack:
    """Open a bundle of kind ``review``: a shipped one by its name, or a folder."""
    bundle = open_bundle(place)
    if bundle.card.kind != "review":
        raise BundleError(
            f"{bundle.folder}: a bundle of kind review is needed, not {bundle.card.kind!r}"
        )
    try:
        stack = msgspec.json.decode(bundle.path(FILE).read_bytes(), type=Stack)
    except msgspec.DecodeError as error:
        raise BundleError(f"{bundle.path(FILE)}: {error}") from None
    return replace(stack, name=bundle.identity)


TOP = 20
"""Replies that are shown unless told otherwise."""
HALF = 0.5
"""From this value on a metric finds nothing wrong."""
WORDS = 3
"""Stretches of text that are quoted for a reply."""
REPEATS = "repeats"
CERTAIN = 0.01
"""A repetition is beyond doubt at so low a score: a probability that it is none."""
FLAWS = {
    "contradiction": "contradicts",
    "repetition": REPEATS,
    "unanswered": "unanswered",
    "nonsense": "senseless",
    "dull": "dull",
}
"""Words for a flaw that the evidence of a metric names."""
NEARLY_ALL = 0.8
"""Share of all replies from which on a finding says something of the log, and not of a reply."""
FEWEST = 10
"""Replies that such a log has at least."""


class CertainReply(NamedTuple):
    """A reply with its findings, the first of which it is listed by."""

    order: int
    findings: tuple[Finding, ...]
    file: str | None
    talk: Conversation | None


class CertainReplies:
    """Collects certain flaws while scores come in.

    Args:
        top: Replies to keep for each rule.
    """

    def __init__(self, top: int) -> None:
        self._top = top
        self._replies = 0
        self._kept: dict[str, list[CertainReply]] = {code: [] for code in RULES}
        self._counts: Counter[str] = Counter()

    @property
    def counts(self) -> dict[str, int]:
        """Number of replies by rule; rules without any are left out."""
        return {code: self._counts[code] for code in RULES if self._counts[code]}

    def add(self, scores: Sequence[Score], talk: Conversation | None) -> set[int]:
        """Take the scores of one conversation; return the turns with a certain flaw."""
        turns = sorted({score.turn for score in scores if score.turn is not None})
        empty = {score.turn: score for score in reversed(scores) if EMPTY_FLAG in score.flags}
        found: dict[int, list[Finding]] = {turn: [] for turn in turns}
        if talk is not None:
            for finding in certain_flaws(talk, turns):
                found[finding.turn].append(finding)
        for turn, score in empty.items():
            if turn is not None and not found[turn]:
                message = score.reason or "the reply is empty"
                found[turn] = [Finding(EMPTY.code, score.conversation, turn, message)]
        codes = list(RULES)
        file = next((str(score.meta["file"]) for score in scores if score.meta.get("file")), None)
        for findings in found.values():
            self._replies += 1
            findings.sort(key=lambda finding: codes.index(finding.rule))
            self._counts.update(finding.rule for finding in findings)
            if findings and len(kept := self._kept[findings[0].rule]) < self._top:
                kept.append(CertainReply(self._replies, tuple(findings), file, talk))
        return {turn for turn, findings in found.items() if findings}

    def first(self) -> list[CertainReply]:
        """Return the first replies, by rule; where there are too many, some of each rule.

        A finding of nearly all replies of a log is returned once.
        """
        kept = {code: self._listed(code) for code in RULES}
        turns = [(place, code) for code in RULES for place in range(len(kept[code]))]
        chosen = Counter(code for _, code in sorted(turns, key=lambda turn: turn[0])[: self._top])
        return [reply for code in RULES for reply in kept[code][: chosen[code]]]

    def _listed(self, code: str) -> list[CertainReply]:
        kept, others = self._kept[code], self._counts[code] - 1
        everywhere = self._counts[code] >= max(FEWEST, NEARLY_ALL * self._replies)
        if code not in SYSTEMATIC or not everywhere or not kept:
            return kept
        finding, *more = kept[0].findings
        message = f"{finding.message}, as in {plural(others, 'other reply', 'other replies')}"
        return [kept[0]._replace(findings=(replace(finding, message=message), *more))]


class Further(msgspec.Struct, frozen=True):
    """Evidence of a further metric against a reply, as in :class:`FlaggedTurn`."""

    metric: str
    value: float
    reason: str | None
    evidence: tuple[Evidence, ...]


class FlaggedTurn(msgspec.Struct, frozen=True):
    """A reply that is worth a look.

    Attributes:
        rank: 1 is the first to look at.
        probability: That a person would mark it; None for a certain flaw.
        flaw: The most likely flaw: the one that the strongest witness looks for, or
            the title of the rule that finds a certain flaw.
        metric: The metric of that witness; None, as ``value``, for a certain flaw.
        value: Its value.
        reason: The reason of its score.
        words: Stretches of the conversation that its evidence points at, and that of ``further``,
            without marks of Markdown, or those of ``findings``; none without texts.
        effects: Contribution of each witness to the log odds.
        evidence: The evidence of its score.
        further: Other scores that speak against the reply and point at words of it, worst first.
        speaker: Who says the reply; empty, as what follows, if texts were not given.
        before: The turn before it that is no instruction and no traffic of tools.
        reply: The reply.
        file: The file its conversation is of, where several were scored together.
        findings: Its certain flaws.
    """

    rank: int
    conversation: str
    turn: int
    probability: float | None
    flaw: str
    metric: str | None
    value: float | None
    reason: str | None
    words: tuple[str, ...]
    effects: dict[str, float]
    evidence: tuple[Evidence, ...]
    further: tuple[Further, ...] = ()
    speaker: str = ""
    before: str = ""
    reply: str = ""
    file: str | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def headline(self) -> str:
        """The flaw, as a list is headed with it."""
        return self.flaw if self.has_flaw else "no flaw stands out"

    @property
    def has_flaw(self) -> bool:
        """Whether a flaw of the reply is named."""
        return self.flaw != "none"

    @property
    def certainty(self) -> str:
        """The probability with two digits, or ``certain``."""
        return "certain" if self.probability is None else f"{self.probability:.2f}"

    @property
    def spans(self) -> list[Span]:
        """Spans of the words that show the flaw."""
        others = (piece for other in self.further for piece in other.evidence)
        found = [span for finding in self.findings for span in finding.spans]
        return found + _spans_of([*self.evidence, *others])


class WitnessUse(msgspec.Struct, frozen=True):
    """On how many of the replies a metric said something."""

    metric: str
    turns: int


class Review(msgspec.Struct, frozen=True):
    """The order of review of a run.

    Attributes:
        turns: Replies on which any witness said something.
        items: The first of them.
        above: How many reach each of the thresholds.
        witnesses: The metrics that the order rests on.
        missing: Metrics that would say more, and were not run.
        thresholds: Probabilities by precision, measured on turns of training conversations.
        stack: Name and hash of the weights.
        certain: Number of replies with a certain flaw, by the code of the rule.
        unused: Metrics that were run and do not count in the order.
    """

    turns: int
    items: tuple[FlaggedTurn, ...]
    above: tuple[int, ...]
    witnesses: tuple[WitnessUse, ...]
    missing: tuple[str, ...]
    thresholds: tuple[Threshold, ...]
    stack: str
    certain: dict[str, int] = {}
    unused: tuple[str, ...] = ()


class _Candidate(NamedTuple):
    """A reply while it may still be among the first; of equal ones the earlier is."""

    probability: float
    order: int
    turn: int
    seen: Mapping[str, Score]
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
        self._certain = CertainReplies(top)
        self._orders = count(0, -1)
        self._used: Counter[str] = Counter()
        self._turns = 0
        self._above: Counter[float] = Counter()

    def add(self, talk: Conversation, scores: Sequence[Score]) -> None:
        """Take one conversation with all its scores."""
        self.add_scores(scores, talk)

    def add_scores(self, scores: Sequence[Score], talk: Conversation | None = None) -> None:
        """Take all scores of one conversation, with its texts if they are known."""
        if not scores:  # of nobody, so that they do not choose the weights
            return
        self._run |= {score.metric: score.signature for score in scores}
        stack = self._stack = self._stack or _chosen(self._run)
        levels = [threshold.probability for threshold in stack.thresholds]
        by_turn = observed(scores)
        if talk is not None and (turn := max(by_turn, default=0)) >= len(talk.turns):
            raise InputError(
                f"conversation {talk.id!r} has {plural(len(talk.turns), 'turn')}, and a score "
                f"is of turn {turn}: give the file that was scored"
            )
        certain = self._certain.add(scores, talk)
        for turn, seen in by_turn.items():
            if effects := stack.effects(seen):
                probability = stack.probability(effects.values())
                self._turns += 1
                self._above.update(level for level in levels if probability >= level)
                self._used.update(effects.keys())
                if turn not in certain:
                    order = next(self._orders)
                    candidate = _Candidate(probability, order, turn, seen, effects, talk)
                    full = len(self._first) == self._top
                    (heapq.heappushpop if full else heapq.heappush)(self._first, candidate)

    def review(self) -> Review:
        """Return what has come together so far."""
        stack = self._stack or _chosen({})
        certain = [_certain(rank, reply) for rank, reply in enumerate(self._certain.first(), 1)]
        best = sorted(self._first, reverse=True)[: self._top - len(certain)]
        probable = enumerate(best, len(certain) + 1)
        wanted = open_stack(STACKS[0]).metrics
        return Review(
            self._turns,
            (*certain, *(_flagged(rank, candidate, stack) for rank, candidate in probable)),
            tuple(self._above[threshold.probability] for threshold in stack.thresholds),
            tuple(WitnessUse(metric, self._used[metric]) for metric in stack.metrics),
            tuple(name for name in wanted if name not in self._run),
            stack.thresholds,
            stack.name,
            self._certain.counts,
            tuple(sorted(self._run.keys() - stack.known(self._run))),
        )


def review(scores: str, files: Sequence[str | Path] = (), *, top: int = TOP) -> Review:
    """Return the replies of a file of scores that a person should look at first.

    No model is opened: metrics that were not run are missing, and the result says which.

    Args:
        scores: Output of ``grice score``, gzipped or not; ``-`` is standard input.
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
    if not reviewed.turns and not reviewed.certain:
        wanted = ", ".join(open_stack(STACKS[-1]).metrics)
        raise InputError(f"{scores}: no reply has a score that says anything of {wanted}")
    return reviewed


def _chosen(signatures: Mapping[str, str]) -> Stack:
    """Return the weights that know most of the metrics that were run; of equals the fewest."""
    stacks = [open_stack(name) for name in STACKS]
    return max(stacks, key=lambda stack: (len(stack.known(signatures)), -len(stack.metrics)))


def _certain(rank: int, reply: CertainReply) -> FlaggedTurn:
    finding = reply.findings[0]
    turn = finding.turn
    text, speaker, before, quoted = "", "", "", []
    if reply.talk is not None:
        text, speaker = reply.talk.turns[turn].text, reply.talk.turns[turn].speaker
        before = _before(reply.talk.turns, turn)
        quoted = [
            text[span.start : span.end].strip()
            for found in reply.findings
            for span in found.spans
            if span.end - span.start < len(text.strip())
        ]
    return FlaggedTurn(
        rank,
        finding.conversation,
        turn,
        None,
        RULES[finding.rule].title,
        None,
        None,
        "; ".join(found.message for found in reply.findings),
        tuple(islice(dict.fromkeys(quoted), WORDS)),
        {},
        (),
        (),
        speaker,
        before,
        text,
        reply.file,
        findings=reply.findings,
    )


def _before(turns: Sequence[Turn], turn: int) -> str:
    """Return the last text before a turn that is no instruction and no traffic of tools."""
    spoken = zip(turns, unspoken(turns), strict=True)
    earlier = [said.text for said, silent in islice(spoken, turn) if not silent]
    return next(filter(str.strip, reversed(earlier)), "")


def _flagged(rank: int, candidate: _Candidate, stack: Stack) -> FlaggedTurn:
    witnesses = {witness.metric: witness for witness in stack.witnesses}
    # A repetition beyond doubt is named whatever else speaks against the reply.
    plain = [
        name
        for name, effect in candidate.effects.items()
        if witnesses[name].flaw == REPEATS
        and effect > 0
        and (candidate.seen[name].value or 0.0) <= CERTAIN
    ]
    against = [name for name in candidate.effects if _speaks_against(candidate, name)]
    worst = max(plain or against or candidate.effects, key=lambda name: candidate.effects[name])
    score = candidate.seen[worst]
    turns = () if candidate.talk is None else candidate.talk.turns
    further = tuple(_further(candidate, worst))
    # What a witness looks for, or what stands out in its evidence.
    flaw = witnesses[worst].flaw or FLAWS.get(cause_of(score.evidence) or "", "senseless")
    pieces = [*score.evidence, *(piece for other in further for piece in other.evidence)]
    return FlaggedTurn(
        rank,
        score.conversation,
        candidate.turn,
        candidate.probability,
        flaw if worst in against else "none",
        worst,
        score.value,
        score.reason,
        tuple(islice(_words(_spans_of(pieces), [turn.text for turn in turns]), WORDS)),
        candidate.effects,
        score.evidence,
        further,
        turns[candidate.turn].speaker if turns else "",
        _before(turns, candidate.turn),
        turns[candidate.turn].text if turns else "",
        str(file) if (file := score.meta.get("file")) else None,
    )


def _speaks_against(candidate: _Candidate, metric: str) -> bool:
    """Return whether a value is low in itself, and lower than those of training replies."""
    value = candidate.seen[metric].value
    return candidate.effects[metric] > 0 and value is not None and value < HALF


def _further(candidate: _Candidate, first: str) -> Iterator[Further]:
    """Yield the scores of other metrics that speak against a reply and point at words of it."""
    against = sorted(candidate.effects.items(), key=lambda effect: -effect[1])
    for metric, _ in against:
        score = candidate.seen[metric]
        pointed = any(span.turn == candidate.turn for span in _spans_of(score.evidence))
        if metric != first and pointed and _speaks_against(candidate, metric):
            yield Further(metric, score.value or 0.0, score.reason, score.evidence)


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
