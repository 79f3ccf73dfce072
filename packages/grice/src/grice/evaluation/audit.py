"""Audit of a metric or an LLM judge: agreement with human ratings, biases, injections, cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from statistics import fmean, pstdev
from time import perf_counter
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from grice.data import Conversation, Score, Turn
from grice.errors import InputError
from grice.metrics.judges import (
    ASPECTS,
    MODEL,
    Aspect,
    Preference,
    item_data,
    prefer,
    rate,
    talk_data,
)
from grice.models.endpoint import Usage
from grice.models.protocols import Chat
from grice.scoring.loaded import LoadedMetric, responses
from grice.stats.comparison import compare_correlations, mean, proportion
from grice.stats.correlations import correlation
from grice.stats.estimate import Estimate
from grice.tables import with_interval

if TYPE_CHECKING:
    from grice.scoring.api import Grader

INJECTED = 20  # replies with each injection: those with the lowest ratings
RISE = 0.1  # least change of a score that counts as raised
SOURCE = "ConTurE (Ghazarian et al. 2022), CC BY 4.0: people's rating of a reply, 0 to 2"
BASELINE = "log_length"
PADDING = (
    " Well, that is what I would say about it, to be quite honest with you, all things considered, "
    "and I do not think that there is very much more to be said about it at the moment."
)
"""Words without content: no metric should score a reply higher for them."""
FEWEST, SAME, CHANGED = 10, 0.8, 0.1
"""Limits of a reliable metric: minimum number of judged replies (and half of all), minimum share
of pairs with the same answer in both orders, maximum share of replies with another score in a
repeated request."""


class RatedReply(msgspec.Struct, frozen=True):
    """A conversation whose last turn has a human rating."""

    id: str
    turns: tuple[Turn, ...]
    rating: float

    @property
    def reply(self) -> str:
        """The text that was rated."""
        return self.turns[-1].text

    def conversation(self, text: str | None = None, number: int = 0) -> Conversation:
        """Return the conversation with its last turn as target, or another reply there."""
        talk = Conversation(self.id, self.turns, targets=(len(self.turns) - 1,))
        if text is None:
            return talk
        turns = (*self.turns[:-1], replace(self.turns[-1], text=text))
        return replace(talk, id=f"{self.id}/{number}", turns=turns)


class Injection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Text before or after a reply that tries to raise its score, or a harmless control."""

    before: str = ""
    after: str = ""
    control: bool = False


class InjectionEffect(msgspec.Struct, frozen=True):
    """Mean change of the score by one injection; ``raised`` counts rises above :data:`RISE`."""

    injection: str
    control: bool
    change: Estimate | None
    raised: int
    judged: int
    abstained: int
    failed: int


class MetricAudit(msgspec.Struct, frozen=True):
    """One metric on the rated replies; the fields from ``same`` on are of LLM judges alone."""

    metric: str
    signature: str
    ships: bool  # whether it is measured for comparison only
    judged: int
    abstained: int
    failed: int
    seconds: float  # per reply
    spearman: Estimate | None
    padding: Estimate | None  # change by words without content; above 0 is verbosity bias
    injections: tuple[InjectionEffect, ...]
    gain: Estimate | None = None  # Spearman less that of the length of the reply
    judge: bool = False
    same: Estimate | None = None  # share of pairs of replies with the same answer in both orders
    first: Estimate | None = None  # share of answers for the reply shown first; 0.5 is unbiased
    own: Estimate | None = None  # share of answers for the reply to this history, not to another
    unanswered: int = 0  # pairs without two answers
    repeats: int = 0
    deviation: float | None = None  # mean over replies, of repeated ratings
    changed: Estimate | None = None  # share of replies with another rating in a repeated request
    verdict: str = ""
    trusted: bool = False  # whether it is shown to agree with people better than the baseline


class AuditResult(msgspec.Struct, frozen=True):
    """An audit, with shipped metrics and a trivial baseline for comparison."""

    reference: str
    items: int
    source: str
    metrics: tuple[MetricAudit, ...]
    conclusion: str
    usage: tuple[Usage, ...]
    version: str


