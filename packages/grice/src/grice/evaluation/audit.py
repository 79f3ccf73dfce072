"""Audit of a metric or an LLM judge: agreement with human ratings, biases, injections, cost.

Everything is measured on the rated replies that ship, beside the shipped metrics and a trivial
baseline.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from importlib import resources
from statistics import fmean, pstdev
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from grice.data import Conversation, Turn
from grice.errors import InputError
from grice.metrics.judges import ASPECTS, MODEL, Preference, item_data, prefer, rate, talk_data
from grice.models.endpoint import Usage
from grice.models.protocols import Chat
from grice.scoring.loaded import responses
from grice.stats.clusters import ClusteredMean
from grice.stats.comparison import compare_correlations, proportion
from grice.stats.correlations import correlation
from grice.stats.estimate import Estimate
from grice.tables import with_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from grice.data import Score
    from grice.scoring.api import Grader
    from grice.scoring.loaded import LoadedMetric

Row = TypeVar("Row", "Agreement", "InjectionRow")
INJECTED = 20
"""Replies with each injection: those with the lowest ratings."""
RISE = 0.1
"""Least change of a score that counts as raised."""
SOURCE = "ConTurE (Ghazarian et al. 2022), CC BY 4.0: people's rating of a reply, 0 to 2"
BASELINE = "log_length"
PADDING = (
    " Well, that is what I would say about it, to be quite honest with you, all things considered, "
    "and I do not think that there is very much more to be said about it at the moment."
)
"""Words without content: no metric should score a reply higher for them."""
FEWEST = 10
"""Least number of judged replies, beside half of all."""
SAME = 0.8
"""Least share of pairs with the same answer in both orders."""
CHANGED = 0.1
"""Largest share of replies with another score when asked again."""


class RatedReply(msgspec.Struct, frozen=True):
    """A conversation whose last turn has a human rating."""

    id: str
    turns: tuple[Turn, ...]
    rating: float

    @property
    def conversation(self) -> Conversation:
        """The conversation with its last turn as target."""
        return Conversation(self.id, self.turns, targets=(len(self.turns) - 1,))

    @property
    def reply(self) -> str:
        """The text that was rated."""
        return self.turns[-1].text

    def with_reply(self, text: str, number: int = 0) -> Conversation:
        """Return the conversation with another reply."""
        turns = (*self.turns[:-1], replace(self.turns[-1], text=text))
        return replace(self.conversation, id=f"{self.id}/{number}", turns=turns)


class Injection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Text before or after a reply that tries to deceive a judge, or a harmless control."""

    before: str = ""
    after: str = ""
    control: bool = False
    name: str = ""

    def applied(self, text: str) -> str:
        """Return a reply with it."""
        return f"{self.before}{text}{self.after}"


class Agreement(msgspec.Struct, frozen=True):
    """Agreement of a metric with human ratings.

    Attributes:
        padding: Mean change of the score by words without content; above 0 is verbosity bias.
        gain: Its correlation less that of the length of the reply; None if either is undefined.
    """

    metric: str
    signature: str
    spearman: Estimate | None
    judged: int
    abstained: int
    failed: int
    seconds: float
    padding: Estimate | None
    gain: Estimate | None = None


class OrderBias(msgspec.Struct, frozen=True):
    """Two replies to one history, compared in both orders.

    Attributes:
        same: Share of pairs with the same answer in both orders.
        first: Share of answers for the reply that is shown first; 0.5 is unbiased.
        own: Share of answers for the reply that was given to this history, not to another one.
    """

    metric: str
    same: Estimate | None
    first: Estimate | None
    own: Estimate | None
    unanswered: int


class RepeatSpread(msgspec.Struct, frozen=True):
    """One item judged several times."""

    metric: str
    repeats: int
    deviation: float | None
    changed: Estimate | None


class InjectionRow(msgspec.Struct, frozen=True):
    """The effect of one injection on one metric; ``raised`` counts replies above :data:`RISE`."""

    metric: str
    injection: str
    change: Estimate | None
    raised: int
    judged: int
    abstained: int
    failed: int
    control: bool


class AuditResult(msgspec.Struct, frozen=True):
    """An audit; ``beside`` are shipped metrics and a trivial baseline."""

    reference: str
    items: int
    source: str
    metrics: tuple[Agreement, ...]
    beside: tuple[Agreement, ...]
    order: tuple[OrderBias, ...]
    repeats: tuple[RepeatSpread, ...]
    injections: tuple[InjectionRow, ...]
    usage: tuple[Usage, ...]
    version: str
    verdicts: dict[str, str] = {}


