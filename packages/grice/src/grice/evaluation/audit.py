"""How far a judge can be believed: agreement with people, biases, injections, cost.

All is measured on the rated replies that ship, of a judge by an endpoint and of local metrics
alike, with what ships and a trivial baseline beside it.
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

from grice.errors import InputError
from grice.metrics.judges import ASPECTS, MODEL, Preference, item_data, prefer, rate, talk_data
from grice.models.endpoint.usage import Usage
from grice.models.protocols import Chat
from grice.records import Conversation, Turn
from grice.scoring.items import responses
from grice.stats.clusters import ClusteredMean
from grice.stats.comparison import compare_correlations
from grice.stats.correlations import correlation
from grice.stats.estimate import Estimate
from grice.stats.systems import proportion
from grice.tables import with_interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.records import Score
    from grice.scoring.api import Grader
    from grice.scoring.loaded import LoadedMetric

Row = TypeVar("Row", "Agreement", "InjectionRow")
INJECTED = 20
"""Replies that each injection is tried on: those that people rated lowest."""
RISE = 0.1
"""A score that rises by more than this counts as raised."""
SOURCE = "ConTurE (Ghazarian et al. 2022), CC BY 4.0: people's rating of a reply, 0 to 2"
BASELINE = "log_length"
"""The metric that is the trivial baseline: the length of a reply."""
PADDING = (
    " Well, that is what I would say about it, to be quite honest with you, all things considered, "
    "and I do not think that there is very much more to be said about it at the moment."
)
"""Words that say nothing: no metric should score a reply higher for them."""
FEWEST = 10
"""Replies that must have been judged, and half of all."""
SAME = 0.8
"""Share of pairs with the same answer in both orders, below which no order is to be trusted."""
CHANGED = 0.1
"""Share of replies with another score when asked again, above which one answer is too few."""


class RatedReply(msgspec.Struct, frozen=True):
    """A conversation whose last turn people have rated."""

    id: str
    turns: tuple[Turn, ...]
    rating: float

    @property
    def conversation(self) -> Conversation:
        """The conversation, of which the last turn is judged."""
        return Conversation(self.id, self.turns, targets=(len(self.turns) - 1,))

    @property
    def reply(self) -> str:
        """The text that was rated."""
        return self.turns[-1].text


class Injection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Text before or after a reply that tries to deceive a judge.

    Attributes:
        control: It deceives nobody: a score that rises by it rises by length.
    """

    before: str = ""
    after: str = ""
    control: bool = False
    name: str = ""

    def applied(self, text: str) -> str:
        """Return a reply with it."""
        return f"{self.before}{text}{self.after}"


class Agreement(msgspec.Struct, frozen=True):
    """A metric beside people's ratings.

    Attributes:
        padding: Mean change of the score by words that say nothing; above 0 is verbosity bias.
        gain: Its correlation less that of the length of the reply; None where there is either none.
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
        same: Share of pairs with the same answer in both orders; 1 is right.
        first: Share of answers for the reply that is shown first; 0.5 is right.
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
    """One injection against one metric.

    Attributes:
        raised: Replies whose score rose by more than 0.1.
    """

    metric: str
    injection: str
    change: Estimate | None
    raised: int
    judged: int
    abstained: int
    failed: int
    control: bool


class AuditResult(msgspec.Struct, frozen=True):
    """Results of an audit.

    Attributes:
        beside: The metrics that ship and a trivial baseline, on the same replies.
    """

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
    """Measure metrics on rated replies.

    Args:
        reference: Name of the judge or preset.
        grader: Its metrics, which judge replies.
        beside: Shipped metrics to compare with, less those that both have; None for none.
        items: The rated replies.
        repeats: How often a judge is asked for the spread of its answers.

    Raises:
        StoppedError: If the limit of requests is reached; what was answered is kept.
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
        """Give a row of what ships a name that no audited metric has."""
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
    """One metric on the replies as they are, padded, and with each injection."""

    row: Agreement
    values: list[float | None]
    injected: list[InjectionRow]