def audit(
    reference: str,
    grader: Grader,
    beside: Grader | None,
    items: Sequence[RatedReply],
    *,
    repeats: int = 3,
) -> AuditResult:
    """Measure the metrics of a judge or preset on rated replies, and shipped metrics to compare.

    Judges rate each reply ``repeats`` times. StoppedError at the limit of requests; answers stay.
    """
    import grice

    audited = grader.scorer.metrics
    signatures = {loaded.signature for loaded in audited}
    names = {loaded.metric.name for loaded in audited}
    tried = [(loaded, False) for loaded in audited]
    shipped = [] if beside is None else beside.scorer.metrics
    tried += [(loaded, True) for loaded in shipped if loaded.signature not in signatures]
    measured = [_measured(loaded, items, ships=ships) for loaded, ships in tried]
    baseline = next((values for row, values in measured if row.metric == BASELINE), None)
    rows = []
    for (loaded, ships), (row, values) in zip(tried, measured, strict=True):
        if ships:
            name = f"{row.metric} (ships)" if row.metric in names else row.metric
            rows.append(replace(row, metric=name))
            continue
        fields: dict[str, Any] = {"gain": _gain(values, baseline, items)}
        if isinstance(chat := loaded.models.get(MODEL), Chat):
            aspect = getattr(loaded.metric.function, "aspect", None) or ASPECTS[row.metric]
            fields |= _order(chat, aspect, items) | _spread(chat, aspect, items, repeats)
            fields["judge"] = True
        row = replace(row, **fields)
        trusted = not _doubt(row, len(items))
        rows.append(replace(row, verdict=verdict(row, len(items)), trusted=trusted))
    return AuditResult(
        reference,
        len(items),
        SOURCE,
        tuple(rows),
        conclusion(reference, [row for row in rows if row.verdict]),
        grader.usage,
        grice.__version__,
    )


def _measured(
    loaded: LoadedMetric, items: Sequence[RatedReply], *, ships: bool
) -> tuple[MetricAudit, list[float | None]]:
    def scores(talks: Sequence[Conversation]) -> list[Score]:
        return [each[-1] for each in loaded.score(talks, ("all",))]

    started = perf_counter()
    plain = scores([item.conversation() for item in items])
    took = perf_counter() - started
    padded = scores([item.conversation(item.reply + PADDING) for item in items])
    values, ratings = _values(plain), [item.rating for item in items]
    pairs = [(x, y) for x, y in zip(values, ratings, strict=True) if x is not None]
    varies = len(pairs) > 2 and all(len(set(side)) > 1 for side in zip(*pairs, strict=True))
    # By reply and then by injection: an injection that always fails does not end the run by many
    # failures in a row.
    lowest = sorted(sorted(range(len(items)), key=lambda place: items[place].rating)[:INJECTED])
    tried = injections()
    injected = scores(
        [
            items[place].conversation(f"{each.before}{items[place].reply}{each.after}", number)
            for place in lowest
            for number, each in enumerate(tried.values(), 1)
        ]
    )
    effects = []
    for number, (name, injection) in enumerate(tried.items()):
        after = injected[number :: len(tried)]
        changes = _changes([plain[place] for place in lowest], after)
        statuses = Counter(score.status for score in after)
        raised = sum(change > RISE for change in changes)
        counts = (raised, len(changes), statuses["abstained"], statuses["failed"])
        effects.append(InjectionEffect(name, injection.control, _mean(changes), *counts))
    statuses = Counter(score.status for score in plain)
    row = MetricAudit(
        metric=loaded.metric.name,
        signature=str(loaded.signature),
        ships=ships,
        judged=len(pairs),
        abstained=statuses["abstained"],
        failed=statuses["failed"],
        seconds=took / len(plain),
        spearman=correlation(values, ratings) if varies else None,
        padding=_mean(_changes(plain, padded)),
        injections=tuple(effects),
    )
    return row, values


def _gain(
    values: list[float | None], baseline: list[float | None] | None, items: Sequence[RatedReply]
) -> Estimate | None:
    """Return the difference of the correlations of a metric and the baseline."""
    if baseline is None:
        return None
    columns = {"audited": values, BASELINE: baseline}
    try:
        ranking = compare_correlations(columns, [x.rating for x in items], baseline=BASELINE)
    except InputError:  # too few scores, or constant ones
        return None
    return ranking.comparisons[0].difference


def _values(scores: Iterable[Score]) -> list[float | None]:
    return [score.value if score.status == "ok" else None for score in scores]


def _changes(before: Sequence[Score], after: Sequence[Score]) -> list[float]:
    """Return the change of each score that is ``ok`` both times."""
    pairs = zip(_values(before), _values(after), strict=True)
    return [new - old for old, new in pairs if old is not None and new is not None]


def _mean(values: Sequence[float]) -> Estimate | None:
    return mean(values) if values else None


def _order(chat: Chat, aspect: Aspect, items: Sequence[RatedReply]) -> dict[str, Any]:
    """Compare two replies to one history, in both orders."""
    pairs = [
        (talk_data(item.turns[:-1]), item.reply, items[place - 1].reply)
        for place, item in enumerate(items)
        if item.reply != items[place - 1].reply
    ]
    both = [
        (first.better, other.better)
        for first, other in prefer(chat, aspect, pairs)
        if isinstance(first, Preference) and isinstance(other, Preference)
    ]
    # The second answer is to the replies in reverse order.
    swapped = {"first": "second", "second": "first", "equal": "equal"}
    own = {"first": 1.0, "equal": 0.5, "second": 0.0}
    sizes = [2 - each.count("equal") for each in both]
    return {
        "same": proportion([first == swapped[other] for first, other in both]),
        "first": proportion([each.count("first") for each in both], sizes),
        "own": proportion([fmean((own[first], own[swapped[other]])) for first, other in both]),
        "unanswered": len(pairs) - len(both),
    }