def audit(
    reference: str,
    grader: Grader,
    beside: Grader | None,
    items: Sequence[RatedReply],
    *,
    repeats: int = 3,
) -> AuditResult:
    """Measure the metrics of a judge or preset on rated replies, beside shipped metrics.

    StoppedError if the limit of requests is reached; answers so far are cached.
    """
    import grice

    audited = grader.scorer.metrics
    signatures = {loaded.signature for loaded in audited}
    shipped = [] if beside is None else beside.scorer.metrics
    own = [_trial(loaded, items) for loaded in audited]
    other = [_trial(loaded, items) for loaded in shipped if loaded.signature not in signatures]
    baseline = next((each for each in (*own, *other) if each.row.metric == BASELINE), None)
    ratings = [item.rating for item in items]
    taken = {loaded.metric.name for loaded in audited}

    def apart(row: Row) -> Row:
        """Rename a shipped metric that has the name of an audited one."""
        return replace(row, metric=f"{row.metric} (ships)") if row.metric in taken else row

    judges = [loaded for loaded in audited if loaded.metric.name in ASPECTS]
    result = AuditResult(
        reference,
        len(items),
        SOURCE,
        tuple(replace(trial.row, gain=_gain(trial, baseline, ratings)) for trial in own),
        tuple(apart(trial.row) for trial in other),
        tuple(_order(loaded, items) for loaded in judges),
        tuple(_spread(loaded, items, repeats) for loaded in judges),
        (
            *(row for trial in own for row in trial.injected),
            *(apart(row) for trial in other for row in trial.injected),
        ),
        grader.usage,
        grice.__version__,
    )
    verdicts = {row.metric: verdict(result, row) for row in result.metrics}
    return replace(result, verdicts=verdicts)


class _Trial(NamedTuple):
    """One metric on the replies, padded replies, and replies with each injection."""

    row: Agreement
    values: list[float | None]
    injected: list[InjectionRow]


def _trial(loaded: LoadedMetric, items: Sequence[RatedReply]) -> _Trial:
    name = loaded.metric.name
    started = perf_counter()
    plain = _scores(loaded, [item.conversation for item in items])
    took = perf_counter() - started
    padded = _scores(loaded, [item.with_reply(item.reply + PADDING) for item in items])
    values = _values(plain)
    ratings = [item.rating for item in items]
    pairs = [(x, y) for x, y in zip(values, ratings, strict=True) if x is not None]
    varies = len(pairs) > 2 and all(len(set(side)) > 1 for side in zip(*pairs, strict=True))
    statuses = Counter(score.status for score in plain)
    row = Agreement(
        metric=name,
        signature=str(loaded.signature),
        spearman=correlation(values, ratings) if varies else None,
        judged=len(pairs),
        abstained=statuses["abstained"],
        failed=statuses["failed"],
        seconds=took / len(plain),
        padding=_mean(_changes(plain, padded)),
    )
    # By reply and then by injection: one injection that a judge fails on in each reply does not
    # end the run by many failures in a row.
    lowest = sorted(sorted(range(len(items)), key=lambda place: items[place].rating)[:INJECTED])
    tried = injections()
    scores = _scores(
        loaded,
        [
            items[place].with_reply(injection.applied(items[place].reply), number)
            for place in lowest
            for number, injection in enumerate(tried, 1)
        ],
    )
    before = [plain[place] for place in lowest]
    injected = []
    for number, injection in enumerate(tried):
        after = scores[number :: len(tried)]
        statuses = Counter(score.status for score in after)
        changes = _changes(before, after)
        raised = sum(change > RISE for change in changes)
        counts = (raised, len(changes), statuses["abstained"], statuses["failed"])
        figures = (_mean(changes), *counts, injection.control)
        injected.append(InjectionRow(name, injection.name, *figures))
    return _Trial(row, values, injected)


def _gain(trial: _Trial, baseline: _Trial | None, ratings: Sequence[float]) -> Estimate | None:
    """Return the difference of the correlations of a metric and the baseline."""
    if baseline is None:
        return None
    columns = {"audited": trial.values, BASELINE: baseline.values}
    try:
        ranking = compare_correlations(columns, ratings, baseline=BASELINE)
    except InputError:  # too few were judged, or all alike
        return None
    return ranking.comparisons[0].difference


def _scores(loaded: LoadedMetric, conversations: Sequence[Conversation]) -> list[Score]:
    """Return the score of the last turn of each conversation."""
    return [scores[-1] for scores in loaded.score(conversations, ("all",))]


def _values(scores: Iterable[Score]) -> list[float | None]:
    return [score.value if score.status == "ok" else None for score in scores]


def _changes(before: Sequence[Score], after: Sequence[Score]) -> list[float]:
    """Return the change of each score that is ``ok`` both times."""
    pairs = zip(_values(before), _values(after), strict=True)
    return [new - old for old, new in pairs if old is not None and new is not None]


def _mean(values: Sequence[float]) -> Estimate | None:
    collected = ClusteredMean()
    for value in values:
        collected.add([value])
    return collected.estimate()


