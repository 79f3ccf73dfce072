"""The replies to check first, with reasons and the words that show the flaw.

Nothing is scored here. Replies with certain flaws (:mod:`grice.detectors`) come first, then those
with the highest probability that a person would mark them: a stacked classifier over the scores of
the run, fitted to turns that people marked (``docs/commands/review.md``). A score counts by its
distance from those of the training replies; abstained, failed and missing scores add 0.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from itertools import takewhile
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from grice.data import Evidence, FeatureEvidence, Finding, TripleEvidence, TurnEvidence
from grice.detectors import RULES, SYSTEMATIC, certain_flaws, empty_reply
from grice.errors import InputError, ModelFolderError, RecordError, plural
from grice.evaluation.scores import by_conversation, joined, read_scores
from grice.metrics.sensibleness import cause_of
from grice.models.folder import open_folder
from grice.readers.roles import unspoken
from grice.scoring.loaded import EMPTY as EMPTY_FLAG
from grice.text.markup import as_read

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from grice.data import Conversation, Score, Span

FILE = "stack.json"
STACKS = ("review-large", "review-medium", "review-small")
"""The classifiers that ship, that for the largest models first."""
TOP = 20
HALF = 0.5  # from this value on, a metric reports no flaw
WORDS = 3  # spans that are quoted for a reply
REPEATS = "repeats"
CERTAIN = 0.01  # a repetition at or below this score is named before any other category
FLAWS = {
    "contradiction": "contradicts",
    "repetition": REPEATS,
    "unanswered": "unanswered",
    "nonsense": "senseless",
    "dull": "dull",
}
"""Category of a flaw that the evidence of a metric names."""
NEARLY_ALL, FEWEST = 0.8, 10
"""Share of all replies, and their number, from which on a systematic finding is listed once."""


class Feature(msgspec.Struct, frozen=True):
    """The value of a metric as a feature of the classifier; low values are bad."""

    metric: str
    flaw: str  # category if this feature is the strongest; empty if the evidence names it
    center: float  # mean of the training replies
    scale: float  # their standard deviation
    weight: float  # log odds of a mark per standard deviation, at least 0

    def effect(self, value: float) -> float:
        """Return the contribution of a value to the log odds of a mark."""
        return self.weight * (self.center - value) / self.scale


class Stack(msgspec.Struct, frozen=True):
    """A stacked classifier: the content of a model folder of type ``review``."""

    intercept: float
    features: tuple[Feature, ...] = msgspec.field(name="witnesses")
    models: dict[str, str] = {}  # of the scores that were fitted, for metrics that run with several
    name: str = ""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that are features."""
        return tuple(feature.metric for feature in self.features)

    def known(self, signatures: Mapping[str, str]) -> set[str]:
        """Return the metrics of a run that are features, by their signatures."""
        return {
            metric
            for metric in self.metrics
            if metric in signatures and self.models.get(metric, "") in signatures[metric]
        }

    def effects(self, seen: Mapping[str, Score]) -> dict[str, float]:
        """Return the contribution of each metric to the log odds."""
        known = self.known({metric: score.signature for metric, score in seen.items()})
        return {
            feature.metric: feature.effect(seen[feature.metric].value or 0.0)
            for feature in self.features
            if feature.metric in known
        }

    def probability(self, effects: Iterable[float]) -> float:
        """Return the probability that a person would mark the reply."""
        return 1 / (1 + math.exp(-self.intercept - math.fsum(effects)))


def open_stack(place: str | Path) -> Stack:
    """Open a model of type ``review``: a shipped one by its name, or a folder."""
    folder = open_folder(place)
    if folder.card.kind != "review":
        raise ModelFolderError(
            f"{folder.path}: a model of type review is needed, not {folder.card.kind!r}"
        )
    try:
        stack = msgspec.json.decode(folder.file(FILE).read_bytes(), type=Stack)
    except msgspec.DecodeError as error:
        raise ModelFolderError(f"{folder.file(FILE)}: {error}") from None
    return replace(stack, name=folder.identity)


