"""Does a metric ever reward what is known to be bad?

One reply of each conversation is judged as it was said and in every known-bad variant. The rate
is how often the variant scores lower, an equal score counting half: 0.5 is chance, 1 is right.
Where a metric abstains on a variant it does not reward it; such pairs are counted apart.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from grice.errors import InputError, RecordError, plural
from grice.evaluation.sample import hashed, sample, windows
from grice.evaluation.variants import VARIANTS
from grice.records import Conversation
from grice.scoring.items import responses
from grice.stats.estimate import Estimate, Side
from grice.stats.proportions import proportion

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from grice.records import Score
    from grice.scoring.run import Scorer

Verdict: TypeAlias = Literal["discriminates", "blind", "rewarded", "not judged"]
VERDICTS: dict[Side | None, Verdict] = {"above": "discriminates", "below": "rewarded"}
CHANCE = 0.5

TIE = 1e-9
"""Scores that differ by less are equal."""
WINDOW = 32
"""Conversations scored at once, each with all its variants."""


class SanityRow(msgspec.Struct, frozen=True):
    """One metric against one kind of known-bad variant.

    Attributes:
        rate: How often the variant scores lower, ties half, with its interval; chance is 0.5.
            None if no pair could be judged.
        held: Share of pairs whose variant scores lower or equal: what every metric owes.
        lower: Pairs whose variant scores lower.
        tied: Pairs that score the same.
        higher: Pairs whose variant scores higher: what must not be.
        abstained: Variants on which the metric abstains; not part of the rate.
        failed: Variants on which it failed; likewise.
        verdict: ``discriminates`` if the interval lies above 0.5, ``rewarded`` if below it,
            ``blind`` if it holds 0.5, ``not judged`` without a pair.
    """

    metric: str
    variant: str
    rate: Estimate | None
    held: Estimate | None
    lower: int
    tied: int
    higher: int
    abstained: int
    failed: int
    verdict: Verdict


class SanityResult(msgspec.Struct, frozen=True):
    """All metrics against all variants.

    Attributes:
        rows: Metric by metric, variant by variant.
        conversations: How many were tried.
        of: How many the input has that could have been.
        unusable: How many have no reply with a turn before it.
        problems: The first of them.
        impossible: For each variant the conversations in which it cannot be made.
        unjudged: For each metric the conversations whose own reply it does not judge.
        signatures: What exactly was computed, by metric.
        seed: Seed of the choice of conversations and replies, and of the shuffling.
    """

    rows: tuple[SanityRow, ...]
    conversations: int
    of: int
    unusable: int
    broken: int
    problems: tuple[str, ...]
    impossible: dict[str, int]
    unjudged: dict[str, int]
    signatures: dict[str, str]
    seed: int


class _Case(NamedTuple):
    """A conversation with its judged reply, and its variants by name."""

    original: Conversation
    variants: dict[str, Conversation]


class _Counts:
    def __init__(self) -> None:
        self.lower = self.tied = self.higher = self.abstained = self.failed = 0

    def add(self, original: float, variant: Score) -> None:
        if variant.status != "ok" or variant.value is None:
            self.abstained += variant.status == "abstained"
            self.failed += variant.status == "failed"
            return
        gap = variant.value - original
        self.tied += abs(gap) <= TIE
        self.lower += gap < -TIE
        self.higher += gap > TIE

    def row(self, metric: str, variant: str) -> SanityRow:
        hits = [1.0] * self.lower + [0.5] * self.tied + [0.0] * self.higher
        rate = proportion(hits)
        return SanityRow(
            metric=metric,
            variant=variant,
            rate=rate,
            held=proportion([hit > 0 for hit in hits]),
            lower=self.lower,
            tied=self.tied,
            higher=self.higher,
            abstained=self.abstained,
            failed=self.failed,
            verdict=_verdict(rate),
        )


def sanity(
    records: Iterable[Conversation | RecordError], scorer: Scorer, *, most: int = 500, seed: int = 0
) -> SanityResult:
    """Score ordinary conversations beside their known-bad variants.

    Args:
        records: The conversations; up to ``most`` are drawn from them.
        scorer: The metrics. Those that judge replies judge the changed one, those that judge
            conversations the whole conversation with it.
        seed: Seed of the draw, of the reply in each conversation, and of the shuffling.

    Raises:
        InputError: If no conversation has a reply with a turn before it.
    """
    drawn = sample(
        records, most, seed, lambda conversation: bool(_replies(conversation, scorer.speakers))
    )
    if not drawn.conversations:
        broken = f", {plural(drawn.broken, 'record')} could not be read" if drawn.broken else ""
        raise InputError(
            f"no conversation has a reply to judge with a turn before it (none "
            f"in {drawn.unusable}{broken})"
        )
    cases = _cases(drawn.conversations, scorer.speakers, seed)
    names = [loaded.metric.name for loaded in scorer.metrics]
    counts = {(metric, variant): _Counts() for metric in names for variant in VARIANTS}
    unjudged = dict.fromkeys(names, 0)
    for window in windows(cases, WINDOW, "conversations"):
        for original, variants in _scored(window, scorer):
            for metric in names:
                own = original.get(metric)
                if own is None or own.status != "ok" or own.value is None:
                    unjudged[metric] += 1
                    continue
                for name, scores in variants.items():
                    counts[metric, name].add(own.value, scores[metric])
    return SanityResult(
        tuple(count.row(*place) for place, count in counts.items()),
        len(cases),
        drawn.seen,
        drawn.unusable,
        drawn.broken,
        drawn.problems,
        {name: sum(name not in case.variants for case in cases) for name in VARIANTS},
        unjudged,
        {loaded.metric.name: loaded.signature for loaded in scorer.metrics},
        seed,
    )


def _replies(conversation: Conversation, speakers: Collection[str]) -> list[int]:
    return [
        item.turn
        for item in responses(conversation, speakers)
        if item.text.strip() and any(turn.text.strip() for turn in item.history)
    ]


def _cases(
    conversations: Sequence[Conversation], speakers: Collection[str], seed: int
) -> list[_Case]:
    chosen = []
    for conversation in conversations:
        replies = _replies(conversation, speakers)
        reply = replies[hashed(conversation.id, seed + 1) % len(replies)]
        chosen.append((replace(conversation, targets=(reply,)), reply))
    return [
        _Case(conversation, _variants(conversation, reply, _other(chosen, place), seed))
        for place, (conversation, reply) in enumerate(chosen)
    ]


def _variants(
    conversation: Conversation, reply: int, other: str, seed: int
) -> dict[str, Conversation]:
    variants = {}
    for name, make in VARIANTS.items():
        draw = Random(hashed(f"{conversation.id} {name}", seed))
        if variant := make(conversation, reply, other, draw):
            variants[name] = variant
    return variants


def _other(chosen: Sequence[tuple[Conversation, int]], place: int) -> str:
    """Return the reply of the next conversation that says something else; empty if none does."""
    conversation, reply = chosen[place]
    own = conversation.turns[reply].text
    for step in range(1, len(chosen)):
        conversation, reply = chosen[(place + step) % len(chosen)]
        if conversation.turns[reply].text != own:
            return conversation.turns[reply].text
    return ""


def _scored(
    cases: Sequence[_Case], scorer: Scorer
) -> Iterable[tuple[dict[str, Score], Mapping[str, dict[str, Score]]]]:
    flat = [talk for case in cases for talk in (case.original, *case.variants.values())]
    scores = iter(scorer.score(flat))
    for case in cases:
        original = {score.metric: score for score in next(scores)}
        variants = {name: {score.metric: score for score in next(scores)} for name in case.variants}
        yield original, variants


def _verdict(rate: Estimate | None) -> Verdict:
    return "not judged" if rate is None else VERDICTS.get(rate.side(CHANCE), "blind")