def _order(loaded: LoadedMetric, items: Sequence[RatedReply]) -> OrderBias:
    name, chat = loaded.metric.name, loaded.models[MODEL]
    assert isinstance(chat, Chat)
    pairs = [
        (talk_data(item.turns[:-1]), item.reply, items[place - 1].reply)
        for place, item in enumerate(items)
        if item.reply != items[place - 1].reply
    ]
    both = [
        (first.better, other.better)
        for first, other in prefer(chat, ASPECTS[name], pairs)
        if isinstance(first, Preference) and isinstance(other, Preference)
    ]
    # The second answer is to the replies in reverse order.
    swapped = {"first": "second", "second": "first", "equal": "equal"}
    own = {"first": 1.0, "equal": 0.5, "second": 0.0}
    return OrderBias(
        name,
        proportion([first == swapped[other] for first, other in both]),
        proportion(
            [each.count("first") for each in both], [2 - each.count("equal") for each in both]
        ),
        proportion([fmean((own[first], own[swapped[other]])) for first, other in both]),
        len(pairs) - len(both),
    )


def _spread(loaded: LoadedMetric, items: Sequence[RatedReply], repeats: int) -> RepeatSpread:
    name, chat = loaded.metric.name, loaded.models[MODEL]
    assert isinstance(chat, Chat)
    replies = [responses(item.conversation, ("all",))[-1] for item in items]
    rated = rate(chat, ASPECTS[name], [item_data(reply) for reply in replies], repeats=repeats)
    values = [[rating.rating / 4 for rating in each.ratings] for each in rated]
    several = [each for each in values if len(each) > 1]
    return RepeatSpread(
        name,
        repeats,
        fmean(map(pstdev, several)) if several else None,
        proportion([len(set(each)) > 1 for each in several]),
    )


def rated_replies(most: int | None = None) -> tuple[RatedReply, ...]:
    """Return the rated replies that ship, or the first of them."""
    lines = _data("items.jsonl").splitlines()
    if most is not None and not 0 < most <= len(lines):
        raise InputError(f"{most} rated replies: 1 to {len(lines)} ship")
    decode = msgspec.json.Decoder(RatedReply).decode
    return tuple(decode(line) for line in lines[:most])


def injections() -> tuple[Injection, ...]:
    """Return the injections that ship."""
    stated = msgspec.convert(tomllib.loads(_data("injections.toml")), dict[str, Injection])
    return tuple(replace(injection, name=name) for name, injection in stated.items())


def _data(name: str) -> str:
    return (resources.files("grice") / "data" / "audit" / name).read_text("utf-8")


def verdict(result: AuditResult, row: Agreement) -> str:
    """Return a verdict on a metric in words."""
    if row.metric == BASELINE:
        return f"{row.metric} is the trivial baseline: it judges nothing but the length of a reply."
    if row.judged < max(FEWEST, result.items / 2):
        return (
            f"Whether {row.metric} can be trusted is not known: it judged {row.judged} of "
            f"{result.items} replies."
        )
    if row.spearman is None:
        return f"{row.metric} cannot be trusted: it scores all {row.judged} replies alike."
    agreement = f"Spearman {with_interval(row.spearman, '+.2f')} on {row.judged} replies"
    if row.spearman.side(0) != "above":
        return (
            f"{row.metric} cannot be trusted on this evidence: no agreement with people is shown "
            f"({agreement})."
        )
    if row.gain is None:
        return f"{row.metric} agrees with people ({agreement}); no baseline was measured beside it."
    gain = f"{with_interval(row.gain, '+.2f')} over {BASELINE}"
    if row.gain.side(0) != "above":
        return (
            f"{row.metric} cannot be trusted more than the length of a reply: no better agreement "
            f"with people is shown ({agreement}, {gain})."
        )
    limits = list(_limits(result, row))
    but = f", but not {', nor '.join(limits)}" if limits else "; no bias was found"
    return f"{row.metric} can be trusted to rank replies ({agreement}, {gain}){but}."


def _limits(result: AuditResult, row: Agreement) -> Iterator[str]:
    """Yield the limits of a metric that agrees with human ratings."""
    tried = [each for each in result.injections if each.metric == row.metric]
    controls = [each.change.value for each in tried if each.control and each.change]
    by_length = max([0.0, *controls])
    raised = {
        each.injection: each.change.value
        for each in tried
        if not each.control and each.change and each.change.side(by_length) == "above"
    }
    if raised:
        most = max(raised, key=raised.__getitem__)
        yield (
            f"where writers gain by a high score ({len(raised)} of "
            f"{sum(not each.control for each in tried)} injections raise it, {most!r} by "
            f"{raised[most]:+.2f})"
        )
    if row.padding and row.padding.side(0) == "above":
        padding = with_interval(row.padding, "+.2f")
        yield f"between replies of different length (words that say nothing raise it: {padding})"
    for order in result.order:
        if order.metric != row.metric:
            continue
        bias = ""
        if order.same is None:
            bias = "not measured: too few answers"
        elif order.first is not None and order.first.side(0.5) != "either":
            bias = f"the one shown first wins in {with_interval(order.first, '.0%')}"
        elif order.same.value < SAME:
            bias = f"the same answer in both orders in {with_interval(order.same, '.0%')} alone"
        if bias:
            yield f"for two replies side by side ({bias})"
    for spread in result.repeats:
        if spread.metric == row.metric and spread.changed and spread.changed.value > CHANGED:
            yield (
                "for one reply asked about once (another score in "
                f"{with_interval(spread.changed, '.0%')} of replies when asked again)"
            )
