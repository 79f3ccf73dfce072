"""How much a run may send to endpoints, and what it has sent."""

from __future__ import annotations

import re
import threading
from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec

from grice.errors import InputError, StoppedError, plural
from grice.models.endpoint.prices import PriceList

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Unit: TypeAlias = Literal["money", "requests", "tokens"]
_BUDGET = re.compile(r"(\d+(?:\.\d+)?)\s*(requests|tokens)?")


class Budget(NamedTuple):
    """The most that a run may spend, in the currency of the price list or in another unit."""

    amount: float
    unit: Unit

    def __str__(self) -> str:
        return f"{self.amount:g}" if self.unit == "money" else f"{self.amount:,.0f} {self.unit}"


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """How endpoints are used.

    Attributes:
        concurrency: Requests that are under way at the same time.
        timeout: Seconds that a server may be silent.
        attempts: How often a request is sent that a server cannot answer now.
        readings: How often a request is sent whose answer is not what was asked for.
        pause: Seconds before the first repetition; each further one waits twice as long, and a
            random part of it less, so that waiting requests do not come back together.
        longest_pause: The longest wait, also where a server asks for more.
        budget: The most that a run may spend; None for no limit.
        prices: What tokens cost; None if that is unknown.
        planning: Count what would be sent, and send nothing.
    """

    concurrency: int = 8
    timeout: float = 60.0
    attempts: int = 5
    readings: int = 3
    pause: float = 0.5
    longest_pause: float = 60.0
    budget: Budget | None = None
    prices: PriceList | None = None
    planning: bool = False