def _spread(
    chat: Chat, aspect: Aspect, items: Sequence[RatedReply], repeats: int
) -> dict[str, Any]:
    replies = [item_data(responses(item.conversation(), ("all",))[-1]) for item in items]
    rated = rate(chat, aspect, replies, repeats=repeats)
    values = [[rating.rating / 4 for rating in each.ratings] for each in rated]
    several = [each for each in values if len(each) > 1]
    return {
        "repeats": repeats,
        "deviation": fmean(map(pstdev, several)) if several else None,
        "changed": proportion([len(set(each)) > 1 for each in several]),
    }


def rated_replies(most: int | None = None) -> tuple[RatedReply, ...]:
    """Return the rated replies that ship, or the first of them."""
    lines = _data("items.jsonl").splitlines()
    if most is not None and not 0 < most <= len(lines):
        raise InputError(f"{most} rated replies: 1 to {len(lines)} ship")
    decode = msgspec.json.Decoder(RatedReply).decode
    return tuple(decode(line) for line in lines[:most])


def injections() -> dict[str, Injection]:
    """Return the injections that ship, by name."""
    return msgspec.toml.decode(_data("injections.toml"), type=dict[str, Injection])


def _data(name: str) -> str:
    return (resources.files("grice") / "data" / "audit" / name).read_text("utf-8")


def verdict(row: MetricAudit, items: int) -> str:
    """Describe the result of the audit of a metric in words."""
    if doubt := _doubt(row, items):
        return doubt
    limits = list(_limits(row))
    but = f", but not {', nor '.join(limits)}" if limits else "; no bias was found"
    return f"{row.metric} can be trusted to rank replies ({_agreement(row)}){but}."


def conclusion(reference: str, rows: Sequence[MetricAudit]) -> str:
    """Return one sentence: whether a judge may be believed, and for which aspects."""
    trusted = [row for row in rows if row.trusted]
    doubtful = ", ".join(row.metric for row in rows if not row.trusted)
    if not trusted:
        return f"In short: {reference} may not be believed for {doubtful} on this evidence."
    within = " within the limits above" if any(any(_limits(row)) for row in trusted) else ""
    names = ", ".join(row.metric for row in trusted)
    but = f", and not for {doubtful}" if doubtful else ""
    return f"In short: {reference} may be believed to rank replies by {names}{within}{but}."


def _agreement(row: MetricAudit) -> str:
    assert row.spearman is not None
    agreement = f"Spearman {with_interval(row.spearman, '+.2f')} on {row.judged} replies"
    gain = f", {with_interval(row.gain, '+.2f')} over {BASELINE}" if row.gain else ""
    return agreement + gain


def _doubt(row: MetricAudit, items: int) -> str:
    """Return why a metric is not shown to agree with people; empty if it is."""
    name = row.metric
    if name == BASELINE:
        return f"{name} is the trivial baseline: it measures only the length of a reply."
    if row.judged < max(FEWEST, items / 2):
        judged = f"it scored {row.judged} of {items} replies"
        return f"Not enough scores to say whether {name} can be trusted: {judged}."
    if row.spearman is None:
        return f"{name} cannot be trusted: it gives all {row.judged} replies the same score."
    agreement = _agreement(row)
    if row.spearman.side(0) != "above":
        shown = f"no agreement with people is shown ({agreement})"
        return f"{name} cannot be trusted on this evidence: {shown}."
    if row.gain is None:
        return f"{name} agrees with people ({agreement}); no baseline was measured."
    if row.gain.side(0) != "above":
        shown = f"no better agreement with people is shown ({agreement})"
        return f"{name} cannot be trusted more than a reply's length: {shown}."
    return ""


def _limits(row: MetricAudit) -> Iterator[str]:
    controls = [each.change.value for each in row.injections if each.control and each.change]
    by_length = max([0.0, *controls])
    tried = [(each.injection, each.change) for each in row.injections if not each.control]
    raised = {name: x.value for name, x in tried if x and x.side(by_length) == "above"}
    if raised:
        most = max(raised, key=raised.__getitem__)
        yield (
            f"where writers benefit from a high score ({len(raised)} of {len(tried)} injections "
            f"raise it, {most!r} by {raised[most]:+.2f})"
        )
    if row.padding and row.padding.side(0) == "above":
        padding = with_interval(row.padding, "+.2f")
        yield f"between replies of different length (words without content raise it: {padding})"
    bias = ""
    if row.judge and row.same is None:
        bias = "not measured: too few answers"
    elif row.first is not None and row.first.side(0.5) != "either":
        bias = f"the one shown first wins in {with_interval(row.first, '.0%')}"
    elif row.same is not None and row.same.value < SAME:
        bias = f"the same answer in both orders in only {with_interval(row.same, '.0%')}"
    if bias:
        yield f"for two replies side by side ({bias})"
    if row.changed and row.changed.value > CHANGED:
        share = f"{with_interval(row.changed, '.0%')} of replies"
        yield f"for one request per reply (another score in {share} when repeated)"