def observed(
    scores: Sequence[Score], turns: Iterable[int] | None = None
) -> dict[int, dict[str, Score]]:
    """Return the ``ok`` scores of one conversation by turn and metric.

    The score of a whole conversation counts for each turn by its evidence: the value is 1 and the
    effect of the turn on it.
    """
    if turns is None:
        turns = {score.turn for score in scores if score.turn is not None}
    seen: dict[int, dict[str, Score]] = {turn: {} for turn in sorted(turns)}
    for score in scores:
        if score.status != "ok" or score.value is None:
            continue
        for turn in seen if score.turn is None else {score.turn} & seen.keys():
            seen[turn][score.metric] = score if score.turn is not None else _of_turn(score, turn)
    return seen


def _of_turn(score: Score, turn: int) -> Score:
    pieces = iter(score.evidence)
    own = next((e for e in pieces if isinstance(e, TurnEvidence) and e.turn == turn), None)
    if own is None:
        return replace(score, turn=turn, value=1.0, reason=None, evidence=())
    rest = tuple(takewhile(lambda piece: not isinstance(piece, TurnEvidence), pieces))
    reason = ", ".join(piece.name for piece in rest if isinstance(piece, FeatureEvidence)) or None
    value = min(max(1 + own.effect, 0.0), 1.0)
    return replace(score, turn=turn, value=value, reason=reason, evidence=(own, *rest))


class FlaggedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A reply that is worth a look; without texts, its quotes are empty."""

    rank: int = 0
    conversation: str
    turn: int
    probability: float | None = None  # of a mark by a person; None for a certain flaw
    flaw: str  # category of the strongest feature, or of the first certain flaw
    metric: str | None = None
    value: float | None = None
    reason: str | None
    words: tuple[str, ...] = ()  # quoted spans of its evidence or findings, without Markdown
    effects: dict[str, float] = {}  # contribution of each metric to the log odds
    evidence: tuple[Evidence, ...] = ()
    speaker: str = ""
    before: str = ""  # the last dialogue turn before it, without system and tool turns
    reply: str = ""
    file: str | None = None  # of its conversation, if several were scored together
    findings: tuple[Finding, ...] = ()

    @property
    def headline(self) -> str:
        """The category as a heading."""
        return self.flaw if self.has_flaw else "no specific flaw"

    @property
    def has_flaw(self) -> bool:
        """Whether a flaw is named."""
        return self.flaw != "none"

    @property
    def certainty(self) -> str:
        """The probability with two digits, or ``certain``."""
        return "certain" if self.probability is None else f"{self.probability:.2f}"

    @property
    def spans(self) -> list[Span]:
        """Spans of the words that show the flaw: of findings, features, the worst triple."""
        spans: list[Span | None] = [span for each in self.findings for span in each.spans]
        spans += [piece.span for piece in self.evidence if isinstance(piece, FeatureEvidence)]
        triples = [piece for piece in self.evidence if isinstance(piece, TripleEvidence)]
        if triples:
            worst = min(triples, key=lambda piece: piece.plausibility).triple
            spans += [worst.head_span, worst.tail_span]
        return [span for span in spans if span is not None]

    def with_texts(self, talk: Conversation | None) -> FlaggedTurn:
        """Return it with the words of its conversation."""
        if talk is None:
            return self
        quoted: list[str] = []
        for span in self.spans:
            if span.turn >= len(talk.turns):
                continue
            text = talk.turns[span.turn].text
            if self.findings:  # which keep their tags and tokens
                words = text[span.start : span.end].strip()
                words = "" if words == text.strip() else words
            else:
                words = as_read(text, span.start, span.end).strip()
            if words and not any(words in longer for longer in quoted):
                quoted.append(words)
        earlier = zip(talk.turns[: self.turn], unspoken(talk.turns), strict=False)
        spoken = [turn.text for turn, silent in earlier if not silent and turn.text.strip()]
        return replace(
            self,
            words=tuple(quoted[:WORDS]),
            speaker=talk.turns[self.turn].speaker,
            before=spoken[-1] if spoken else "",
            reply=talk.turns[self.turn].text,
        )


class Review(msgspec.Struct, frozen=True):
    """The first replies of a run, in the order of review."""

    turns: int  # replies with a score of any feature
    items: tuple[FlaggedTurn, ...]
    witnesses: dict[str, int]  # replies that each metric counts for
    missing: tuple[str, ...]  # features that were not run
    stack: str  # name and hash of the classifier
    certain: dict[str, int] = {}  # replies with a certain flaw, by the code of the rule
    unused: tuple[str, ...] = ()  # metrics of the run that are not features


class Reviewer:
    """Collects the replies to look at first while scores arrive; memory holds only these.

    The first conversation decides which classifier is used: the one with most of the metrics that
    were run.
    """

    def __init__(self, top: int = TOP) -> None:
        if top < 1:
            raise InputError(f"top {top}: at least 1 reply is needed")
        self._top = top
        self._stack: Stack | None = None
        self._run: dict[str, str] = {}
        self._replies = self._turns = 0
        # A heap; of equal probabilities the earlier reply is larger.
        self._probable: list[tuple[float, int, FlaggedTurn]] = []
        self._certain: dict[str, list[FlaggedTurn]] = {code: [] for code in RULES}
        self._findings: Counter[str] = Counter()
        self._used: Counter[str] = Counter()

    def add(self, talk: Conversation | None, scores: Sequence[Score]) -> None:
        """Take all scores of one conversation, with its texts if they are known."""
        if not scores:
            return
        self._run |= {score.metric: score.signature for score in scores}
        stack = self._stack = self._stack or _chosen(self._run)
        by_turn = observed(scores)
        if talk is not None and (turn := max(by_turn, default=0)) >= len(talk.turns):
            raise InputError(
                f"conversation {talk.id!r} has {plural(len(talk.turns), 'turn')}, and a score "
                f"is of turn {turn}: give the file that was scored"
            )
        certain = _certain_flaws(scores, by_turn, talk)
        file = str(scores[0].meta.get("file") or "") or None
        for turn, seen in by_turn.items():
            self._replies += 1
            if findings := certain.get(turn):
                self._findings.update(finding.rule for finding in findings)
                if len(kept := self._certain[findings[0].rule]) < self._top:
                    item = FlaggedTurn(
                        conversation=scores[0].conversation,
                        turn=turn,
                        flaw=RULES[findings[0].rule],
                        reason=_reason(findings),
                        file=file,
                        findings=tuple(findings),
                    )
                    kept.append(item.with_texts(talk))
            if not (effects := stack.effects(seen)):
                continue
            probability = stack.probability(effects.values())
            self._turns += 1
            self._used.update(effects.keys())
            full = len(self._probable) == self._top
            if not findings and not (full and probability <= self._probable[0][0]):
                item = _probable(turn, probability, seen, effects, stack)
                entry = (probability, -self._turns, replace(item, file=file).with_texts(talk))
                (heapq.heapreplace if full else heapq.heappush)(self._probable, entry)

    def review(self) -> Review:
        """Return the review of what was added so far."""
        stack = self._stack or _chosen({})
        listed = {code: self._listed(code) for code in RULES}
        # Of too many certain flaws, some of each rule are listed.
        places = [(place, code) for code in RULES for place in range(len(listed[code]))]
        chosen = Counter(code for _, code in sorted(places, key=lambda p: p[0])[: self._top])
        items = [item for code in RULES for item in listed[code][: chosen[code]]]
        probable = sorted(self._probable, reverse=True)[: self._top - len(items)]
        items += [item for _, _, item in probable]
        return Review(
            self._turns,
            tuple(replace(item, rank=rank) for rank, item in enumerate(items, 1)),
            {metric: self._used[metric] for metric in stack.metrics},
            tuple(name for name in open_stack(STACKS[0]).metrics if name not in self._run),
            stack.name,
            {code: self._findings[code] for code in RULES if self._findings[code]},
            tuple(sorted(self._run.keys() - stack.known(self._run))),
        )

    def _listed(self, code: str) -> list[FlaggedTurn]:
        """Return the replies with a finding; a systematic one of nearly all replies once."""
        kept, number = self._certain[code], self._findings[code]
        if code not in SYSTEMATIC or number < max(FEWEST, NEARLY_ALL * self._replies) or not kept:
            return kept
        finding, *more = kept[0].findings
        others = plural(number - 1, "other reply", "other replies")
        findings = (replace(finding, message=f"{finding.message}, as in {others}"), *more)
        return [replace(kept[0], findings=findings, reason=_reason(findings))]


def review(scores: str, files: Sequence[str | Path] = (), *, top: int = TOP) -> Review:
    """Return the replies of a score file that a person should look at first.

    No model is opened: metrics that were not run are missing, and the result names them.

    Args:
        scores: Output of ``grice score``, gzipped or not; ``-`` is standard input.
        files: The conversations that were scored, for the texts; without them the order is the
            same, and the replies are named by conversation and turn.
        top: How many replies to return.

    Raises:
        RecordError: For a line that is no score.
        InputError: If no score of a reply counts, or a conversation is not in ``files``.
    """
    reviewer = Reviewer(top)
    alone = by_conversation(score for _, score in read_scores(scores))
    for talk, group in joined(scores, files) if files else ((None, group) for group in alone):
        if not isinstance(talk, RecordError):
            reviewer.add(talk, group)
    reviewed = reviewer.review()
    if not reviewed.turns and not reviewed.certain:
        wanted = ", ".join(open_stack(STACKS[-1]).metrics)
        raise InputError(f"{scores}: no reply has a usable score of any of {wanted}")
    return reviewed


def _chosen(signatures: Mapping[str, str]) -> Stack:
    """Return the classifier with most of the metrics as features; the smallest of ties."""
    stacks = [open_stack(name) for name in STACKS]
    return max(stacks, key=lambda stack: (len(stack.known(signatures)), -len(stack.metrics)))


def _certain_flaws(
    scores: Sequence[Score], turns: Iterable[int], talk: Conversation | None
) -> dict[int, list[Finding]]:
    """Return the certain flaws by reply; without texts, empty replies by their flag."""
    if talk is not None:
        found = certain_flaws(talk, turns)
    else:
        flagged = {s.turn: s for s in scores if s.turn is not None and EMPTY_FLAG in s.flags}
        found = [empty_reply(s.conversation, turn) for turn, s in flagged.items()]
    codes, certain = list(RULES), dict[int, list[Finding]]()
    for finding in sorted(found, key=lambda finding: codes.index(finding.rule)):
        certain.setdefault(finding.turn, []).append(finding)
    return certain


def _reason(findings: Iterable[Finding]) -> str:
    return "; ".join(finding.message for finding in findings)


def _probable(
    turn: int,
    probability: float,
    seen: Mapping[str, Score],
    effects: dict[str, float],
    stack: Stack,
) -> FlaggedTurn:
    flaws = {feature.metric: feature.flaw for feature in stack.features}
    bad = [name for name, effect in effects.items() if effect > 0]
    # Low in absolute terms, and lower than the training replies.
    against = [name for name in bad if (seen[name].value or 0.0) < HALF]
    verbatim = [n for n in against if flaws[n] == REPEATS and (seen[n].value or 0.0) <= CERTAIN]
    worst = max(verbatim or against or effects, key=effects.__getitem__)
    score = seen[worst]
    flaw = flaws[worst] or FLAWS.get(cause_of(score.evidence) or "", "senseless")
    return FlaggedTurn(
        conversation=score.conversation,
        turn=turn,
        probability=probability,
        flaw=flaw if worst in against else "none",
        metric=worst,
        value=score.value,
        reason=score.reason,
        effects=effects,
        evidence=score.evidence,
    )
