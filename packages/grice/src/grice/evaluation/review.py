"""The replies to check first, with reasons and the words that show the flaw.

Nothing is scored here. Replies with certain flaws (:mod:`grice.detectors`) come first, then those
of the lowest :mod:`quality <grice.metrics.quality>`: that of the run, or the mean rank of those of
its parts that were run.
"""

from __future__ import annotations

import heapq
from collections import Counter
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from grice.data import Evidence, FeatureEvidence, Finding, TripleEvidence
from grice.detectors import RULES, SYSTEMATIC, certain_flaws, empty_reply
from grice.errors import InputError, RecordError, plural
from grice.evaluation.scores import by_conversation, joined, read_scores
from grice.metrics.quality import NO_FLAW, PARTS, contributions, quality_of, strongest
from grice.metrics.sensibleness import cause_of
from grice.models.folder import open_folder
from grice.models.joined import Part, read_parts
from grice.readers.roles import unspoken
from grice.scoring.loaded import EMPTY as EMPTY_FLAG
from grice.text.markup import as_read

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from grice.data import Conversation, Score, Span

QUALITY = "quality"
REFERENCES = ("quality-small", "quality-medium", "quality-large")
"""The models of the metric that ship."""
TOP = 20
WORDS = 3  # spans that are quoted for a reply
NONE = "none"
SENSELESS = "senseless"
FLAWS = {
    "contradiction": "contradicts",
    "likelihood": SENSELESS,
    "relevance": "irrelevant",
    "repetition": "repeats",
}
"""Category of a low value; of the metrics without one, the evidence names it."""
CAUSES = {
    "contradiction": "contradicts",
    "repetition": "repeats",
    "unanswered": "unanswered",
    "nonsense": SENSELESS,
    "dull": "dull",
}
"""Category of a flaw that the evidence of ``sensibleness`` names."""
NEARLY_ALL, FEWEST = 0.8, 10
"""Share of all replies, and their number, from which on a systematic finding is listed once."""


class Reference(NamedTuple):
    """The parts of the quality by the models of one preset."""

    name: str  # name and digest of the model
    parts: tuple[Part, ...]

    def known(self, signatures: Mapping[str, str]) -> tuple[Part, ...]:
        """Return the parts that were run with their models, by the signatures of a run."""
        return tuple(part for part in self.parts if part.fits(signatures.get(part.metric, "")))


def reference_for(signatures: Mapping[str, str]) -> Reference:
    """Return the reference whose quality is in a run, else that with most parts in it."""
    folders = [open_folder(name) for name in REFERENCES]
    references = [Reference(folder.identity, read_parts(folder)) for folder in folders]
    own = signatures.get(QUALITY, "")
    return max(references, key=lambda each: (each.name in own, len(each.known(signatures))))


class Ranked(NamedTuple):
    """The quality of a reply, and the part with a low value that lowers it most."""

    quality: float
    effects: dict[str, float]  # contribution of each part
    metric: str | None = None
    value: float | None = None
    reason: str | None = None
    evidence: tuple[Evidence, ...] = ()


def ranked(parts: Sequence[Part], seen: Mapping[str, Score]) -> Ranked | None:
    """Return the quality of a reply from its ``ok`` scores by metric; None without one."""
    if own := seen.get(QUALITY):
        return _stated(own)
    effects = contributions(parts, seen)
    if not effects:
        return None
    name = strongest(effects, {metric: score.value for metric, score in seen.items()})
    if name is None:
        return Ranked(quality_of(effects), effects)
    low = seen[name]
    return Ranked(quality_of(effects), effects, name, low.value, low.reason, low.evidence)


def _stated(score: Score) -> Ranked:
    """Return what the evidence of a quality states: its parts, then that of the strongest."""
    parts = list(
        takewhile(
            lambda e: isinstance(e, FeatureEvidence) and e.name in PARTS and e.effect is not None,
            score.evidence,
        )
    )
    pieces = [piece for piece in parts if isinstance(piece, FeatureEvidence)]
    effects = {piece.name: piece.effect or 0.0 for piece in pieces}
    values = {piece.name: piece.value for piece in pieces}
    quality, name = score.value or 0.0, strongest(effects, values)
    if name is None:
        return Ranked(quality, effects)
    reason = (score.reason or "").partition(": ")[2]
    return Ranked(quality, effects, name, values[name], reason, score.evidence[len(parts) :])


class FlaggedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A reply that is worth a look; without texts, its quotes are empty."""

    rank: int = 0
    conversation: str
    turn: int
    quality: float | None = None  # 0 to 1; None for a certain flaw
    flaw: str  # category of the part that lowers it most, or of the first certain flaw
    metric: str | None = None
    value: float | None = None
    reason: str | None
    words: tuple[str, ...] = ()  # quoted spans of its evidence or findings, without Markdown
    effects: dict[str, float] = {}  # contribution of each part to the quality
    evidence: tuple[Evidence, ...] = ()
    speaker: str = ""
    before: str = ""  # the last dialogue turn before it, without system and tool turns
    reply: str = ""
    file: str | None = None  # of its conversation, if several were scored together
    findings: tuple[Finding, ...] = ()

    @property
    def headline(self) -> str:
        """The category as a heading."""
        return self.flaw if self.has_flaw else NO_FLAW

    @property
    def has_flaw(self) -> bool:
        """Whether a flaw is named."""
        return self.flaw != NONE

    @property
    def certainty(self) -> str:
        """The quality with two digits, or ``certain``."""
        return "certain" if self.quality is None else f"{self.quality:.2f}"

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

    turns: int  # replies with a quality
    items: tuple[FlaggedTurn, ...]
    parts: dict[str, int]  # replies that each part of the quality counts for
    missing: tuple[str, ...]  # parts that were not run
    reference: str  # name and hash of the model that ranks were taken from
    certain: dict[str, int] = {}  # replies with a certain flaw, by the code of the rule
    unused: tuple[str, ...] = ()  # metrics of the run that are no part


class Reviewer:
    """Collects the replies to look at first while scores arrive; memory holds only these.

    The first conversation decides from which model ranks are taken: that with most of the metrics
    that were run.
    """

    def __init__(self, top: int = TOP) -> None:
        if top < 1:
            raise InputError(f"top {top}: at least 1 reply is needed")
        self._top = top
        self._reference: Reference | None = None
        self._run: dict[str, str] = {}
        self._replies = self._turns = 0
        # A heap of the lowest qualities; of equal ones the earlier reply is larger.
        self._low: list[tuple[float, int, FlaggedTurn]] = []
        self._certain: dict[str, list[FlaggedTurn]] = {code: [] for code in RULES}
        self._findings: Counter[str] = Counter()
        self._used: Counter[str] = Counter()

    def add(self, talk: Conversation | None, scores: Sequence[Score]) -> None:
        """Take all scores of one conversation, with its texts if they are known."""
        if not scores:
            return
        self._run |= {score.metric: score.signature for score in scores}
        self._reference = self._reference or reference_for(self._run)
        parts = self._reference.known(self._run)
        by_turn = _by_turn(scores)
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
            if (found := ranked(parts, seen)) is None:
                continue
            self._turns += 1
            self._used.update(found.effects.keys())
            full = len(self._low) == self._top
            if not findings and not (full and -found.quality <= self._low[0][0]):
                item = _flagged(scores[0].conversation, turn, found)
                entry = (-found.quality, -self._turns, replace(item, file=file).with_texts(talk))
                (heapq.heapreplace if full else heapq.heappush)(self._low, entry)

    def review(self) -> Review:
        """Return the review of what was added so far."""
        reference = self._reference or reference_for({})
        known = {part.metric for part in reference.known(self._run)}
        if QUALITY in self._run:
            known |= {QUALITY, *(part.metric for part in reference.parts)}
        listed = {code: self._listed(code) for code in RULES}
        # Of too many certain flaws, some of each rule are listed.
        places = [(place, code) for code in RULES for place in range(len(listed[code]))]
        chosen = Counter(code for _, code in sorted(places, key=lambda p: p[0])[: self._top])
        items = [item for code in RULES for item in listed[code][: chosen[code]]]
        items += [item for _, _, item in sorted(self._low, reverse=True)[: self._top - len(items)]]
        return Review(
            self._turns,
            tuple(replace(item, rank=rank) for rank, item in enumerate(items, 1)),
            {part.metric: self._used[part.metric] for part in reference.parts},
            tuple(part.metric for part in reference.parts if part.metric not in known),
            reference.name,
            {code: self._findings[code] for code in RULES if self._findings[code]},
            tuple(sorted(self._run.keys() - known)),
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
        parts = reference_for({}).parts
        wanted = ", ".join([QUALITY, *(part.metric for part in parts)])
        raise InputError(f"{scores}: no reply has a usable score of any of {wanted}")
    return reviewed


def _by_turn(scores: Sequence[Score]) -> dict[int, dict[str, Score]]:
    """Return the ``ok`` scores of the replies of one conversation by turn and metric."""
    turns = sorted({score.turn for score in scores if score.turn is not None})
    seen: dict[int, dict[str, Score]] = {turn: {} for turn in turns}
    for score in scores:
        if score.turn is not None and score.status == "ok":
            seen[score.turn][score.metric] = score
    return seen


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


def _flagged(conversation: str, turn: int, found: Ranked) -> FlaggedTurn:
    flaw = NONE
    if found.metric is not None:
        flaw = FLAWS.get(found.metric) or CAUSES.get(cause_of(found.evidence) or "", SENSELESS)
    return FlaggedTurn(
        conversation=conversation,
        turn=turn,
        quality=found.quality,
        flaw=flaw,
        metric=found.metric,
        value=found.value,
        reason=found.reason,
        effects=found.effects,
        evidence=found.evidence,
    )