def _trial(loaded: LoadedMetric, items: Sequence[RatedReply]) -> _Trial:
    name = loaded.metric.name
    started = perf_counter()
    plain = _scores(loaded, [item.conversation for item in items])
    took = perf_counter() - started
    padded = _scores(loaded, [with_reply(item, item.reply + PADDING, 0) for item in items])
    values = [_value(score) for score in plain]
    ratings = [item.rating for item in items]
    pairs = [(x, y) for x, y in zip(values, ratings, strict=True) if x is not None]
    varies = len(pairs) > 2 and all(len(set(side)) > 1 for side in zip(*pairs, strict=True))
    statuses = Counter(score.status for score in plain)
    row = Agreement(
        metric=name,
        signature=loaded.signature,
        spearman=correlation(values, ratings) if varies else None,
        judged=len(pairs),
        abstained=statuses["abstained"],
        failed=statuses["failed"],
        seconds=took / len(plain),
        padding=_mean(_changes(plain, padded)),
    )
    # One injection after the other into each reply: where a judge answers to one of them in a
    # way that cannot be read, that is not so many times in a row that the run ends.
    lowest = sorted(sorted(range(len(items)), key=lambda place: items[place].rating)[:INJECTED])
    tried = injections()
    scores = _scores(
        loaded,
        [
            with_reply(items[place], injection.applied(items[place].reply), number)
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
    """Return how much more a metric agrees with people than the baseline does."""
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


def _value(score: Score) -> float | None:
    return score.value if score.status == "ok" else None


def _changes(before: Sequence[Score], after: Sequence[Score]) -> list[float]:
    """Return by how much each score moved that is there both times."""
    pairs = ((_value(earlier), _value(later)) for earlier, later in zip(before, after, strict=True))
    return [new - old for old, new in pairs if old is not None and new is not None]


def _mean(values: Sequence[float]) -> Estimate | None:
    collected = ClusteredMean()
    for value in values:
        collected.add([value])
    return collected.estimate()


def _order(loaded: LoadedMetric, items: Sequence[RatedReply]) -> OrderBias:
    name = loaded.metric.name
    chat = loaded.models[MODEL]
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
    # In the second answer the reply of this history stands second.
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
    name = loaded.metric.name
    chat = loaded.models[MODEL]
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


def with_reply(item: RatedReply, text: str, number: int) -> Conversation:
    """Return the conversation of an item with another reply in its place."""
    conversation = item.conversation
    turns = (*conversation.turns[:-1], replace(conversation.turns[-1], text=text))
    return replace(conversation, id=f"{item.id}/{number}", turns=turns)


def _data(name: str) -> str:
    return (resources.files("grice") / "data" / "audit" / name).read_text("utf-8")


def verdict(result: AuditResult, row: Agreement) -> str:
    """Return whether a metric can be trusted, and for what."""
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
    """Yield where a metric that agrees with people cannot be trusted all the same."""
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
        if order.metric == row.metric and (bias := _order_bias(order.same, order.first)):
            yield f"for two replies side by side ({bias})"
    for spread in result.repeats:
        if spread.metric == row.metric and spread.changed and spread.changed.value > CHANGED:
            yield (
                "for one reply asked about once (another score in "
                f"{with_interval(spread.changed, '.0%')} of replies when asked again)"
            )


def _order_bias(same: Estimate | None, first: Estimate | None) -> str:
    """Return in words how the order of two replies moves a judge; empty if it does not."""
    if same is None:
        return "not measured: too few answers"
    if first is not None and first.side(0.5) != "either":
        return f"the one shown first wins in {with_interval(first, '.0%')}"
    if same.value < SAME:
        return f"the same answer in both orders in {with_interval(same, '.0%')} alone"
    return ""
