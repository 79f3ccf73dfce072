"""Replies in the order in which a person should read them, each with its reason.

Nothing is scored here. Replies with findings of rules (:mod:`grice.detectors`) come first, those of
the most precise rule before others. The others follow by the probability that a person objects, a
logistic regression on the ranks of the parts of :mod:`quality <grice.metrics.quality>` and on signs
in the turns around the reply (:mod:`grice.detectors.reactions`). ``ranking.json`` holds its weights
by model of the quality, and ``scored.json`` the precision of the rules that read scores;
``bench/ranking.py`` writes both.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import takewhile
from pathlib import Path
from typing import Literal, NamedTuple, Unpack

import msgspec
from msgspec.structs import replace

from grice.data import Conversation, FeatureEvidence, Finding, Score, Span
from grice.detectors import ALL, RULES, empty_reply, find_flaws
from grice.detectors.check import FEWEST, NEARLY_ALL, Check, Checker, Known, count_of
from grice.detectors.conversation import Background, Reply, plain
from grice.detectors.dialogue import repeats_on_request
from grice.detectors.reactions import Sign, signs_of
from grice.detectors.rules import Measured, Rule, selected
from grice.detectors.scored import SCORED_RULES, finding_of, reason_of
from grice.errors import InputError, RecordError, plural
from grice.evaluation.groups import FlawedReply
from grice.evaluation.scores import by_conversation, joined, read_scores
from grice.metrics.quality import NO_FLAW, PARTS, contributions, quality_of
from grice.models.folder import open_folder
from grice.models.joined import Part, read_parts
from grice.readers.roles import unspoken
from grice.scoring.api import JUDGE_SCHEMES, Grader, Settings, load, named_preset
from grice.scoring.loaded import EMPTY, judged_turns
from grice.text.language import foreign

QUALITY, REPETITION, SHIPPED = "quality", "repetition", "builtin:"
REFERENCES = ("quality-small", "quality-medium", "quality-large")
"""The models of the metric that ship."""
TOP = 20
STANDS_OUT, RARE = 0.3, 0.01
"""Probability from which on a low score is a reason, and its rank up to which it always is one."""
LIKELY = 0.5
"""Probability from which on a reason is a finding of a rule that reads scores."""
WORDS = 3  # spans that are quoted for a reply
SEVERITIES = {"error": 0, "warning": 1, "note": 2}


class Reference(NamedTuple):
    """The parts of the quality by the models of one preset."""

    name: str  # name and digest of the model
    parts: tuple[Part, ...]

    @property
    def model(self) -> str:
        """Name of the model."""
        return self.name.partition("@")[0]

    def known(self, signatures: Mapping[str, str]) -> tuple[Part, ...]:
        """Return the parts that were run with their models, by the signatures of a run."""
        return tuple(part for part in self.parts if part.fits(signatures.get(part.metric, "")))


def reference_for(signatures: Mapping[str, str]) -> Reference:
    """Return the reference whose quality is in a run, else that with most parts in it."""
    folders = [open_folder(name) for name in REFERENCES]
    references = [Reference(folder.identity, read_parts(folder)) for folder in folders]
    own = signatures.get(QUALITY, "")
    return max(references, key=lambda each: (each.name in own, len(each.known(signatures))))


def load_parts(preset: str, *further: str, **settings: Unpack[Settings]) -> Grader:
    """Load the parts of the quality by a preset, whose scores :class:`Ranker` takes.

    ``further`` are names of metrics that are loaded, too.

    Raises:
        InputError: For an unknown preset, or a model that judges in the place of one.
    """
    if preset.startswith(JUDGE_SCHEMES):
        raise InputError(
            f"{preset}: an order by a judge is not measured: give small, medium, large or a "
            "preset of your own"
        )
    given = named_preset(preset).options
    parts = read_parts(open_folder(_model_of(preset)))
    options = {part.metric: {**part.models, **given.get(part.metric, {})} for part in parts}
    every: Settings = {**settings, "models": preset, "options": options}
    return load(*options, *further, **every)


def _model_of(preset: str) -> str:
    model = str(named_preset(preset).options.get(QUALITY, {}).get("model", REFERENCES[0]))
    return model.removeprefix(SHIPPED)


def scored_rules(preset: str) -> tuple[Rule, ...]:
    """Return the rules that read scores, with their figures if those of a preset were measured."""
    content = (resources.files("grice.evaluation") / "scored.json").read_bytes()
    every = msgspec.json.decode(content, type=dict[str, dict[str, Measured]])
    seen = every.get(_model_of(preset), {})
    dialogue = [rule for rule in SCORED_RULES if rule.code.startswith("D")]
    return tuple(rule._replace(of_preset=seen.get(rule.code)) for rule in dialogue)


class Weights(msgspec.Struct, frozen=True):
    """Log odds that a person objects to a reply in which no rule found a flaw.

    Attributes:
        bias: Log odds of a reply whose parts have the middle rank, without signs.
        weights: Weight of each feature: the rank of a part, less one half, or a sign that is there.
    """

    bias: float
    weights: dict[str, float]

    def effects(self, features: Mapping[str, float]) -> dict[str, float]:
        """Return the contribution of each feature to the log odds."""
        return {name: self.weights.get(name, 0.0) * value for name, value in features.items()}


def features_of(
    parts: Sequence[Part], seen: Mapping[str, Score], signs: Iterable[Sign]
) -> dict[str, float]:
    """Return the rank of each part with a value, less one half, and 1 for each sign."""
    values = [(part, seen[part.metric].value) for part in parts if part.metric in seen]
    ranks = {part.metric: part.rank(value) - 0.5 for part, value in values if value is not None}
    return ranks | {sign.name: 1.0 for sign in signs}


@cache
def weights_of(model: str) -> Weights:
    """Return the weights beside a model of the quality, by its name; those of ``small`` if none."""
    content = (resources.files("grice.evaluation") / "ranking.json").read_bytes()
    every = msgspec.json.decode(content, type=dict[str, Weights])
    return every.get(model, every[REFERENCES[0]])


class Judged(NamedTuple):
    """The probability that a person objects to a reply, and why."""

    probability: float
    quality: float | None  # None if no part has a value
    effects: dict[str, float]  # contribution of parts and signs to the log odds
    metric: str | None = None
    value: float | None = None
    findings: tuple[Finding, ...] = ()


def judged(
    weights: Weights,
    parts: Sequence[Part],
    seen: Mapping[str, Score],
    reply: Reply | None,
    *,
    flawed: bool = False,
) -> Judged:
    """Return the probability that a person objects to a reply, from its ``ok`` scores by metric.

    A reason is given of a reply that is known to be ``flawed``, or for which it is high enough.
    """
    if own := seen.get(QUALITY):
        seen = _of_quality(own) | {QUALITY: own}
        parts = [part for part in parts if part.metric in seen]
    if reply and repeats_on_request(reply):
        seen = {name: score for name, score in seen.items() if name != REPETITION}
    signs = {sign.name: sign for sign in (signs_of(reply) if reply else ())}
    features = features_of(parts, seen, signs.values())
    effects = weights.effects(features)
    values = {part.metric: seen[part.metric].value for part in parts if part.metric in seen}
    ranks = contributions(parts, seen)
    quality = own.value if own else quality_of(ranks) if ranks else None
    probability = 1 / (1 + math.exp(-weights.bias - math.fsum(effects.values())))
    name, finding = reason_of(seen, reply) or (None, None)
    if not flawed and probability < STANDS_OUT and features.get(name or "", 0.0) > RARE - 0.5:
        name = finding = None
    findings = [(effects.get(name or "", 0.0), finding)] if finding else []
    raising = [sign for sign in signs.values() if sign.span and effects[sign.name] > 0]
    if reply and raising and probability >= STANDS_OUT:
        sign = max(raising, key=lambda sign: effects[sign.name])
        findings.append((effects[sign.name], finding_of(sign, reply)))
    findings.sort(key=lambda pair: -pair[0])
    return Judged(
        probability,
        quality,
        effects,
        name,
        values[name] if name else None,
        tuple(finding for _, finding in findings),
    )


def _of_quality(score: Score) -> dict[str, Score]:
    """Return the scores of its parts that a quality states; the strongest has the evidence."""
    parts = list(
        takewhile(
            lambda e: isinstance(e, FeatureEvidence) and e.name in PARTS and e.effect is not None,
            score.evidence,
        )
    )
    shown = score.evidence[len(parts) :]
    pieces = [piece for piece in parts if isinstance(piece, FeatureEvidence)]
    return {p.name: replace(score, metric=p.name, value=p.value, evidence=shown) for p in pieces}


class RankedReply(msgspec.Struct, frozen=True, kw_only=True):
    """A reply in the order of reading; without texts, its quotes are empty.

    Attributes:
        probability: That a person objects; for a finding, the measured precision of its rule.
        quality: 0 to 1; None if no part of it has a value.
        certain: Whether a rule found a flaw, not only a score.
        findings: Those of the rules, else a flaw that scores or the user's words show clearly
            and the sign with the largest contribution, if there are any.
        metric, value: The part of the quality that shows the flaw, and its value.
        effects: Contribution of parts and signs to the log odds of the probability.
        status: ``abstained`` for a reply in another language, which has no rank.
        before: The last dialogue turn before it, without system and tool turns.
        file: Of its conversation, if several were scored together.
    """

    rank: int = 0
    conversation: str
    turn: int
    probability: float = 0.0
    quality: float | None = None
    certain: bool = False
    findings: tuple[Finding, ...] = ()
    metric: str | None = None
    value: float | None = None
    effects: dict[str, float] = {}
    status: Literal["ok", "abstained"] = "ok"
    speaker: str = ""
    before: str = ""
    reply: str = ""
    file: str | None = None

    @property
    def headline(self) -> str:
        """The title of its first flaw."""
        return RULES[self.findings[0].code].title if self.findings else NO_FLAW

    @property
    def has_flaw(self) -> bool:
        """Whether a flaw is named."""
        return bool(self.findings)

    @property
    def reason(self) -> str:
        """The messages of its findings."""
        return "; ".join(finding.message for finding in self.findings)

    @property
    def certainty(self) -> str:
        """The probability with two digits."""
        return f"{self.probability:.2f}"

    @property
    def place(self) -> str:
        """The file, if it is known, the conversation and the turn."""
        return f"{f'{self.file}:' if self.file else ''}{self.conversation} {self.turn}"

    @property
    def spans(self) -> list[Span]:
        """Spans of the words that show the flaws."""
        return [span for finding in self.findings for span in finding.spans]

    @property
    def words(self) -> tuple[str, ...]:
        """The first quotes of its findings, each once."""
        quotes = dict.fromkeys(words for each in self.findings for words in each.quotes)
        return tuple(words for words in quotes if words != self.reply.strip())[:WORDS]

    @property
    def flawed(self) -> FlawedReply:
        """The reply, to group it with others."""
        codes = tuple(dict.fromkeys(finding.code for finding in self.findings))
        return FlawedReply(self.conversation, self.turn, self.reply, codes, self.file or "")

    def with_texts(self, talk: Conversation | None) -> RankedReply:
        """Return it with the words of its conversation."""
        if talk is None:
            return self
        earlier = zip(talk.turns[: self.turn], unspoken(talk.turns), strict=False)
        spoken = [turn.text for turn, silent in earlier if not silent and turn.text.strip()]
        own = talk.turns[self.turn]
        before = spoken[-1] if spoken else ""
        return replace(self, speaker=own.speaker, before=before, reply=own.text)


class Ranking(msgspec.Struct, frozen=True):
    """The first replies of a run in the order of reading.

    Attributes:
        turns: Replies with a quality.
        parts: Replies that each part of the quality counts for.
        missing: Parts that were not run.
        reference: Name and hash of the model that ranks were taken from.
        certain: Replies with a finding of a rule, by code.
        unused: Metrics of the run that are no part.
        known: Findings left out because the baseline has them.
        unjudged: Replies without any evidence by language, of another language than English. Some
            follow the others in ``items``, without a rank.
    """

    conversations: int
    replies: int
    turns: int
    items: tuple[RankedReply, ...]
    parts: dict[str, int]
    missing: tuple[str, ...]
    reference: str
    certain: dict[str, int] = {}
    unused: tuple[str, ...] = ()
    known: int = 0
    unjudged: dict[str, int] = {}

    @property
    def ranked(self) -> tuple[RankedReply, ...]:
        """The replies that have a rank."""
        return tuple(item for item in self.items if item.status == "ok")

    def distinct(self) -> list[list[RankedReply]]:
        """Return the ranked replies, those of the same text after the same turn together."""
        alike: dict[Hashable, list[RankedReply]] = {}
        for item in self.ranked:
            words = plain(item.reply), plain(item.before)
            alike.setdefault((*words, item.certain) if any(words) else item.rank, []).append(item)
        return list(alike.values())

    @property
    def flawed(self) -> int:
        """The number of findings of rules."""
        return sum(self.certain.values())


class Ranker:
    """Collects the replies to read first while scores arrive; memory holds only these.

    The first conversation decides from which model ranks are taken: that with most of the metrics
    that were run.

    Args:
        top: Number of replies to keep.
        rules: Rules whose findings come first; by default those that run by default. Those of
            :func:`scored_rules` find a reply that has no other finding and that a person objects
            to with a probability of at least :data:`LIKELY`.
        speakers: Check replies of these speakers, scored or not; by default those with scores.
        baseline: An earlier result, whose findings are left out.
    """

    def __init__(
        self,
        top: int = TOP,
        *,
        rules: Sequence[Rule] | None = None,
        speakers: Collection[str] | None = None,
        baseline: Check | None = None,
    ) -> None:
        if top < 1:
            raise InputError(f"top {top}: at least 1 reply is needed")
        self._top = top
        self._rules = selected(ALL) if rules is None else tuple(rules)
        self._order = {rule.code: rule for rule in sorted(self._rules, key=_first_read)}
        self._speakers = speakers
        self._old = Known(baseline or ())
        self.checker = Checker(self._rules)
        self._reference: Reference | None = None
        self._run: dict[str, str] = {}
        self._replies = self._turns = 0
        # A heap of the highest probabilities; of equal ones the earlier reply is larger.
        self._low: list[tuple[float, int, RankedReply]] = []
        self._certain: dict[str, list[RankedReply]] = {code: [] for code in self._order}
        self._unjudged: list[RankedReply] = []
        self._languages: Counter[str] = Counter()
        self._used: Counter[str] = Counter()

    def add(
        self,
        talk: Conversation | RecordError | None,
        scores: Sequence[Score],
        file: str | None = None,
    ) -> Sequence[Finding]:
        """Take all scores of a conversation, with its texts if they are known, and its file.

        Returns its findings, which the ``checker`` counts, as it does a record without scores that
        could not be read.
        """
        if isinstance(talk, RecordError):
            return self.checker.add(talk)
        by_turn = by_turn_of(scores)
        if talk is not None and self._speakers is not None:
            by_turn = {turn: {} for turn in judged_turns(talk, self._speakers)} | by_turn
        if not by_turn and self._speakers is None:
            return ()
        self._run |= {score.metric: score.signature for score in scores}
        if scores:
            self._reference = self._reference or reference_for(self._run)
        parts: tuple[Part, ...] = ()
        if self._reference:
            stated = QUALITY in self._run
            parts = self._reference.parts if stated else self._reference.known(self._run)
        if talk is not None and (turn := max(by_turn, default=-1)) >= len(talk.turns):
            raise InputError(
                f"conversation {talk.id!r} has {plural(len(talk.turns), 'turn')}, and a score "
                f"is of turn {turn}: give the file that was scored"
            )
        certain = self._found(scores, by_turn, talk)
        given = scores[0].meta if scores else talk.meta if talk else {}
        file = str(given.get("file") or "") or file
        findings_of_all = [finding for found in certain.values() for finding in found]
        background = Background(talk, by_turn) if talk is not None else None
        name = talk.id if talk is not None else scores[0].conversation
        weights = weights_of(self._reference.model if self._reference else "")
        texts = {turn: talk.turns[turn].text for turn in by_turn} if talk else {}
        whole = foreign("\n".join(texts.values()))  # tells more than a short reply
        for turn, seen in by_turn.items():
            self._replies += 1
            findings = certain.get(turn, [])
            objected = bool(findings) and all(each.code[0] == "U" for each in findings)
            reply = Reply(background, turn) if background else None
            found = judged(weights, parts, seen, reply, flawed=objected)
            if found.quality is not None:
                self._turns += 1
                self._used.update(found.effects.keys() & PARTS.keys())
            item = RankedReply(
                conversation=name,
                turn=turn,
                probability=found.probability,
                quality=found.quality,
                effects=found.effects,
                file=file,
            )
            if objected:  # scores show to what
                findings += [each for each in found.findings if each.code[0] == "D"]
            if not findings and found.probability >= LIKELY:
                findings_of_all += self._old.new(
                    replace(finding, confidence=rule.precision)
                    for finding in found.findings
                    if (rule := self._order.get(finding.code))
                )
            if findings:
                if len(kept := self._certain[findings[0].code]) < self._top:
                    precision = findings[0].confidence
                    item = replace(
                        item,
                        certain=True,
                        findings=tuple(findings),
                        probability=found.probability if precision is None else precision,
                    )
                    kept.append(item.with_texts(talk))
            elif other := whole or (None if found.effects else foreign(texts.get(turn, ""))):
                self._languages[other] += 1
                if len(self._unjudged) < self._top:
                    self._unjudged.append(replace(item, status="abstained").with_texts(talk))
            elif found.quality is not None or self._speakers is not None:
                full = len(self._low) == self._top
                if full and found.probability <= self._low[0][0]:
                    continue
                item = replace(
                    item, findings=found.findings, metric=found.metric, value=found.value
                )
                entry = (found.probability, -self._replies, item.with_texts(talk))
                (heapq.heapreplace if full else heapq.heappush)(self._low, entry)
        findings_of_all.sort(key=lambda finding: (finding.turn, finding.code))
        self.checker.count(findings_of_all, replies=len(by_turn), file=file or "")
        return findings_of_all

    def ranking(self) -> Ranking:
        """Return the ranking of what was added so far."""
        reference = self._reference or reference_for({})
        known = {part.metric for part in reference.known(self._run)}
        if QUALITY in self._run:
            known |= {QUALITY, *(part.metric for part in reference.parts)}
        checked = self.checker.check()
        counts = checked.counts()
        listed = {code: self._listed(code, counts.get(code, 0)) for code in self._order}
        # Of too many replies with findings, some of each rule are listed.
        places = [(place, code) for code in listed for place in range(len(listed[code]))]
        chosen = Counter(code for _, code in sorted(places, key=lambda p: p[0])[: self._top])
        items = [item for code in listed for item in listed[code][: chosen[code]]]
        items += [item for _, _, item in sorted(self._low, reverse=True)[: self._top - len(items)]]
        listed_items = [replace(item, rank=rank) for rank, item in enumerate(items, 1)]
        return Ranking(
            checked.conversations,
            checked.replies,
            self._turns,
            (*listed_items, *self._unjudged[: self._top - len(items)]),
            {part.metric: self._used[part.metric] for part in reference.parts},
            tuple(part.metric for part in reference.parts if part.metric not in known),
            reference.name,
            {code: counts[code] for code in self._order if code in counts},
            tuple(sorted(self._run.keys() - known)),
            self._old.count,
            dict(self._languages.most_common()),
        )

    def check(self, ranking: Ranking | None = None, limit: int | None = None) -> Check:
        """Return the findings, so many at most, or those in the order of a ranking.

        The findings of the rules are all counted.
        """
        checked = replace(self.checker.check(limit), known=self._old.count)
        if ranking is None:
            return checked
        findings = [finding for item in ranking.items for finding in item.findings]
        by_score = (
            (rule, [each.conversation for each in findings if each.code == rule.code])
            for rule in SCORED_RULES
        )
        counted = [count_of(rule, len(found), len({*found})) for rule, found in by_score if found]
        return replace(checked, rules=(*checked.rules, *counted), findings=tuple(findings))

    def _found(
        self, scores: Sequence[Score], turns: Iterable[int], talk: Conversation | None
    ) -> dict[int, list[Finding]]:
        """Return the findings by reply; without texts, empty replies by their flag."""
        if talk is not None:
            found = find_flaws(talk, self._rules, turns)
        else:
            flagged = {s.turn: s for s in scores if s.turn is not None and EMPTY in s.flags}
            found = [empty_reply(s.conversation, turn) for turn, s in flagged.items()]
        places = {code: place for place, code in enumerate(self._order)}
        by_turn: dict[int, list[Finding]] = {}
        for finding in sorted(self._old.new(found), key=lambda f: places.get(f.code, 0)):
            by_turn.setdefault(finding.turn, []).append(finding)
        return by_turn

    def _listed(self, code: str, number: int) -> list[RankedReply]:
        """Return the replies with a finding; one of nearly all replies once."""
        kept = self._certain[code]
        if number < max(FEWEST, NEARLY_ALL * self._replies) or not kept:
            return kept
        finding, *more = kept[0].findings
        others = plural(number - 1, "other reply", "other replies")
        finding = replace(finding, message=f"{finding.message}, as in {others}")
        return [replace(kept[0], findings=(finding, *more))]


def rank(scores: str, files: Sequence[str | Path] = (), *, top: int = TOP) -> Ranking:
    """Return the replies of a score file that a person should read first.

    No model is opened: metrics that were not run are missing, and the result names them.

    Args:
        scores: Output of ``grice score``, gzipped or not; ``-`` is standard input.
        files: The conversations that were scored; without them rules find only empty replies, and
            replies are named by conversation and turn.
        top: How many replies to return.

    Raises:
        RecordError: For a line that is no score.
        InputError: If no score of a reply counts, or a conversation is not in ``files``.
    """
    ranker = Ranker(top)
    alone = by_conversation(score for _, score in read_scores(scores))
    for talk, group in joined(scores, files) if files else ((None, group) for group in alone):
        ranker.add(talk, group)
    ranking = ranker.ranking()
    check_ranked(ranking, scores)
    return ranking


def check_ranked(ranking: Ranking, scores: str) -> None:
    """Refuse scores of which none says anything about a reply."""
    if not ranking.turns and not ranking.certain:
        parts = reference_for({}).parts
        wanted = ", ".join([QUALITY, *(part.metric for part in parts)])
        raise InputError(f"{scores}: no reply has a usable score of any of {wanted}")


def _first_read(rule: Rule) -> tuple[float, float, int, str]:
    """Return the place of a rule: of the highest precision first, then of its lower end."""
    seen = rule.measured
    precise = (-seen.precision, -seen.low) if seen else (0.0, 0.0)
    return *precise, SEVERITIES[rule.severity], rule.code


def by_turn_of(scores: Sequence[Score]) -> dict[int, dict[str, Score]]:
    """Return the ``ok`` scores of the replies of one conversation by turn and metric."""
    turns = sorted({score.turn for score in scores if score.turn is not None})
    seen: dict[int, dict[str, Score]] = {turn: {} for turn in turns}
    for score in scores:
        if score.turn is not None and score.status == "ok":
            seen[score.turn][score.metric] = score
    return seen
