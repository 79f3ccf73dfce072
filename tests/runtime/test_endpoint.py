"""An endpoint that is busy, broken, babbling or slow: counted, asked again, never believed."""

from __future__ import annotations

import pytest

from grice.errors import InputError, ModelError, StoppedError
from grice.metrics.judging import Rating
from grice.runtime.endpoint.prices import Price, PriceList
from grice.runtime.endpoint.spending import Budget, Terms, in_words, parse_budget
from grice.runtime.models import Models
from grice.runtime.protocols import CausalLM, Chat, ChatRequest, Message, Segment, Unanswered
from stub_endpoint import StubEndpoint

pytestmark = pytest.mark.enable_socket
QUICK = Terms(pause=0.01, longest_pause=0.05, timeout=0.5, attempts=3)


def request(text="fine, thank you"):
    return ChatRequest((Message("user", f'{{"history": [], "reply": "{text}"}}'),))


def asked(server, *, terms=QUICK, texts=("fine, thank you",), cache=None):
    with Models(mode="fast", workers=1, cache=cache, terms=terms) as models:
        chat = models.open(server.model, Chat)
        answers = chat.answers([request(text) for text in texts], Rating)
        return answers, models.usage[0]


@pytest.mark.parametrize(
    ("fault", "counted"),
    [
        ("429", "HTTP 429"),
        ("500", "HTTP 500"),
        ("truncated", "the server sent no whole completion"),
        ("cut", "not the JSON that was asked for"),
        ("prose", "not the JSON that was asked for"),
        ("out of range", "not the JSON that was asked for"),
        ("two objects", "not the JSON that was asked for"),
        ("two answers", "2 answers where one was asked for"),
        ("no answer", "0 answers where one was asked for"),
        ("slow", "no answer in time"),
        ("closed", "connection broken"),
    ],
)
def test_what_goes_wrong_once_is_counted_and_asked_again(fault, counted):
    with StubEndpoint(faults=[fault]) as server:
        answers, usage = asked(server)
    assert answers == [Rating("by its length", 1)]
    assert (usage.requests, usage.answered, usage.unanswered) == (2, 1, {})
    [(reason, times)] = usage.repeated.items()
    assert reason.startswith(counted)
    assert times == 1


@pytest.mark.parametrize("fault", ["500", "truncated", "prose", "two answers", "closed"])
def test_what_goes_wrong_always_is_no_answer_and_says_why(fault):
    with StubEndpoint(always=fault) as server:
        [answer], usage = asked(server)
    assert isinstance(answer, Unanswered)
    assert server.url in answer.reason
    assert usage.requests == 3
    assert sum(usage.unanswered.values()) == 1


def test_retry_after_is_kept_by_everybody():
    terms = Terms(pause=0.01, concurrency=2)
    with StubEndpoint(faults=["429"], delay=0.05) as server:
        answers, _ = asked(server, terms=terms, texts=[f"reply {i}" for i in range(6)])
    assert not any(isinstance(answer, Unanswered) for answer in answers)
    # What was under way came to its end; then all waited for the second that the server asked for.
    waited = [time - server.times[0] for time in server.times]
    assert [time for time in waited if 0.4 < time < 1.0] == []
    assert max(waited) >= 1.0


def test_a_server_without_schemas_is_asked_without():
    with StubEndpoint(always="no schema") as server:
        answers, _ = asked(server, terms=Terms(concurrency=1), texts=["one", "two", "three"])
    assert all(isinstance(answer, Rating) for answer in answers)
    assert ["response_format" in sent for sent in server.requests] == [True, False, False, False]


def test_a_wrong_key_ends_the_run():
    with (
        StubEndpoint(always="401") as server,
        pytest.raises(StoppedError, match="GRICE_OPENAI_KEY"),
    ):
        asked(server)


def test_nobody_at_the_address_ends_the_run():
    with StubEndpoint() as server:
        model = server.model
    with (
        Models(mode="fast", workers=1, cache=None, terms=QUICK) as models,
        pytest.raises(StoppedError, match="cannot be reached"),
    ):
        models.open(model, Chat).answers([request()], Rating)