class Tokens(NamedTuple):
    """Tokens of prompts and of answers."""

    prompt: int
    completion: int


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What a run has sent to one model of an endpoint, or would send.

    Attributes:
        requests: Requests that were sent, repeated ones too.
        prompt_tokens, completion_tokens: As the server counts them; the most they can have been
            where it does not say.
        uncounted: Answers whose tokens the server did not state.
        cost: The price in ``currency``; None if it is unknown.
        seconds: Time in which at least one request was under way.
        busy: Mean number of requests under way in that time.
    """

    model: str
    requests: int
    cached: int
    answered: int
    repeated: dict[str, int]
    unanswered: dict[str, int]
    prompt_tokens: int
    completion_tokens: int
    uncounted: int
    cost: float | None
    currency: str
    seconds: float
    busy: float


class _Account:
    """What was sent to one model."""

    def __init__(self) -> None:
        self.requests = self.cached = self.answered = self.uncounted = 0
        self.repeated: Counter[str] = Counter()
        self.unanswered: Counter[str] = Counter()
        self.prompt = self.completion = 0
        self.under_way = 0
        self.seconds = self.request_seconds = 0.0
        self.since = 0.0


class Spending:
    """Counts what is sent to endpoints, and ends the run before it costs more than it may.

    Before a request is sent, the most it can cost is set aside: its bytes as tokens of the prompt,
    since no token of text is shorter, and the longest answer that was asked for. Once it is
    answered, what the server counted takes the place of that. So the budget is never exceeded.
    """

    def __init__(self, terms: Terms | None = None) -> None:
        self.terms = terms or Terms()
        self._accounts: dict[str, _Account] = {}
        self._lock = threading.Lock()
        self._reserved = 0.0
        self._spent = 0.0

    def open(self, model: str) -> None:
        """Count a model from now on.

        Raises:
            InputError: If there is a budget of money, and no price of the model.
        """
        self._accounts.setdefault(model, _Account())
        budget, prices = self.terms.budget, self.terms.prices
        if budget is None or budget.unit != "money" or self.terms.planning:
            return
        if prices is None:
            raise InputError(
                f"a budget of {budget} needs prices: give --prices FILE.toml with those of "
                f"{model!r}, or a budget such as 500requests or 100000tokens"
            )
        if model not in prices.models:
            raise InputError(
                f"{prices.source}: no price of {model!r}, which a budget of {budget} needs; add "
                f'[models."{model}"], or give a budget such as 500requests or 100000tokens'
            )

    def reserve(self, model: str, most: Tokens, now: float) -> None:
        """Set aside the most that a request can cost, before it is sent.

        Raises:
            StoppedError: If that is more than is left of the budget.
        """
        budget, cost = self.terms.budget, self._amount(model, most)
        with self._lock:
            account = self._accounts[model]
            if budget is not None and self._spent + self._reserved + cost > budget.amount:
                raise StoppedError(
                    f"the budget of {budget} is reached: "
                    f"{self._in_words(self._spent + self._reserved)} spent or set aside, and the "
                    "next request may cost more than is left; what was answered is kept, and "
                    "the same command with another --budget goes on"
                )
            self._reserved += cost
            account.requests += 1
            if not account.under_way:
                account.since = now
            account.under_way += 1

    def settle(
        self, model: str, most: Tokens, used: Tokens | None, now: float, took: float
    ) -> None:
        """Replace what was set aside by what a request has cost.

        Args:
            used: What the server counted; None if it did not say, and then it was the most.
        """
        stated = most if used is None else used
        with self._lock:
            account = self._accounts[model]
            self._reserved -= self._amount(model, most)
            self._spent += self._amount(model, stated)
            account.prompt += stated.prompt
            account.completion += stated.completion
            account.uncounted += used is None
            account.request_seconds += took
            account.under_way -= 1
            if not account.under_way:
                account.seconds += now - account.since

    def plan(self, model: str, likely: Tokens) -> None:
        """Count a request that would be sent."""
        with self._lock:
            account = self._accounts[model]
            account.requests += 1
            account.prompt += likely.prompt
            account.completion += likely.completion

    def count(self, model: str, *, cached: int = 0, answered: int = 0) -> None:
        """Count answers."""
        with self._lock:
            self._accounts[model].cached += cached
            self._accounts[model].answered += answered

    def repeat(self, model: str, reason: str) -> None:
        """Count a repetition."""
        with self._lock:
            self._accounts[model].repeated[reason] += 1

    def miss(self, model: str, reason: str) -> None:
        """Count a request that got no usable answer."""
        with self._lock:
            self._accounts[model].unanswered[reason] += 1

    def usage(self) -> tuple[Usage, ...]:
        """Return what was sent, a record for each model."""
        with self._lock:
            return tuple(
                Usage(
                    model=model,
                    requests=account.requests,
                    cached=account.cached,
                    answered=account.answered,
                    repeated=dict(account.repeated),
                    unanswered=dict(account.unanswered),
                    prompt_tokens=account.prompt,
                    completion_tokens=account.completion,
                    uncounted=account.uncounted,
                    cost=self._price(model, Tokens(account.prompt, account.completion)),
                    currency=self.terms.prices.currency if self.terms.prices else "",
                    seconds=account.seconds,
                    busy=account.request_seconds / account.seconds if account.seconds else 0.0,
                )
                for model, account in self._accounts.items()
            )

    def _amount(self, model: str, tokens: Tokens) -> float:
        """Return tokens in the unit of the budget."""
        match self.terms.budget:
            case Budget(unit="money"):
                return self._price(model, tokens) or 0.0
            case Budget(unit="tokens"):
                # A refused request costs none, however long it was.
                return float(sum(tokens))
            case _:
                return 1.0 if sum(tokens) else 0.0

    def _price(self, model: str, tokens: Tokens) -> float | None:
        prices = self.terms.prices
        if prices is None or model not in prices.models:
            return None
        return prices.models[model].of(*tokens)

    def _in_words(self, spent: float) -> str:
        budget, prices = self.terms.budget, self.terms.prices
        if budget is not None and budget.unit != "money":
            return f"{spent:,.0f} {budget.unit}"
        return f"{spent:.4g} {prices.currency if prices else ''}".rstrip()


def parse_budget(text: str) -> Budget:
    """Return a budget as options take it.

    Raises:
        InputError: If it is none.

    >>> parse_budget("2.50"), parse_budget("500requests")
    (Budget(amount=2.5, unit='money'), Budget(amount=500.0, unit='requests'))
    """
    match = _BUDGET.fullmatch(text.strip())
    if match is None or not float(match[1]):
        raise InputError(
            f"budget {text!r}: write an amount in the currency of the price list, such as 2.50, or "
            "a number of requests or tokens, such as 500requests or 100000tokens"
        )
    unit: Unit = "money"
    if match[2] == "requests":
        unit = "requests"
    elif match[2] == "tokens":
        unit = "tokens"
    return Budget(float(match[1]), unit)


def in_words(usage: Usage, *, planned: bool) -> Iterator[str]:
    """Yield what was sent to a model, or would be, in lines for people."""
    about = "about " if planned else ""
    cost = "unknown" if usage.cost is None else f"{about}{usage.cost:.4g} {usage.currency}"
    cached = f", {plural(usage.cached, 'answer')} from the cache" if usage.cached else ""
    yield (
        f"{usage.model}: {plural(usage.requests, 'request')}{cached}; {about}"
        f"{usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens; price {cost}"
    )
    for what, counts in (("repeated", usage.repeated), ("unanswered", usage.unanswered)):
        if counts:
            yield f"{usage.model}: {what}: {_listed(counts)}"
    if usage.uncounted and not planned:
        yield (
            f"{usage.model}: tokens of {plural(usage.uncounted, 'request')} not stated by the "
            "server: counted as the most they can have been"
        )


def _listed(counts: Mapping[str, int]) -> str:
    common = sorted(counts.items(), key=lambda item: -item[1])
    return "; ".join(f"{reason} ({n:,})" for reason, n in common)