def test_a_budget_is_never_exceeded_and_what_was_answered_is_kept(tmp_path):
    texts = [f"reply number {i}" for i in range(10)]
    few = Terms(budget=Budget(4, "requests"), concurrency=2)
    with StubEndpoint() as server:
        with pytest.raises(StoppedError, match="budget of 4 requests"):
            asked(server, terms=few, texts=texts, cache=tmp_path)
        assert len(server.requests) == 4
        answers, usage = asked(server, texts=texts, cache=tmp_path)
        assert len(server.requests) == 10
    assert all(isinstance(answer, Rating) for answer in answers)
    assert (usage.cached, usage.requests) == (4, 6)


def test_a_budget_of_money_counts_what_the_server_says():
    prices = PriceList("EUR", {"stub": Price(prompt=1.0, completion=10.0)})
    with StubEndpoint() as server:
        _, usage = asked(server, terms=Terms(prices=prices, budget=Budget(1.0, "money")))
    assert usage.cost == pytest.approx((100 * 1.0 + 20 * 10.0) / 1e6)


def test_a_budget_of_money_needs_a_price():
    with StubEndpoint() as server, pytest.raises(InputError, match="needs prices"):
        asked(server, terms=Terms(budget=Budget(1.0, "money")))


def test_a_plan_sends_nothing_and_an_unknown_price_is_unknown():
    with StubEndpoint() as server:
        _, usage = asked(server, terms=Terms(planning=True), texts=["a", "b", "a"])
        assert server.requests == []
    assert (usage.requests, usage.cost) == (2, None)
    assert "price unknown" in next(iter(in_words(usage, planned=True)))


@pytest.mark.parametrize("text", ["", "0", "-1", "5 euros", "1e3", "nan"])
def test_what_is_no_budget_is_refused(text):
    with pytest.raises(InputError, match="such as 500requests"):
        parse_budget(text)


@pytest.mark.parametrize(
    "place", ["gpt", "gpt@", "@http://a/v1", "gpt@ftp://a/v1", "gpt@localhost:8000", "a|b@http://a"]
)
def test_what_names_no_endpoint_is_refused(place):
    with Models(mode="fast", workers=1, cache=None) as models, pytest.raises(ModelError):
        models.open(f"openai:{place}", Chat)


def test_a_server_that_says_no_log_probabilities_is_refused_for_likelihood():
    with (
        StubEndpoint(always="no log probabilities") as server,
        Models(mode="fast", workers=1, cache=None) as models,
        pytest.raises(ModelError, match="no log probabilities of the prompt for 'stub'"),
    ):
        models.open(f"openai-logprobs:stub@{server.url}", CausalLM)


def test_log_probabilities_that_cease_end_with_their_own_reason():
    with StubEndpoint() as server, Models(mode="fast", workers=1, cache=None) as models:
        model = models.open(f"openai-logprobs:stub@{server.url}", CausalLM)
        server.always = "no log probabilities"
        with pytest.raises(ModelError, match="no log probabilities of the prompt"):
            model.log_probabilities(["a"] * 20, [f"text {i}" for i in range(20)])


def test_where_the_run_ends_nothing_more_is_sent():
    terms = Terms(concurrency=4, attempts=50, pause=5.0)
    with StubEndpoint(faults=["500", "500", "500", "401"]) as server:
        with pytest.raises(StoppedError, match="HTTP 401"):
            asked(server, terms=terms, texts=[f"reply {i}" for i in range(40)])
        assert len(server.requests) == 4


def test_log_probabilities_stand_at_their_segment():
    with StubEndpoint() as server, Models(mode="fast", workers=1, cache=None) as models:
        model = models.open(f"openai-logprobs:stub@{server.url}", CausalLM)
        passage = (Segment("How are you?"), Segment(" fine thanks", scored=True))
        [[tokens]] = model.token_scores([passage])
        assert [(token.start, token.end) for token in tokens] == [(0, 5), (5, 12)]
        assert model.log_probabilities(["How are you?"], [" fine thanks"]) == [-0.5]


def test_as_many_requests_are_under_way_as_may_be():
    terms = Terms(concurrency=8)
    with StubEndpoint(delay=0.05) as server:
        asked(server, terms=terms, texts=[f"reply {i}" for i in range(40)])
        assert server.most_open == 8
